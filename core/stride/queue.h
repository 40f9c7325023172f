// The stride queue: every budget with a runnable thread, in the order (pass, tie, id), on one to
// eight harts (R12).
//
// Rules kept here: the wake rule and the lazily raised floor, the four tie clauses, one pass for a
// budget on several harts, the capped set and its lift targets. It knows no kernel type, no clock
// and no lock: entities come in with counts, and the kernel's scheduler (core/sched) says what
// happened.
//
// Structure: queued budgets that no hart runs are the leaves of a winner tree; those that one runs, and
// the capped ones, stand in a side list of at most two a hart. Both compare 64-bit keys, pass less a
// base that follows the floor; equal keys fall back to the tie, and at the ends of the range, where a
// key shows no pass exactly, to the whole rank. Of n leaves, nodes n to 2n - 1 are the leaves, and of
// the last pair the loser is what fills a gap: then its winner can take the pair's own node, whose
// ancestors know it already, so that every change of the tree is one path of matches.
//
// The cap set depends on weights, counts and harts alone. It is judged when one of those has changed
// in a way that could change the set, and else known.
//
// Invariant: an entity's place follows from its counts and its mark, its key from its pass. Bound:
// every operation costs O(log n) of n queued budgets and O(harts); the cap set, when judged, O(harts^2).
#pragma once

#include <bit>

#include "core/stride/entity.h"

namespace ravelin::stride {

/// Budgets that can be queued at once: one a process.
inline constexpr u32 kSlots = 512;

class Queue {
  public:
    Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// The pass below which no waking budget enters. Never falls.
    U128 floor() const { return base_.plus(floor_key_); }

    /// Harts online, 1 to kMaxHarts. A change is judged at the next raise.
    void set_harts(u32 harts) {
        harts_ = harts;
        set_slice(slice_);
        forget_caps();
    }
    u32 harts() const { return harts_; }

    /// The length of a slice, at most kRuntimeCap: what a budget is left of its lag as it leaves the cap
    /// set is at most that on every hart. It had no thread that waited longer beside them; more is
    /// the work of who led it and carved its weight away, and whoever woke past the floor that this
    /// raised would wait for all of it.
    void set_slice(Ticks slice) {
        slice_ = slice;
        most_lag_ = slice_.value * kStride * harts_;
    }

    bool has_dormant() const { return dormant_ != nullptr; }
    bool empty() const { return leaves_ == 0 && side_count_ == 0 && dormant_ == nullptr; }

    /// Queued budgets, dormant ones left out.
    u32 size() const { return leaves_ + side_count_; }

    /// A budget that has threads again enters at max(own pass, floor), ahead of its equals. Of one
    /// kernel entry's wakes the caller brings the highest id first.
    void wake(Entity& entity);

    /// Takes a queued budget out. The tie counters start again when none is left.
    void leave(Entity& entity);

    /// Folds `ticks` and raises nothing. Where it is a charge of a queued budget, and no step of a
    /// weight change, a creation or a destruction, the caller raises the floor next.
    void fold(Entity& entity, Ticks ticks);

    /// A hart takes the budget's thread off. It has been charged, at least kMinCharge, and the
    /// floor raised, with the thread still counted as running. Now it stops, waiting if
    /// `stays_ready`, and the budget goes behind its equals if a thread of it is left, or out,
    /// which raises the floor.
    void stop(Entity& entity, bool stays_ready);

    /// True if a hart's slice end may be a turn(): nothing is left to reconcile, no other hart runs the
    /// budget, and no other budget that a hart runs has a waiting thread.
    bool can_turn(const Entity& runner) const {
        return runner.running == 1 &&
               (plain() || (!state_.changed && state_.spare == (runner.waiting != 0)));
    }

    /// A hart's slice ended: the charge, raise, stop with the thread staying ready, raise, pick and
    /// run in one, with the same result. Where can_turn(). Returns what the hart runs next.
    Entity& turn(Entity& runner, Ticks ticks);

    /// turn() behind its charge.
    Entity& rotate(Entity& runner);

    /// Takes a thread of a waiting budget onto a hart.
    void run(Entity& entity);

    /// A thread of the budget became ready (waiting) or ceased to be; a queued budget without
    /// threads lies dormant until the reconcile.
    void add_waiting(Entity& entity);
    void drop_waiting(Entity& entity);

    /// Changes a free weight and what the budget owes with it; folds nothing and raises nothing.
    void reweigh(Entity& entity, u32 weight);

    /// Moves a dying child's work onto its parent; returns the work.
    U128 lift(const Entity& child, Entity& parent);

    /// The budget that a hart runs next: the lowest rank with a waiting thread; null if there is
    /// none. Changes nothing.
    Entity* pick() const;

    /// Judges the cap set and raises the floor to what the queued budgets allow.
    void raise();

    /// True if thread counts or members have changed since the last reconcile's raise, whatever was
    /// raised between: a weight change raises nothing, so what one did behind such a raise shows at
    /// the reconcile. What stop() and turn() settle themselves is left out.
    bool changed() const { return state_.changed; }

    /// raise(), if changed(): the end of an entry's reconcile.
    void raise_if_changed() {
        if (!changed()) return;
        state_.changed = dormant_ != nullptr;
        raise();
    }

