#include "tests/unit/stride/support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iomanip>

#include "core/assert.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace stride {

void print_to(std::ostream& out, U128 number) {
    const auto flags = out.flags();
    out << "0x" << std::hex << number.high << '\'' << std::setw(16) << std::setfill('0')
        << number.low;
    out.flags(flags);
}

void wake_with(Queue& queue, Entity& entity, u32 threads) {
    for (u32 thread = 0; thread < threads; ++thread)
        queue.add_waiting(entity);
    queue.wake(entity);
}

void charge(Queue& queue, Entity& entity, Ticks ticks) {
    queue.fold(entity, ticks);
    if (entity.queued()) queue.raise();
}

void deschedule(Queue& queue, Entity& entity, Ticks ticks, bool stays_ready) {
    charge(queue, entity, std::max(ticks, Ticks{kMinCharge}));
    queue.stop(entity, stays_ready);
}

Entity* pick_and_run(Queue& queue) {
    Entity* best = queue.pick();
    if (best != nullptr) queue.run(*best);
    return best;
}

}  // namespace stride

}  // namespace ravelin
