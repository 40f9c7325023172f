// Each rule of core/stride is removed from it in turn, and the sound model disagrees (R12).
//
// A rule counts as caught if a sequence shows a difference, or a checked build's own assertion ends
// the run; each runs in a process of its own. The last line is `rules removed, caught N of N`.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/assert.h"
#include "lockstep.h"
#include "tests/planted/plant.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin {

namespace {
const char* g_where = "with no rule removed";  // what is being looked at
}

void assertion_failed(const char* expression, const char*, int line) noexcept {
    std::printf("%s, assertion in line %d: %s\n", g_where, line, expression);
    std::fflush(stdout);
    std::_Exit(planted::plan.rule == planted::Rule::none ? 1 : 0);
}

planted::Plan planted::plan;

namespace differential {
namespace {

constexpr std::uint64_t kSequences = 1000;
constexpr std::uint32_t kMostHarts = 4;

// A thread of a whole kernel that blocks before the clock has moved: its budget is charged all the
// same. The sequences cannot show it: they are wired as the kernel is, and do not run it.
bool short_run_is_charged() {
    test::Machine machine;
    machine.spawn(abi::kBootUsers, 100);
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    const stride::Entity& entity = machine.thread().process->budget->entity;
    const U128 before = entity.pass;
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    return entity.pass != before;
}

// Runs sequences until one shows the removed rule. Does not return.
[[noreturn]] void look_for(std::string_view name) {
    for (std::uint64_t seed = 0; seed < kSequences; ++seed) {
        for (std::uint32_t harts = 1; harts <= kMostHarts; ++harts) {
            const Sequence sequence = sequence_of(seed, harts);
            const std::string where = std::string(name) + ": seed " + std::to_string(seed) +
                                      " at " + std::to_string(harts) + " harts";
            g_where = where.c_str();
            const auto found = run(sequence);
            if (found) {
                std::printf("%s, step %zu of %zu, %s\n", g_where, found->step + 1,
                            sequence.steps.size(), found->what.c_str());
                std::fflush(stdout);
                std::_Exit(0);
            }
        }
    }
    g_where = name.data();
    if (!short_run_is_charged()) {
        std::printf("%s: a run of no ticks is free\n", std::string(name).c_str());
        std::fflush(stdout);
        std::_Exit(0);
    }
    std::printf("%s: MISSED\n", std::string(name).c_str());
    std::fflush(stdout);
    std::_Exit(1);
}

// Whether the rule's absence shows.
bool caught(planted::Rule rule) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        planted::plan.rule = rule;
        look_for(planted::kRuleNames[static_cast<std::size_t>(rule)]);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The planted build without a fault is the core: nothing may differ.
bool sound() {
    for (std::uint64_t seed = 0; seed < kSequences / 10; ++seed) {
        for (std::uint32_t harts = 1; harts <= kMostHarts; ++harts) {
            if (run(sequence_of(seed, harts))) return false;
        }
    }
    return short_run_is_charged();
}

int main() {
    if (!sound()) {
        std::printf("the core differs with no rule removed\n");
        return 1;
    }
    int removed = 0;
    int seen = 0;
    for (int place = 1; place < static_cast<int>(planted::kFirstOfKernel); ++place) {
        ++removed;
        seen += caught(planted::Rule{static_cast<u8>(place)}) ? 1 : 0;
    }
    std::printf("rules removed, caught %d of %d\n", seen, removed);
    return seen == removed ? 0 : 1;
}

}  // namespace
}  // namespace differential
}  // namespace ravelin

int main() {
    return ravelin::differential::main();
}