    /// The budgets the last raises lifted out of the cap set, oldest first, until cleared; for
    /// traces and tests.
    u32 lifted_count() const { return lifted_count_; }
    const Entity& lifted(u32 place) const { return *lifted_[place]; }
    void clear_lifted() { lifted_count_ = 0; }

    /// True if every seat, key and sum agrees with the entities; costs a walk of the whole queue.
    /// For audits and tests.
    bool consistent() const;

    /// Calls `visit(Entity&)` for every queued budget, in no order.
    template <class Visit>
    void each(Visit visit) const {
        for (u32 node = leaves_; node < 2 * leaves_; ++node)
            visit(*seat_of(node));
        for (u32 place = 0; place < side_count_; ++place)
            visit(*side_[place]);
        for (Entity* entity = dormant_; entity != nullptr; entity = entity->next)
            visit(*entity);
    }

    /// True if nothing is left to reconcile or to judge, none is capped and no budget that a hart runs
    /// has a waiting thread: a slice's end is a requeue and a pick.
    bool plain() const { return std::bit_cast<u32>(state_) == 0; }

    i64 front() const { return front_; }
    i64 back() const { return back_; }

  private:
    /// What makes a slice's end more than a requeue and a pick.
    struct alignas(4) State {
        bool changed = false;  ///< see changed()
        bool caps = false;     ///< the cap set may be another than the one marked
        u8 capped = 0;         ///< budgets in it
        u8 spare = 0;          ///< of the side list, those with a waiting thread
    };

    void add_spare(bool one) { state_.spare = static_cast<u8>(state_.spare + one); }
    void drop_spare(bool one) { state_.spare = static_cast<u8>(state_.spare - one); }
    void forget_caps() { state_.caps = harts_ > 1; }

    /// Nodes 2m and 2m + 1: m's two contestants. Who wins takes a place in the match above.
    struct alignas(4 * sizeof(void*)) Match {
        Entity* side[2] = {};
        Entity** up = nullptr;  ///< node m
    };
    static_assert(sizeof(Match) == 4 * sizeof(void*));

    Entity*& seat_of(u32 node) { return matches_[node / 2].side[node % 2]; }
    Entity* seat_of(u32 node) const { return matches_[node / 2].side[node % 2]; }
    Entity* top() const { return matches_[0].side[1]; }

    /// A pass as it stands above the base; 0 is also what lies below, and all ones what is too far
    /// above.
    u64 key_of(U128 pass) const {
        u64 low = pass.low - base_.low;
        u64 high = pass.high - base_.high - (pass.low < base_.low);
        if ((high | low >> 63) == 0) return low;
        return pass < base_ ? 0 : ~u64{0};
    }
    /// True of a key that may stand for more than one pass.
    static bool inexact(u64 key) { return static_cast<i64>(key) <= 0; }
    /// The order of two entities of one key.
    static bool before_at_one_key(const Entity& a, const Entity& b) {
        return inexact(a.key) ? ranks_before(a, b) : a.tie < b.tie;
    }
    static bool before(const Entity& a, const Entity& b) {
        if (a.key != b.key) return a.key < b.key;
        return before_at_one_key(a, b);
    }
    static bool stands_aside(const Entity& entity) { return entity.running != 0 || entity.capped; }

    void play(Entity** seat, Entity& entity, u64 key, i64 tie);
    [[gnu::noinline]] void play(Entity** seat, Entity& entity);
    void enter_tree(Entity& entity);
    void leave_tree(Entity& entity);
    void enter_side(Entity& entity);
    void leave_side(Entity& entity);
    void enter_place(Entity& entity, u64 key);
    void leave_place(Entity& entity);
    void take_out(Entity& entity);
    void rekey(Entity& entity);
    void judge_entry(const Entity& entity);
    struct Caps {
        u32 mask = 0;  ///< by place in the side list
        u32 harts = 0;
        u64 weight = 0;
    };
    Caps caps() const;
    [[gnu::noinline]] void judge_caps();
    void note_lags();
    U128 kept_lag(const Entity& entity) const;
    void uncap(Entity& entity);
    u64 lowest_aside() const;
    void raise_floor();
    [[gnu::noinline]] void raise_slowly();
    void raise_to(U128 pass);
    [[gnu::noinline]] Entity& rotate_slowly(Entity& runner);
    [[gnu::noinline]] void rebase(U128 floor);

    U128 base_;
    u64 floor_key_ = 0;  ///< exact: the floor less the base
    u64 weight_ = 0;     ///< free weight of the queued budgets that have threads
    i64 front_ = 0;
    i64 back_ = 0;
    Ticks slice_{kRuntimeCap};
    u64 most_lag_ = kRuntimeCap * kStride;  ///< a slice on every hart, at weight 1
    u32 harts_ = 1;
    u32 leaves_ = 0;
    u32 side_count_ = 0;
    u32 capped_harts_ = 0;   ///< threads of the capped
    u64 capped_weight_ = 0;  ///< weight of the capped
    State state_;
    u32 lifted_count_ = 0;
    Entity* dormant_ = nullptr;
    Entity nobody_;  ///< of the highest key: sits on the seats of the side list that are free
    Entity* side_[2 * kMaxHarts];
    Entity* lifted_[kMaxHarts] = {};
    Match matches_[kSlots];
};

}  // namespace ravelin::stride
