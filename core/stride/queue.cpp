// The stride queue's order, floor and cap set; see queue.h.
#include "core/stride/queue.h"

#include "core/assert.h"
#include "core/planted.h"

namespace ravelin::stride {

using planted::broken;
using planted::Rule;

namespace {

/// How far the floor may run ahead of the base before keys are counted anew. Far below the range of
/// a key, so that leads fit above it.
constexpr u64 kRebaseDistance = u64{1} << 62;

/// A tie that no counter reaches, for planted faults.
constexpr i64 kFarBehind = -(i64{1} << 40);

// The tie of a requeued budget.
i64 behind_equals(i64& front, i64& back) {
    if (broken(Rule::requeued_last)) return --front;
    ++back;
    return broken(Rule::requeued_in_order) ? -kFarBehind - back : back;
}

}  // namespace

Queue::Queue() = default;

// A pass below the base or too far above it takes an end of the range; before() tells such keys
// apart by the whole rank.
u64 Queue::key_of(U128 pass) const {
    U128 key = pass.minus(base_);
    return key.high != 0 ? ~u64{0} : key.low;
}

bool Queue::before(const Node& a, const Node& b) const {
    if (a.key != b.key) return a.key < b.key;
    return before_exactly(a, b);
}

bool Queue::before_exactly(const Node& a, const Node& b) const {
    if (a.slot == kNone) return false;
    if (b.slot == kNone) return true;
    if (a.key != 0 && a.key != ~u64{0} && a.tie != b.tie) return a.tie < b.tie;
    return ranks_before(*entities_[a.slot], *entities_[b.slot]);
}

// Sets one leaf and plays its matches up to the root.
void Queue::replay(u32 slot, Node node) {
    u32 index = kSlots + slot;
    nodes_[index] = node;
    while (index > root_) {
        const Node& rival = nodes_[index ^ 1];
        if (before(rival, node)) node = rival;
        index >>= 1;
        nodes_[index] = node;
    }
}

void Queue::enter_tree(Entity& entity) {
    RAVELIN_ASSERT(leaves_ < kSlots);
    u32 slot = leaves_++;
    if (leaves_ > kSlots / root_) root_ >>= 1;
    entities_[slot] = &entity;
    entity.slot = static_cast<u16>(slot);
    replay(slot, node_of(entity));
}

void Queue::leave_tree(Entity& entity) {
    u32 last = leaves_ - 1;
    u32 slot = entity.slot;
    if (slot != last) {
        Entity& moved = *entities_[last];
        entities_[slot] = &moved;
        moved.slot = static_cast<u16>(slot);
        Node node = nodes_[kSlots + last];
        node.slot = slot;
        replay(slot, node);
    }
    replay(last, Node{});
    leaves_ = last;
    if (root_ < kSlots && leaves_ <= kSlots / root_ / 2) root_ <<= 1;
}

Place Queue::place_for(const Entity& entity) const {
    if (entity.threads() == 0) return Place::dormant;
    bool capped = entity.capped && !broken(Rule::cap_stays_tested);
    return capped || entity.waiting == 0 ? Place::side : Place::tree;
}

void Queue::enter_place(Entity& entity) {
    entity.place = place_for(entity);
    switch (entity.place) {
    case Place::tree:
        weight_ += entity.weight;
        enter_tree(entity);
        break;
    case Place::side:
        RAVELIN_ASSERT(side_count_ < 2 * kMaxHarts);
        weight_ += entity.weight;
        entity.slot = static_cast<u16>(side_count_);
        side_[side_count_++] = &entity;
        break;
    case Place::dormant:
        entity.previous = nullptr;
        entity.next = dormant_;
        if (dormant_ != nullptr) dormant_->previous = &entity;
        dormant_ = &entity;
        break;
    case Place::out: break;
    }
}

void Queue::leave_place(Entity& entity) {
    switch (entity.place) {
    case Place::tree:
        weight_ -= entity.weight;
        leave_tree(entity);
        break;
    case Place::side: {
        weight_ -= entity.weight;
        Entity* moved = side_[--side_count_];
        side_[entity.slot] = moved;
        moved->slot = entity.slot;
        break;
    }
    case Place::dormant:
        (entity.previous != nullptr ? entity.previous->next : dormant_) = entity.next;
        if (entity.next != nullptr) entity.next->previous = entity.previous;
        break;
    case Place::out: break;
    }
}

// Brings a queued entity where its counts and its mark now say.
void Queue::move(Entity& entity) {
    if (!entity.queued() || entity.place == place_for(entity)) return;
    leave_place(entity);
    enter_place(entity);
}

// A queued entity's pass or tie changed where it stands.
void Queue::rekey(Entity& entity) {
    if (entity.place == Place::tree) replay(entity.slot, node_of(entity));
}

void Queue::wake(Entity& entity) {
    RAVELIN_ASSERT(!entity.queued());
    if (entity.pass < floor_ && !broken(Rule::wake_floor)) entity.pass = floor_;
    entity.tie = --front_;
    if (broken(Rule::wakers_first)) entity.tie = ++back_;
    if (broken(Rule::later_wakers_first)) entity.tie = kFarBehind - front_;
    changed_ = true;
    enter_place(entity);
}

void Queue::take_out(Entity& entity) {
    RAVELIN_ASSERT(entity.queued());
    leave_place(entity);
    entity.place = Place::out;
    if (!broken(Rule::cap_ends_with_queue)) entity.capped = false;
    if (empty() && !broken(Rule::ties_start_anew)) front_ = back_ = 0;
}

void Queue::leave(Entity& entity) {
    take_out(entity);
    changed_ = true;
}

void Queue::fold(Entity& entity, Ticks ticks) {
    stride::fold(entity, ticks);
    rekey(entity);
}

void Queue::stop(Entity& entity, bool stays_ready) {
    RAVELIN_ASSERT(entity.queued() && entity.running > 0);
    entity.running -= 1;
    entity.waiting += stays_ready;
    if (entity.threads() == 0) {
        take_out(entity);
        if (!broken(Rule::leave_raises)) raise();
        return;
    }
    // Behind the charge's raise the thread counted as running; whether it waits decides the cap set
    // alone.
    changed_ = changed_ || (harts_ > 1 && !broken(Rule::stop_is_change));
    entity.tie = behind_equals(front_, back_);
    if (entity.place == place_for(entity)) {
        rekey(entity);
    } else {
        move(entity);
    }
}

Entity& Queue::turn(Entity& runner, Ticks ticks) {
    RAVELIN_ASSERT(harts_ == 1 && dormant_ == nullptr && side_count_ == 1 && side_[0] == &runner);
    bool short_run = ticks.value < kMinCharge && !broken(Rule::least_charge);
    stride::fold(runner, short_run ? Ticks{kMinCharge} : ticks);
    runner.tie = behind_equals(front_, back_);
    u32 slot = nodes_[root_].slot;
    // The runner's tie is the last: at an equal pass the other is first.
    Entity& winner =
        slot == kNone || runner.pass < entities_[slot]->pass ? runner : *entities_[slot];
    raise_to(winner.pass);
    if (&winner == &runner) return runner;
    runner.running = 0;
    runner.waiting = 1;
    winner.running = 1;
    winner.waiting -= 1;
    runner.place = Place::tree;
    if (winner.waiting != 0) {
        side_count_ = 0;
        enter_tree(runner);
        return winner;
    }
    winner.place = Place::side;
    winner.slot = 0;
    side_[0] = &winner;
    entities_[slot] = &runner;
    runner.slot = static_cast<u16>(slot);
    replay(slot, node_of(runner));
    return winner;
}

void Queue::run(Entity& entity) {
    RAVELIN_ASSERT(entity.waiting > 0);
    entity.waiting -= 1;
    entity.running += 1;
    move(entity);
}

void Queue::add_waiting(Entity& entity) {
    entity.waiting += 1;
    changed_ = true;
    move(entity);
}

void Queue::drop_waiting(Entity& entity) {
    RAVELIN_ASSERT(entity.waiting > 0);
    entity.waiting -= 1;
    changed_ = true;
    move(entity);
}

void Queue::reweigh(Entity& entity, u32 weight) {
    bool counts = entity.place == Place::tree || entity.place == Place::side;
    if (counts && !broken(Rule::sum_follows_weight)) {
        weight_ -= entity.weight;
        weight_ += weight;
    }
    stride::reweigh(entity, weight, floor_);
    rekey(entity);
}

U128 Queue::lift(const Entity& child, Entity& parent) {
    U128 work = stride::lift(child, parent, floor_);
    rekey(parent);
    return work;
}

Entity* Queue::pick() const {
    const Node& winner = nodes_[root_];
    Entity* best = winner.slot == kNone ? nullptr : entities_[winner.slot];
    if (broken(Rule::lowest_first) && best != nullptr) best = entities_[leaves_ - 1];
    for (u32 place = 0; place < side_count_; ++place) {
        Entity* entity = side_[place];
        if (entity->waiting != 0 && (best == nullptr || ranks_before(*entity, *best)))
            best = entity;
    }
    return best;
}

// The cap set, found as the shares are: in descending weight per thread, a budget whose weight's
// share of the harts is more than its threads is capped and taken out with them. Only the side list
// is tested: a budget with a thread that waits for a hart is not taking the harts its weight would
// give it, unless it is capped already.
void Queue::judge_caps() {
    u64 harts = harts_;
    u64 weight = weight_;
    u32 capped = 0;
    u32 mask = 0;
    while (capped + 1 < harts_) {
        const Entity* heaviest = nullptr;
        u32 at = 0;
        for (u32 place = 0; place < side_count_; ++place) {
            const Entity* entity = side_[place];
            if ((mask >> place & 1) != 0) continue;
            if (heaviest == nullptr || u64{entity->weight} * heaviest->threads() >
                                           u64{heaviest->weight} * entity->threads()) {
                heaviest = entity;
                at = place;
            }
        }
        if (heaviest == nullptr) break;
        u64 due = u64{heaviest->weight} * harts;
        u64 full = heaviest->threads() * weight;
        if (due < full || (due == full && !broken(Rule::cap_is_strict))) break;
        mask |= u32{1} << at;
        capped += 1;
        if (broken(Rule::cap_goes_on)) break;
        if (broken(Rule::cap_takes_out)) continue;
        harts -= heaviest->threads();
        weight -= heaviest->weight;
    }
    // From the last place down, so that one that goes to the tree moves only what was looked at.
    for (u32 place = side_count_; place-- > 0;) {
        Entity& entity = *side_[place];
        bool now = (mask >> place & 1) != 0;
        if (now && !entity.capped) {
            entity.capped = true;
            entity.lag = broken(Rule::lag_behind_raise) ? floor_.minus(entity.pass) : U128::max();
        } else if (!now && entity.capped) {
            uncap(entity);
        }
    }
}

// What the floor rose while a budget was capped is time it had no thread to run: it banks none of
// that, and keeps the lag it had.
void Queue::uncap(Entity& entity) {
    U128 target = broken(Rule::uncap_keeps_lag) ? floor_ : floor_.minus(entity.lag);
    if (entity.pass < target && !broken(Rule::uncap_lifts)) entity.pass = target;
    entity.capped = false;
    move(entity);
    if (lifted_count_ < kMaxHarts) lifted_[lifted_count_++] = &entity;
}

// The lag of a budget just capped is known once the raise that capped it has moved the floor: until
// then the floor stood at the lowest pass of all, its own included.
void Queue::note_lags() {
    for (u32 place = 0; place < side_count_; ++place) {
        Entity& entity = *side_[place];
        if (entity.capped && entity.lag == U128::max()) entity.lag = floor_.minus(entity.pass);
    }
}

void Queue::raise() {
    if (harts_ > 1) judge_caps();
    bool found = leaves_ != 0;
    U128 lowest = found ? entities_[nodes_[root_].slot]->pass : U128::max();
    U128 highest_capped;
    for (u32 place = 0; place < side_count_; ++place) {
        const Entity& entity = *side_[place];
        if (entity.capped && !broken(Rule::floor_without_capped)) {
            if (entity.pass > highest_capped) highest_capped = entity.pass;
            continue;
        }
        found = true;
        if (entity.pass < lowest) lowest = entity.pass;
    }
    bool alone = harts_ == 1 || size() == 0;
    if (alone ? !broken(Rule::floor_of_threadless) : broken(Rule::floor_without_threads)) {
        for (const Entity* entity = dormant_; entity != nullptr; entity = entity->next) {
            found = true;
            if (entity->pass < lowest) lowest = entity->pass;
        }
    }
    if (broken(Rule::floor_of_all_capped)) highest_capped = U128{};
    raise_to(found ? lowest : highest_capped);
    if (harts_ > 1) note_lags();
}

void Queue::raise_to(U128 pass) {
    if (pass <= floor_ && !broken(Rule::floor_only_rises)) return;
    floor_ = pass;
    // The base never stands above the floor.
    if (floor_.high != base_.high || floor_.low - base_.low > kRebaseDistance) rebase();
}

// Counts every key from the floor anew. Rare: at the lightest weight a hart runs for days between
// two.
void Queue::rebase() {
    base_ = floor_;
    for (u32 slot = 0; slot < leaves_; ++slot)
        nodes_[kSlots + slot] = node_of(*entities_[slot]);
    for (u32 index = kSlots - 1; index >= root_ && index > 0; --index) {
        const Node& left = nodes_[2 * index];
        const Node& right = nodes_[2 * index + 1];
        nodes_[index] = before(right, left) ? right : left;
    }
}

bool Queue::consistent() const {
    u64 weight = 0;
    bool good = root_ == kSlots || kSlots / root_ / 2 < leaves_;
    good = good && leaves_ <= kSlots / root_;
    const Entity* lowest = nullptr;
    for (u32 slot = 0; slot < leaves_; ++slot) {
        const Entity& entity = *entities_[slot];
        const Node& leaf = nodes_[kSlots + slot];
        good = good && entity.place == Place::tree && entity.slot == slot &&
               place_for(entity) == Place::tree;
        good =
            good && leaf.key == key_of(entity.pass) && leaf.tie == entity.tie && leaf.slot == slot;
        weight += entity.weight;
        if (lowest == nullptr || ranks_before(entity, *lowest)) lowest = &entity;
    }
    good = good && (lowest == nullptr ? nodes_[root_].slot == kNone
                                      : entities_[nodes_[root_].slot] == lowest);
    for (u32 place = 0; place < side_count_; ++place) {
        const Entity& entity = *side_[place];
        good = good && entity.place == Place::side && entity.slot == place &&
               place_for(entity) == Place::side;
        weight += entity.weight;
    }
    for (const Entity* entity = dormant_; entity != nullptr; entity = entity->next) {
        good = good && entity->place == Place::dormant && entity->threads() == 0;
    }
    return good && weight == weight_;
}

}  // namespace ravelin::stride
