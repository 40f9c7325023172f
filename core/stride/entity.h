// A budget as the stride queue sees it: its pass, what it has been charged and how many of its
// threads could run. It is the record of a budget's place in time; it lives in the budget's own
// frame, and the queue's ranks are copies of it.
#pragma once

#include "core/stride/u128.h"

namespace ravelin::stride {

/// Pass units a tick costs at weight 1. Large, so that a tick still counts at the largest weights
/// (R12).
inline constexpr u64 kStride = u64{1} << 20;

/// Most ticks one fold counts, so that ticks * kStride + remainder fits 64 bits on every width.
inline constexpr u64 kRuntimeCap = u64{1} << 40;

/// Least ticks a deschedule charges: a run too short for the clock to see is not free.
inline constexpr u64 kMinCharge = 1;

/// Whether an entity is queued.
enum class Place : u8 {
    out,     ///< not queued
    queued,  ///< it has threads
    dormant,  ///< queued, but its last thread just ended or blocked: the entry's reconcile takes it out
};

struct Entity {
    U128 pass;
    U128 entry;  ///< the pass it was created at: only work beyond it is lifted into the parent
    u64 remainder = 0;  ///< of the last fold, less than the weight it was folded at
    u64 key = 0;        ///< while queued: the queue's copy of the pass, in 64 bits
    i64 tie = 0;
    u64 id = 0;
    u32 weight = 0;   ///< free weight: the limit less what its children carved
    u32 waiting = 0;  ///< ready threads that no hart runs
    u32 running = 0;  ///< harts that run it
    Place place = Place::out;
    bool capped = false;
    Entity** seat = nullptr;  ///< while queued with threads: the queue's pointer to it
    U128
        lag;  ///< while capped: how far below the floor its lift target stands; max() until that is known
    Entity* next = nullptr;  ///< while dormant: list link
    Entity* previous = nullptr;

    bool queued() const { return place != Place::out; }
    u32 threads() const { return waiting + running; }

    /// True of a budget with threads that the cap set is judged of: one whose every thread runs, or
    /// that is capped already.
    bool tested() const { return waiting == 0 || capped; }
};

/// True if `a` ranks before `b`: lower pass, then lower tie (wakers below requeued, later wakers
/// below earlier), then lower id.
constexpr bool ranks_before(const Entity& a, const Entity& b) {
    if (a.pass != b.pass) return a.pass < b.pass;
    if (a.tie != b.tie) return a.tie < b.tie;
    return a.id < b.id;
}

/// Adds `ticks` of runtime to the pass at the entity's weight, exactly: what a run costs does not
/// depend on how it was split. A budget of weight 0 holds no process and is charged nothing.
/// (Specification: Charging.)
void fold(Entity& entity, Ticks ticks);

/// Converts what the entity owes, its lead over `floor` and its remainder, from its weight to
/// `weight`, and takes that weight; a weight of 0 is stated as 1 meanwhile. The caller has folded
/// what ran at the old weight. (The lead follows the weight.)
void reweigh(Entity& entity, u32 weight, U128 floor);

/// Moves `child`'s work since its entry onto `parent`, at the child's weight and in the parent's.
/// Returns the work before division. The child's own carve is back in the parent's weight. A parent
/// without weight takes nothing. (Inheritance.)
U128 lift(const Entity& child, Entity& parent, U128 floor);

}  // namespace ravelin::stride
