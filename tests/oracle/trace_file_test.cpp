// A file that cannot be judged is refused, each kind for its own reason.
#include <cstring>

#include <gmock/gmock.h>

#include "tests/oracle/support.h"

namespace ravelin {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::byte> good_file() {
    const sim::Plan plan = sim::spinners(1, {100}, 3);
    return sim::file_of(sim::run(plan), plan);
}

/// Gives a file the digest of its bytes.
void sign(std::vector<std::byte>& file) {
    const std::uint64_t digest = sim::digest_of(file);
    std::memcpy(file.data() + offsetof(abi::TraceHead, digest), &digest, sizeof(digest));
}

/// Sets a field of the head, and its digest.
template <class Value>
std::vector<std::byte> with_head(std::size_t offset, Value value) {
    std::vector<std::byte> file = good_file();
    std::memcpy(file.data() + offset, &value, sizeof(value));
    sign(file);
    return file;
}

std::string refusal_of(const std::vector<std::byte>& file) {
    return oracle::parse_trace(file).refusal;
}

TEST(TraceFile, AGoodOneIsRead) {
    const oracle::TraceResult result = oracle::parse_trace(good_file());
    EXPECT_EQ(result.refusal, "");
    ASSERT_TRUE(result.trace);
    EXPECT_EQ(result.trace->records.size(), result.trace->head.records);
}

TEST(TraceFile, WrongMagic) {
    EXPECT_THAT(refusal_of(with_head(0, std::uint8_t{'X'})), StartsWith("wrong magic"));
}

TEST(TraceFile, WrongVersion) {
    EXPECT_THAT(refusal_of(with_head(offsetof(abi::TraceHead, version), std::uint32_t{1})),
                StartsWith("wrong version: 1"));
}

TEST(TraceFile, WrongRecordSize) {
    EXPECT_THAT(refusal_of(with_head(offsetof(abi::TraceHead, record_size), std::uint32_t{24})),
                StartsWith("wrong record size: 24"));
}

TEST(TraceFile, TruncatedInTheHead) {
    std::vector<std::byte> file = good_file();
    file.resize(40);
    EXPECT_THAT(refusal_of(file), StartsWith("truncated"));
    EXPECT_THAT(refusal_of({}), StartsWith("truncated"));
}

TEST(TraceFile, TruncatedAtAnyByteOfTheRecords) {
    const std::vector<std::byte> whole = good_file();
    for (std::size_t less = 1; less <= 65; ++less) {
        EXPECT_THAT(refusal_of({whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(less)}),
                    StartsWith("truncated"));
    }
}

TEST(TraceFile, BytesBehindTheLastRecord) {
    std::vector<std::byte> file = good_file();
    file.resize(file.size() + 32);
    EXPECT_THAT(refusal_of(file), HasSubstr("32 bytes stand behind"));
}

/// A bit of every 61st byte, a bit of every byte of the head, each time another one.
TEST(TraceFile, AnyAlteredBit) {
    const std::vector<std::byte> whole = good_file();
    std::size_t step = 1;
    for (std::size_t at = 0; at < whole.size(); at += step) {
        std::vector<std::byte> file = whole;
        file[at] ^= std::byte{1} << (at % 8);
        EXPECT_NE(refusal_of(file), "") << at;
        if (at >= sizeof(abi::TraceHead)) {
            EXPECT_THAT(refusal_of(file), StartsWith("digest mismatch")) << at;
            step = 61;
        }
    }
}

/// Who saves the file signs what it got: what changed before that, the kernel's sums tell.
TEST(TraceFile, AlteredBeforeItWasSaved) {
    const std::vector<std::byte> whole = good_file();
    abi::TraceHead head;
    std::memcpy(&head, whole.data(), sizeof(head));
    for (std::size_t at = sizeof(head); at < whole.size(); at += 61) {
        std::vector<std::byte> file = whole;
        file[at] ^= std::byte{1} << (at % 8);
        sign(file);
        const std::size_t record = (at - sizeof(head)) / sizeof(abi::TraceRecord);
        EXPECT_THAT(refusal_of(file),
                    StartsWith(record >= head.records
                                   ? "altered behind the kernel: the sums of records "
                                   : "altered behind the kernel: the sums of records " +
                                         std::to_string(record / 128 * 128) + " to "))
            << at;
    }
}

TEST(TraceFile, TwoRecordsChangedPlaces) {
    const std::vector<std::byte> whole = good_file();
    const auto first = whole.begin() + sizeof(abi::TraceHead) + 10 * sizeof(abi::TraceRecord);
    std::vector<std::byte> file = whole;
    std::copy(first, first + 32, file.begin() + (first + 32 - whole.begin()));
    std::copy(first + 32, first + 64, file.begin() + (first - whole.begin()));
    sign(file);
    EXPECT_THAT(refusal_of(file), StartsWith("altered behind the kernel"));
}

TEST(TraceFile, AFileMadeOfATracesRecordsIsThatFile) {
    const std::vector<std::byte> whole = good_file();
    const oracle::TraceResult result = oracle::parse_trace(whole);
    ASSERT_TRUE(result.trace);
    EXPECT_EQ(oracle::file_of(result.trace->head, result.trace->records), whole);
}

TEST(TraceFile, DroppedRecords) {
    EXPECT_THAT(refusal_of(with_head(offsetof(abi::TraceHead, dropped), std::uint64_t{7})),
                StartsWith("7 records were dropped"));
}

TEST(TraceFile, EntriesThatDecrease) {
    const sim::Plan plan = sim::spinners(1, {100}, 3);
    test::Records records = sim::run(plan);
    records[records.size() / 2].entry -= 2;
    EXPECT_THAT(refusal_of(sim::file_of(records, plan)), StartsWith("entries decrease"));
}

TEST(TraceFile, NoPicks) {
    const sim::Plan plan = sim::spinners(1, {100}, 3);
    test::Records records = sim::run(plan);
    std::erase_if(records, [](const auto& r) { return test::is(r, abi::TraceKind::pick); });
    EXPECT_THAT(refusal_of(sim::file_of(records, plan)), StartsWith("no picks"));
}

/// The refusal of a trace whose first record of a kind that names nobody has something in a field.
template <class Field>
std::string with_stray(abi::TraceKind kind, Field abi::TraceRecord::* field, Field value = 7,
                       bool names_nobody = true) {
    const sim::Plan plan = sim::spinners(2, {100}, 3);
    test::Records records = sim::run(plan);
    const auto found = std::find_if(records.begin(), records.end(), [=](const auto& r) {
        return test::is(r, kind) && (!names_nobody || r.id == 0);
    });
    EXPECT_NE(found, records.end());
    (*found).*field = value;
    return refusal_of(sim::file_of(records, plan));
}

TEST(TraceFile, FieldsOfNobody) {
    using abi::TraceKind;
    using abi::TraceRecord;
    const auto stray = HasSubstr("has a field that its kind does not have");
    EXPECT_THAT(with_stray(TraceKind::runner, &TraceRecord::x), stray);
    EXPECT_THAT(with_stray(TraceKind::runner, &TraceRecord::y), stray);
    EXPECT_THAT(with_stray(TraceKind::charge, &TraceRecord::y), stray);
    EXPECT_THAT(with_stray(TraceKind::leave, &TraceRecord::y), stray);
}

TEST(TraceFile, WordsThatAreNone) {
    using abi::TraceKind;
    using abi::TraceRecord;
    for (const TraceKind kind : {TraceKind::enter, TraceKind::leave, TraceKind::charge}) {
        const std::uint16_t none = 0;
        EXPECT_THAT(with_stray(kind, &TraceRecord::what, none, false),
                    HasSubstr("has a field that its kind does not have"));
    }
}

TEST(TraceFile, ImpossibleMachine) {
    for (const std::size_t field :
         {offsetof(abi::TraceHead, harts), offsetof(abi::TraceHead, slice_ticks),
          offsetof(abi::TraceHead, timebase)}) {
        EXPECT_THAT(refusal_of(with_head(field, std::uint32_t{0})),
                    StartsWith("the head tells of"));
    }
}

TEST(TraceFile, AFileThatIsNotThere) {
    EXPECT_THAT(oracle::read_trace("/no/such/file").refusal, StartsWith("cannot open"));
}

}  // namespace
}  // namespace ravelin
