// What the tests of core/stride share: a random source, wide numbers and a crowd of entities.
//
// A crowd keeps its entities at fixed addresses, as frames do. Everything is a function of the
// seed.
#pragma once

#include <cstdint>
#include <deque>
#include <ostream>
#include <random>
#include <vector>

#include "core/stride/queue.h"

namespace ravelin::stride {

using Wide = unsigned __int128;
using Random = std::mt19937_64;

inline constexpr Wide wide(U128 number) {
    return Wide{number.high} << 64 | number.low;
}
inline constexpr U128 narrow(Wide number) {
    return {static_cast<u64>(number >> 64), static_cast<u64>(number)};
}

/// Uniform in [0, bound); `bound` is not 0.
inline u64 below(Random& random, u64 bound) {
    return random() % bound;
}

/// A number whose length in bits is uniform: as likely near 0 as near 2^64.
inline u64 any_length(Random& random) {
    return random() >> below(random, 64);
}

/// A weight whose length in bits is uniform, at least 1.
inline u32 any_weight(Random& random) {
    const u64 weight = any_length(random) >> 32;
    return weight == 0 ? 1 : static_cast<u32>(weight);
}

/// As any_length, 128 bits.
inline Wide any_wide(Random& random) {
    return (Wide{random()} << 64 | random()) >> below(random, 128);
}

void print_to(std::ostream& out, U128 number);

/// Entities with ids from 1, none of them queued.
class Crowd {
  public:
    Entity& add(u32 weight = 1, Wide pass = 0) {
        Entity& entity = entities_.emplace_back();
        entity.id = entities_.size();
        entity.weight = weight;
        entity.pass = narrow(pass);
        return entity;
    }
    Entity& operator[](std::size_t place) { return entities_[place]; }
    std::size_t size() const { return entities_.size(); }

  private:
    std::deque<Entity> entities_;
};

/// Gives `entity` that many waiting threads and wakes it.
void wake_with(Queue& queue, Entity& entity, u32 threads = 1);

/// A charge: folds, and raises the floor if the budget is queued.
void charge(Queue& queue, Entity& entity, Ticks ticks);

/// The charge of a hart's own budget, then its thread stops.
void deschedule(Queue& queue, Entity& entity, Ticks ticks, bool stays_ready);

/// Puts the best budget on a hart; null if none waits.
Entity* pick_and_run(Queue& queue);

}  // namespace ravelin::stride

namespace ravelin {

/// GoogleTest prints passes by this.
inline void PrintTo(const U128& number, std::ostream* out) {
    stride::print_to(*out, number);
}

}  // namespace ravelin
