// The stride queue: every budget with a runnable thread, in the order (pass, tie, id), on one to
// eight harts (R12).
//
// Rules kept here: the wake rule and the lazily raised floor, the four tie clauses, one pass for a
// budget on several harts, the capped set and its lift targets. It knows no kernel type, no clock
// and no lock: entities come in with counts, and the kernel's scheduler (core/sched) says what
// happened.
//
// Structure: queued budgets that a hart could pick stand in a winner tree over 64-bit keys, pass
// less a base that follows the floor; equal keys fall back to the whole rank, so saturated ones
// order exactly too. Budgets whose every thread runs, and the capped ones, stand in a side list of
// at most two a hart. Pick and floor read the tree's root and that list; the cap set reads the list
// alone. Invariant: an entity's place follows from its counts and its mark, and its key in the tree
// from its pass and tie. Bound: every operation costs O(log n) of n queued budgets, and what a
// hart's own budget does outside the tree O(harts).
#pragma once

#include "core/stride/entity.h"

namespace ravelin::stride {

/// Budgets that can be queued at once: one a process.
inline constexpr u32 kSlots = 512;

class Queue {
  public:
    Queue();

    /// The pass below which no waking budget enters. Never falls.
    U128 floor() const { return floor_; }

    /// Harts online, 1 to kMaxHarts. A change is judged at the next raise.
    void set_harts(u32 harts) { harts_ = harts; }
    u32 harts() const { return harts_; }

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

    /// The only hart's slice ended: the charge, stop with the thread staying ready, pick and run in
    /// one, with the same result. For a queue of one hart without dormant budgets, whose runner has
    /// no other ready thread. Returns what the hart runs next.
    Entity& turn(Entity& runner, Ticks ticks);

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
    bool changed() const { return changed_; }

    /// raise(), if changed(): the end of an entry's reconcile.
    void raise_if_changed() {
        if (!changed_) return;
        changed_ = false;
        raise();
    }

    /// The budgets the last raises lifted out of the cap set, oldest first, until cleared; for
    /// traces and tests.
    u32 lifted_count() const { return lifted_count_; }
    const Entity& lifted(u32 place) const { return *lifted_[place]; }
    void clear_lifted() { lifted_count_ = 0; }

    /// True if every place, key and sum agrees with the entities; costs a walk of the whole queue.
    /// For audits and tests.
    bool consistent() const;

    /// Calls `visit(Entity&)` for every queued budget, in no order.
    template <class Visit>
    void each(Visit visit) const {
        for (u32 slot = 0; slot < leaves_; ++slot)
            visit(*entities_[slot]);
        for (u32 place = 0; place < side_count_; ++place)
            visit(*side_[place]);
        for (Entity* entity = dormant_; entity != nullptr; entity = entity->next)
            visit(*entity);
    }

    i64 front() const { return front_; }
    i64 back() const { return back_; }

  private:
    static constexpr u32 kNone = kSlots;

    struct Node {
        u64 key = ~u64{0};
        i64 tie = 0;
        u32 slot = kNone;
    };

    u64 key_of(U128 pass) const;
    Node node_of(const Entity& entity) const {
        return {key_of(entity.pass), entity.tie, entity.slot};
    }
    bool before(const Node& a, const Node& b) const;
    bool before_exactly(const Node& a, const Node& b) const;

    void replay(u32 slot, Node node);
    void enter_tree(Entity& entity);
    void leave_tree(Entity& entity);
    void enter_place(Entity& entity);
    void leave_place(Entity& entity);
    void take_out(Entity& entity);
    void move(Entity& entity);
    void rekey(Entity& entity);
    Place place_for(const Entity& entity) const;
    void judge_caps();
    void note_lags();
    void uncap(Entity& entity);
    [[gnu::noinline]] void rebase();
    void raise_to(U128 pass);

    U128 floor_;
    U128 base_;
    u64 weight_ = 0;  ///< free weight of the queued budgets that have threads
    i64 front_ = 0;
    i64 back_ = 0;
    u32 harts_ = 1;
    bool changed_ = false;
    u32 leaves_ = 0;
    u32 root_ = kSlots;  ///< index of the node over the leaves in use
    u32 side_count_ = 0;
    u32 lifted_count_ = 0;
    Entity* dormant_ = nullptr;
    Entity* side_[2 * kMaxHarts] = {};
    Entity* lifted_[kMaxHarts] = {};
    Entity* entities_[kSlots] = {};
    Node nodes_[2 * kSlots];
};

}  // namespace ravelin::stride
