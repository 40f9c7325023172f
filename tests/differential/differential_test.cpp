// The core's stride queue and the model go through the same random sequences and agree after every
// step; with any rule of the model broken that the queue's steps can show, they disagree (R12).
//
// Called with --replay "TEXT" it runs that one sequence and says where they part; with
// --replay "TEXT" MUTATION under that broken rule. The last line of a test run is
// `mutations seen N of N`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/assert.h"
#include "lockstep.h"
#include "shrink.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace differential {
namespace {

// At each number of harts; RAVELIN_LONG=1 takes a hundred times as many.
constexpr std::uint64_t kSequences = 1000;
constexpr std::uint32_t kMostHarts = 4;

std::uint64_t sequences() {
    const char* const longer = std::getenv("RAVELIN_LONG");
    return longer != nullptr && std::string(longer) == "1" ? 100 * kSequences : kSequences;
}

// The smallest sequence that shows the disagreement, as text to replay.
std::string explain(std::uint64_t seed, const Sequence& sequence) {
    const Sequence small =
        shrink(sequence, [](const Sequence& candidate) { return run(candidate).has_value(); });
    const Disagreement found = *run(small);
    return "seed " + std::to_string(seed) + " at " + std::to_string(sequence.harts) +
           " harts, shrunk from " + std::to_string(sequence.steps.size()) + " to " +
           std::to_string(small.steps.size()) + " steps; step " + std::to_string(found.step) +
           ", " + found.what + "\nreplay with: --replay '" + to_text(small) + "'";
}

class Differential : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Differential, CoreAndModelAgreeAfterEveryStep) {
    Met met;
    for (std::uint64_t seed = 0; seed < sequences(); ++seed) {
        const Sequence sequence = sequence_of(seed, GetParam());
        ASSERT_FALSE(run(sequence, {}, &met).has_value()) << explain(seed, sequence);
    }
    std::printf("%u harts: %llu sequences, %llu steps, %llu picks of which %llu between equals, "
                "%llu steps with a cap\n",
                GetParam(), static_cast<unsigned long long>(sequences()),
                static_cast<unsigned long long>(met.steps),
                static_cast<unsigned long long>(met.picks),
                static_cast<unsigned long long>(met.equal_passes),
                static_cast<unsigned long long>(met.caps));
    EXPECT_TRUE(met.everything(GetParam())) << "the sequences no longer meet every kind of step";
}

INSTANTIATE_TEST_SUITE_P(Harts, Differential, testing::Range(1U, kMostHarts + 1));

TEST(Sequences, AreReadBackAsTheyWereWritten) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const Sequence sequence = sequence_of(seed, 1 + static_cast<std::uint32_t>(seed % 4));
        const std::optional<Sequence> read = from_text(to_text(sequence));
        ASSERT_TRUE(read.has_value());
        EXPECT_EQ(to_text(*read), to_text(sequence));
        EXPECT_EQ(read->steps, sequence.steps);
    }
    EXPECT_FALSE(from_text("2/3/1/1/1/0: stay 0 0 0;").has_value());
    EXPECT_FALSE(from_text("2/2/1/1/1/0: sing 0 0 0;").has_value());
    EXPECT_FALSE(from_text("").has_value());
}

TEST(Shrinking, KeepsTheFailureAndDropsTheRest) {
    const model::Rules broken{model::Mutation::kIgnoreWeight};
    const auto fails = [&](const Sequence& candidate) {
        return run(candidate, broken).has_value();
    };
    Sequence sequence;
    for (std::uint64_t seed = 0; !fails(sequence); ++seed)
        sequence = sequence_of(seed, 2);
    const Sequence small = shrink(sequence, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_LE(small.steps.size(), 4U) << to_text(small);
}

// Plants every rule that the queue's steps show. Returns whether all were noticed.
bool plant_mutations() {
    std::size_t planted = 0;
    std::size_t seen = 0;
    for (const model::MutationInfo& info : model::kMutations) {
        if (!info.seen_by_stride) continue;
        ++planted;
        bool noticed = false;
        for (std::uint64_t seed = 0; seed < kSequences && !noticed; ++seed) {
            for (std::uint32_t harts = 1; harts <= kMostHarts && !noticed; ++harts) {
                const Sequence sequence = sequence_of(seed, harts);
                const auto found = run(sequence, model::Rules{info.mutation});
                if (!found) continue;
                noticed = true;
                std::printf("%s: seed %llu at %u harts, step %zu of %zu, %s\n",
                            std::string(info.name).c_str(), static_cast<unsigned long long>(seed),
                            harts, found->step + 1, sequence.steps.size(), found->what.c_str());
            }
        }
        if (!noticed) std::printf("%s: MISSED\n", std::string(info.name).c_str());
        seen += noticed ? 1 : 0;
    }
    std::printf("mutations seen %zu of %zu\n", seen, planted);
    return seen == planted;
}

int replay(const std::string& text, const std::string& mutation) {
    const std::optional<Sequence> sequence = from_text(text);
    model::Rules rules;
    const auto* const info =
        std::find_if(model::kMutations.begin(), model::kMutations.end(),
                     [&](const model::MutationInfo& one) { return one.name == mutation; });
    if (!sequence || (!mutation.empty() && info == model::kMutations.end())) {
        std::fprintf(stderr, "not a sequence that a failure printed, or no such mutation\n");
        return 2;
    }
    if (!mutation.empty()) rules.mutation = info->mutation;
    const auto found = run(*sequence, rules);
    if (!found) {
        std::printf("they agree throughout\n");
        return 0;
    }
    std::printf("step %zu, %s\n", found->step, found->what.c_str());
    return 1;
}

}  // namespace
}  // namespace differential

}  // namespace ravelin

int main(int argc, char** argv) {
    if (argc > 2 && std::string(argv[1]) == "--replay") {
        return ravelin::differential::replay(argv[2], argc > 3 ? argv[3] : "");
    }
    testing::InitGoogleTest(&argc, argv);
    const int failed = RUN_ALL_TESTS();
    return ravelin::differential::plant_mutations() && failed == 0 ? 0 : 1;
}
