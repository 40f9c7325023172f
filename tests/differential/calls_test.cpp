// The calls of the shipped core beside their reference: random hostile sequences at one and two harts
// agree after every step, and with any rule of the model broken they part (R1 to R11, R13).
//
// Called with --replay SEED HARTS [MUTATION] it runs that one sequence and prints its steps.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/assert.h"
#include "tests/differential/calls_beside.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace differential {
namespace {

using model::calls::Mutation;
using model::calls::MutationInfo;

// At each number of harts; RAVELIN_LONG=1 takes twelve times as many.
constexpr std::uint64_t kSequences = 1'000;
constexpr std::uint64_t kMutationSequences = 4'000;
constexpr std::uint64_t kFullSequences = 4;

std::uint64_t sequences() {
    const char* const longer = std::getenv("RAVELIN_LONG");
    return longer != nullptr && std::string(longer) == "1" ? 12 * kSequences : kSequences;
}

class CallsBeside : public testing::TestWithParam<std::uint32_t> {};

TEST_P(CallsBeside, AgreeAfterEveryStep) {
    CallsMet met;
    for (std::uint64_t seed = 0; seed < sequences(); ++seed) {
        Choice choice(seed);
        const auto parted = run_beside(choice, GetParam(), Mutation::kNone, met);
        ASSERT_EQ(parted.value_or(""), "")
            << "seed " << seed << "; run again with: --replay " << seed << " " << GetParam();
    }
    std::printf("%u harts: %llu sequences, %llu steps, %llu hostile arguments;", GetParam(),
                static_cast<unsigned long long>(sequences()),
                static_cast<unsigned long long>(met.steps),
                static_cast<unsigned long long>(met.hostile));
    for (std::size_t status = 0; status < std::size(met.statuses); ++status)
        std::printf(" %llu", static_cast<unsigned long long>(met.statuses[status]));
    std::printf(" by status;");
    for (const std::uint64_t count : met.calls)
        std::printf(" %llu", static_cast<unsigned long long>(count));
    std::printf(" by call\n");
    // Every call is made, and every status but that of 256 threads is given.
    for (const std::uint64_t count : met.calls)
        EXPECT_NE(count, 0u);
    for (std::size_t status = 0; status <= static_cast<std::size_t>(abi::Status::dead); ++status) {
        const bool never = status == static_cast<std::size_t>(abi::Status::too_many_threads);
        EXPECT_EQ(met.statuses[status] == 0, never) << "status " << status;
    }
}

// R4a: as many open calls as a process may have, then sends alone; an answer lets a waiting thread take
// what it could not.
TEST_P(CallsBeside, AgreeWithAllCallsOpen) {
    CallsMet met;
    for (std::uint64_t seed = 0; seed < kFullSequences; ++seed) {
        Choice choice(seed);
        const auto parted = fill_beside(choice, GetParam(), Mutation::kNone, met);
        ASSERT_EQ(parted.value_or(""), "") << "seed " << seed;
    }
    EXPECT_EQ(met.most_open, abi::kMaxOpenCalls);
}

INSTANTIATE_TEST_SUITE_P(Harts, CallsBeside, testing::Values(1u, 2u));

// Each rule of the model is broken once, and some sequence shows it.
TEST(CallsModel, EveryMutationIsNoticed) {
    for (const MutationInfo& info : model::calls::kMutations) {
        std::optional<std::string> parted;
        std::uint64_t seed = 0;
        const bool full = info.mutation == Mutation::kR4aAnyNumberOpen;
        for (; seed < kMutationSequences && !parted; ++seed) {
            CallsMet met;
            Choice choice(seed);
            parted = full ? fill_beside(choice, 1, info.mutation, met)
                          : run_beside(choice, 1 + seed % 2, info.mutation, met);
        }
        std::printf("%s: sequence %llu, %.160s\n", std::string(info.name).c_str(),
                    static_cast<unsigned long long>(seed), parted.value_or("MISSED").c_str());
        EXPECT_TRUE(parted.has_value()) << info.name << ": " << info.breaks;
    }
}

int replay(int count, char** words) {
    const std::uint64_t seed = std::strtoull(words[2], nullptr, 10);
    const auto harts = static_cast<std::uint32_t>(std::strtoul(words[3], nullptr, 10));
    Mutation mutation = Mutation::kNone;
    for (const MutationInfo& info : model::calls::kMutations) {
        if (count > 4 && info.name == words[4]) mutation = info.mutation;
    }
    CallsMet met;
    Choice choice(seed);
    std::string log;
    const auto parted = run_beside(choice, harts, mutation, met, &log);
    std::printf("%s%s\n", log.c_str(), parted ? parted->c_str() : "they agree");
    return parted ? 1 : 0;
}

}  // namespace
}  // namespace differential
}  // namespace ravelin

int main(int argc, char** argv) {
    if (argc > 3 && std::strcmp(argv[1], "--replay") == 0)
        return ravelin::differential::replay(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
