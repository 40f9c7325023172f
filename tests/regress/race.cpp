#include "tests/regress/race.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/assert.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace regress {

Race::Race(u32 harts, U128 start) : wiring_(harts), busy_(harts) {
    wiring_.create_root(1, 1'000'000, start);
}

u64 Race::add(u32 weight, Habit habit, u64 at) {
    const u64 id = ++last_id_;
    wiring_.create(id, wiring_.budget(1), weight);
    racers_[id].habit = std::move(habit);
    sleepers_.emplace(at, id);
    return id;
}

void Race::end_of_entry(u32 hart) {
    wiring_.reconcile();
    if (wiring_.harts()[hart].runner != nullptr) return;
    const Wiring::Budget* next = wiring_.pick(hart);
    if (next == nullptr) return;
    Racer& racer = racers_.at(next->entity.id);
    if (racer.turn.run == 0) racer.turn = racer.habit();
    busy_[hart] = {now_, now_ + std::min(racer.turn.run, kSlice)};
}

void Race::wake(u64 id) {
    wiring_.ready(wiring_.budget(id));
    racers_.at(id).turn = {.run = 0, .sleep = 0};
    u32 hart = 0;
    for (u32 idle = 0; idle < busy_.size(); ++idle) {
        if (wiring_.harts()[idle].runner == nullptr) hart = idle;
    }
    end_of_entry(hart);
}

void Race::end_run(u32 hart) {
    const u64 id = wiring_.harts()[hart].runner->entity.id;
    Racer& racer = racers_.at(id);
    const u64 ran = now_ - busy_[hart].since;
    racer.got += ran;
    racer.turn.run -= std::min(racer.turn.run, ran);
    wiring_.run(hart, Ticks{ran});
    const bool sleeps = racer.turn.run == 0 && racer.turn.sleep != 0;
    if (sleeps) sleepers_.emplace(now_ + racer.turn.sleep, id);
    wiring_.deschedule(hart, !sleeps);
    end_of_entry(hart);
}

void Race::go(u64 ticks) {
    const u64 end = now_ + ticks;
    for (;;) {
        u64 next = sleepers_.empty() ? end : sleepers_.begin()->first;
        u32 ending = static_cast<u32>(busy_.size());
        for (u32 hart = 0; hart < busy_.size(); ++hart) {
            if (wiring_.harts()[hart].runner == nullptr || busy_[hart].until > next) continue;
            next = busy_[hart].until;
            ending = hart;
        }
        if (next >= end) break;
        now_ = std::max(now_, next);
        if (ending < busy_.size()) {
            end_run(ending);
        } else {
            const u64 id = sleepers_.begin()->second;
            sleepers_.erase(sleepers_.begin());
            wake(id);
        }
    }
    now_ = end;
}

void Race::forget() {
    for (auto& [id, racer] : racers_)
        racer.got = 0;
}

u64 Race::share(u64 id) const {
    u64 all = 0;
    for (const auto& [other, racer] : racers_)
        all += racer.got;
    return all == 0 ? 0 : got(id) * 1000 / all;
}

}  // namespace regress

}  // namespace ravelin
