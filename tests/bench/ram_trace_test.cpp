// A trace is saved from a machine's RAM: whole, with seed and digest, and a million records in little time.
#include <sys/resource.h>

#include <cstring>
#include <span>

#include <gmock/gmock.h>

#include "tests/bench/support.h"
#include "tools/oracle/trace_file.h"
#include "tools/testbench/ram_trace.h"

namespace ravelin::testbench {
namespace {

constexpr std::uint64_t kBase = 0x8000'0000;
constexpr std::uint64_t kAt = 0x3000;

/// A RAM file with the trace at kAt: records of one entry, one of them a pick.
std::uint64_t write_ram(const std::filesystem::path& file, std::size_t records) {
    std::vector<abi::TraceRecord> made(records);
    for (std::size_t i = 0; i < records; ++i) {
        made[i].x = i;
        made[i].entry = 1;
        made[i].kind = static_cast<std::uint8_t>(abi::TraceKind::pick);
    }
    abi::TraceHead head{};
    std::memcpy(head.magic, "RAVTRACE", sizeof(head.magic));
    head.version = abi::kTraceVersion;
    head.record_size = sizeof(abi::TraceRecord);
    head.timebase = 10'000'000;
    head.harts = 1;
    head.slice_ticks = 10'000;
    std::vector<std::byte> trace = oracle::file_of(head, made);
    // What the kernel leaves to who saves it.
    std::memset(trace.data() + offsetof(abi::TraceHead, digest), 0, sizeof(head.digest));
    std::ofstream out(file, std::ios::binary);
    out.seekp(kAt);
    out.write(reinterpret_cast<const char*>(trace.data()),
              static_cast<std::streamsize>(trace.size()));
    return trace.size();
}

double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(RamTrace, IsSavedWithSeedAndDigest) {
    const test::Folder folder;
    const std::uint64_t bytes = write_ram(folder.path() / "ram", 300);
    ASSERT_TRUE(save_trace(folder.path() / "ram",
                           {.address = kBase + kAt, .bytes = bytes, .base = kBase}, 77,
                           folder.path() / "trace"));
    const oracle::TraceResult read = oracle::read_trace(folder.path() / "trace");
    ASSERT_TRUE(read.trace) << read.refusal;
    EXPECT_EQ(read.trace->head.seed, 77U);
    EXPECT_EQ(read.trace->records.size(), 300U);
}

TEST(RamTrace, APlaceOutsideOfTheRamIsRefused) {
    const test::Folder folder;
    const std::uint64_t bytes = write_ram(folder.path() / "ram", 300);
    const auto saved = [&](std::uint64_t address, std::uint64_t size) {
        return save_trace(folder.path() / "ram", {.address = address, .bytes = size, .base = kBase},
                          1, folder.path() / "trace");
    };
    EXPECT_FALSE(saved(kBase + kAt, bytes + 1));
    EXPECT_FALSE(saved(kBase - 1, bytes));
    EXPECT_FALSE(saved(kBase + kAt, 10));
    EXPECT_FALSE(saved(~std::uint64_t{0}, bytes));
    EXPECT_FALSE(save_trace(folder.path() / "no ram", {}, 1, folder.path() / "trace"));
}

/// Processor time, not the clock's: a busy host makes no difference.
TEST(RamTrace, AMillionRecordsReachTheHostInFiveSeconds) {
    const test::Folder folder;
    const std::uint64_t bytes = write_ram(folder.path() / "ram", 1'000'000);
    const double before = processor_seconds();
    ASSERT_TRUE(save_trace(folder.path() / "ram",
                           {.address = kBase + kAt, .bytes = bytes, .base = kBase}, 1,
                           folder.path() / "trace"));
    const oracle::TraceResult read = oracle::read_trace(folder.path() / "trace");
    const double took = processor_seconds() - before;
    ASSERT_TRUE(read.trace) << read.refusal;
    EXPECT_LE(took, 5.0);
    RecordProperty("seconds", std::to_string(took));
}

}  // namespace
}  // namespace ravelin::testbench
