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

/// Sets a field of the head; the digest stays, it is of the records alone.
template <class Value>
std::vector<std::byte> with_head(std::size_t offset, Value value) {
    std::vector<std::byte> file = good_file();
    std::memcpy(file.data() + offset, &value, sizeof(value));
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
    EXPECT_THAT(refusal_of(with_head(offsetof(abi::TraceHead, version), std::uint32_t{2})),
                StartsWith("wrong version: 2"));
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

TEST(TraceFile, AnyAlteredByteOfTheRecords) {
    const std::vector<std::byte> whole = good_file();
    for (std::size_t at = sizeof(abi::TraceHead); at < whole.size(); at += 997) {
        std::vector<std::byte> file = whole;
        file[at] ^= std::byte{0x10};
        EXPECT_THAT(refusal_of(file), StartsWith("digest mismatch")) << at;
    }
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
