// A budget that gives up the CPU at moments of its choosing, beside a spinner of equal weight: bursts that
// end just before the slice would and bursts of 20 microseconds, by one thread, which makes its
// budget sleep and wake, and by four, of which one is nearly always ready; and a long sleep ahead of
// long bursts, judged from its end. One window each.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;

struct Game {
    Micros burst;
    Micros nap;
    rt::u64 threads;
    Micros first_sleep{0};
};

constexpr Game kGames[] = {
    {.burst = {900}, .nap = {100}, .threads = 1},
    {.burst = {900}, .nap = {100}, .threads = 4},
    {.burst = {20}, .nap = {20}, .threads = 1},
    {.burst = {20}, .nap = {20}, .threads = 4},
    {.burst = {60'000}, .nap = {10'000}, .threads = 1, .first_sleep = {100'000}},
};

void play(Launcher& launcher, const Game& game) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget gamer = launcher.budget(launcher.users(), kWeight, 2);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<workload::game>(gamer, {launcher.ticks(game.burst).value, game.nap.value,
                                           game.threads, game.first_sleep.value});
    workload::Times times{.judged = rt::milliseconds(200)};
    if (times.warm_up < game.first_sleep) {
        times.warm_up = game.first_sleep;
    }
    launcher.run(times);
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(gamer);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (const Game& game : kGames) {
        play(launcher, game);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
