// Whole kernels beside the model: the trace of random hostile programs, and of the cases' own, is
// replayed on it step for step (R12). With a rule of the model broken they part.
//
// The last line of a run is `mutations seen N of N`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.h"
#include "ravelin_hosted.h"
#include "trace_replay.h"
#include "user/rt/program.h"

namespace ravelin::differential {
namespace {

constexpr u32 kMostHarts = 4;
constexpr u64 kSeeds = 6;

std::vector<abi::TraceRecord> trace_of(const std::string& program, u32 harts, u64 seed) {
    const RavelinGuestProgram* found = ravelin_guest_programs;
    while (found->name != nullptr && program != found->name)
        ++found;
    if (found->name == nullptr) return {};
    hosted::HostedOptions options;
    options.harts = harts;
    options.seed = seed;
    options.memory_mib = 256;
    options.trace_mib = 256;
    hosted::HostedMachine machine(options);
    const auto kernel = std::make_unique<Kernel>(machine.port());
    const hosted::Result result =
        machine.run(*kernel, hosted::HostedMachine::boot_program(found->entry, 0));
    if (result.end != hosted::End::off || kernel->trace.dropped() != 0) return {};
    const auto records = kernel->trace.records();
    return {records.begin(), records.end()};
}

void agree(const std::string& program, u32 harts, u64 seed, Replayed& met) {
    const std::vector<abi::TraceRecord> trace = trace_of(program, harts, seed);
    ASSERT_FALSE(trace.empty()) << program << " did not end well";
    const auto parted = replay_on_model(trace, {}, &met);
    ASSERT_FALSE(parted.has_value()) << program << " at " << harts << " harts, seed " << seed
                                     << ", record " << parted->record << ", " << parted->what;
}

class WholeKernel : public testing::TestWithParam<u32> {};

TEST_P(WholeKernel, RandomProgramsGoAsTheModelSays) {
    const u32 harts = GetParam();
    Replayed met;
    for (u64 seed = 1; seed <= kSeeds; ++seed)
        agree("sched-random", harts, seed, met);
    std::printf(
        "%u harts: %llu steps, %llu picks, %llu wakes, %llu bills, %llu creations, "
        "%llu destructions, %llu uncaps\n",
        harts, static_cast<unsigned long long>(met.steps),
        static_cast<unsigned long long>(met.picks), static_cast<unsigned long long>(met.wakes),
        static_cast<unsigned long long>(met.bills), static_cast<unsigned long long>(met.creations),
        static_cast<unsigned long long>(met.destructions),
        static_cast<unsigned long long>(met.uncaps));
    EXPECT_TRUE(met.picks != 0 && met.wakes != 0 && met.bills != 0 && met.creations != 0 &&
                met.destructions != 0 && (harts == 1 || met.uncaps != 0));
}

// Judges its own calls by the clock, at the one hart that its case keeps to, and fails at others.
constexpr const char* kOneHart[] = {"call-bounds"};

// A hundred thousand pairs need more room than a trace has; sched-create-destroy is the same with fewer.
constexpr const char* kTooLong[] = {"sched-create-destroy-release"};

TEST_P(WholeKernel, EveryCaseGoesAsTheModelSays) {
    for (const RavelinGuestProgram* program = ravelin_guest_programs; program->name != nullptr;
         ++program) {
        const std::string name = program->name;
        if (GetParam() > 1 && std::ranges::count(kOneHart, name) != 0) continue;
        if (std::ranges::count(kTooLong, name) != 0) continue;
        Replayed met;
        agree(name, GetParam(), 1, met);
    }
}

INSTANTIATE_TEST_SUITE_P(Harts, WholeKernel, testing::Range(1U, kMostHarts + 1));

// What these programs do not show: each entry of a hosted kernel takes a tick, so no run is without;
// and a living budget loses its last waiting thread only when a process that another budget pays
// for dies with that. The sequences of differential_test show both.
constexpr model::Mutation kNotShown[] = {model::Mutation::kNoMinimumCharge,
                                         model::Mutation::kEmptyHoldsFloor};

// Plants every rule that the steps show.
bool plant_mutations() {
    std::vector<std::vector<abi::TraceRecord>> traces;
    for (u32 harts = 1; harts <= kMostHarts; ++harts) {
        for (u64 seed = 1; seed <= kSeeds; ++seed)
            traces.push_back(trace_of("sched-random", harts, seed));
        for (const char* program : {"sched-capped", "sched-exit-churn", "sched-budget-churn"})
            traces.push_back(trace_of(program, harts, 1));
    }
    std::size_t planted = 0;
    std::size_t seen = 0;
    for (const model::MutationInfo& info : model::kMutations) {
        if (!info.seen_by_stride || std::ranges::count(kNotShown, info.mutation) != 0) continue;
        ++planted;
        std::optional<Parting> parted;
        for (std::size_t place = 0; place < traces.size() && !parted; ++place)
            parted = replay_on_model(traces[place], model::Rules{info.mutation});
        if (parted) {
            ++seen;
            std::printf("%s: record %zu, %s\n", std::string(info.name).c_str(), parted->record,
                        parted->what.c_str());
        } else {
            std::printf("%s: MISSED\n", std::string(info.name).c_str());
        }
    }
    std::printf("mutations seen %zu of %zu\n", seen, planted);
    return seen == planted;
}

}  // namespace
}  // namespace ravelin::differential

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const int failed = RUN_ALL_TESTS();
    return ravelin::differential::plant_mutations() && failed == 0 ? 0 : 1;
}
