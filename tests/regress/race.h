// Budgets that run and sleep by habit beside each other on harts without a kernel: what the stride
// queue gives each, tick for tick.
//
// A sleeper's end is an entry of its own at its own tick, on an idle hart or, with none, on the
// hart whose slice ends next; it preempts nothing. The kernel itself costs nothing here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "tests/differential/wiring.h"

namespace ravelin::regress {

using differential::Wiring;

inline constexpr u64 kSlice = 10'000;  // ticks: 1 ms at 10 MHz

// What a budget's thread does next: runs so long (at most kSlice at a turn), then sleeps (0: not).
struct Turn {
    u64 run = kSlice;
    u64 sleep = 0;
};
using Habit = std::function<Turn()>;

inline Turn spin() {
    return {};
}

class Race {
  public:
    explicit Race(u32 harts = 1, U128 start = {});

    // A budget of that weight whose one thread has that habit and is ready at `at`.
    u64 add(u32 weight, Habit habit, u64 at = 0);

    void go(u64 ticks);

    u64 now() const { return now_; }
    u64 got(u64 id) const { return racers_.at(id).got; }
    void forget();  // counts start again
    // Of 1000, of what all got since the counts started.
    u64 share(u64 id) const;
    Wiring& wiring() { return wiring_; }

  private:
    struct Racer {
        Habit habit;
        Turn turn;
        u64 got = 0;
    };
    struct Busy {
        u64 since = 0;
        u64 until = 0;
    };

    void end_of_entry(u32 hart);
    void wake(u64 id);
    void end_run(u32 hart);

    Wiring wiring_;
    u64 now_ = 0;
    u64 last_id_ = 1;
    std::map<u64, Racer> racers_;
    std::multimap<u64, u64> sleepers_;
    std::vector<Busy> busy_;
};

}  // namespace ravelin::regress
