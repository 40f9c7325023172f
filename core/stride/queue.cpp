// The stride queue's order, floor and cap set; see queue.h.
#include "core/stride/queue.h"

#include "core/assert.h"
#include "core/planted.h"

namespace ravelin::stride {

using planted::broken;
using planted::Rule;

namespace {

/// How far the base stands below the floor when keys are counted anew: passes below the floor, of
/// budgets that were capped, have exact keys too.
constexpr u64 kBelow = u64{1} << 62;

/// A tie that no counter reaches, for planted faults.
constexpr i64 kFarBehind = -(i64{1} << 40);

// The tie of a requeued budget.
i64 behind_equals(i64& front, i64& back) {
    if (broken(Rule::requeued_last)) return --front;
    ++back;
    return broken(Rule::requeued_in_order) ? -kFarBehind - back : back;
}

}  // namespace

Queue::Queue() {
    nobody_.key = ~u64{0};
    for (Entity*& seat : side_)
        seat = &nobody_;
}

// Puts an entity on a seat and plays its matches up to the top. The two seats of a match lie side by
// side, aligned to their size.
[[gnu::always_inline]] inline void Queue::play(Entity** seat, Entity& entity, u64 key, i64 tie) {
    constexpr Word kMask = sizeof(Match) - 1;
    Entity* winner = &entity;
    for (;;) {
        *seat = winner;
        Word at = reinterpret_cast<Word>(seat);
        Match* match = reinterpret_cast<Match*>(at & ~kMask);
        if (match == matches_) return;
        Entity* rival = *reinterpret_cast<Entity**>(at ^ sizeof(Entity*));
        seat = match->up;
        u64 other = rival->key;
        if (other > key) continue;
        if (other == key) {
            if (inexact(key) ? !ranks_before(*rival, *winner) : rival->tie > tie) continue;
        }
        winner = rival;
        key = other;
        tie = rival->tie;
    }
}

void Queue::play(Entity** seat, Entity& entity) {
    play(seat, entity, entity.key, entity.tie);
}

// The node behind the last leaf becomes a match of its own leaf and the new one.
void Queue::enter_tree(Entity& entity) {
    RAVELIN_ASSERT(leaves_ < kSlots);
    u32 node = leaves_++;
    if (node == 0) {
        entity.seat = &seat_of(1);
        *entity.seat = &entity;
        return;
    }
    Match& match = matches_[node];
    match.up = &seat_of(node);
    Entity& moved = **match.up;
    moved.seat = &match.side[0];
    match.side[0] = &moved;
    entity.seat = &match.side[1];
    play(entity.seat, entity);
}

// The last match ends: its winner takes its node, and its loser the seat that is left.
void Queue::leave_tree(Entity& entity) {
    u32 node = --leaves_;
    if (node == 0) {
        seat_of(1) = nullptr;
        return;
    }
    Match& match = matches_[node];
    Entity* winner = *match.up;
    Entity* loser = match.side[match.side[0] == winner];
    if (winner == &entity) {
        loser->seat = match.up;
        return play(match.up, *loser);
    }
    winner->seat = match.up;
    if (loser == &entity) return;
    loser->seat = entity.seat;
    play(loser->seat, *loser);
}

void Queue::enter_side(Entity& entity) {
    RAVELIN_ASSERT(side_count_ < 2 * kMaxHarts);
    entity.seat = &side_[side_count_++];
    *entity.seat = &entity;
}

void Queue::leave_side(Entity& entity) {
    Entity** last = &side_[--side_count_];
    Entity* moved = *last;
    *last = &nobody_;
    if (moved == &entity) return;
    *entity.seat = moved;
    moved->seat = entity.seat;
}

// An entity with threads comes to where its counts and its mark say.
void Queue::enter_place(Entity& entity, u64 key) {
    entity.place = Place::queued;
    entity.key = key;
    weight_ += entity.weight;
    if (stands_aside(entity)) {
        add_spare(entity.waiting != 0);
        enter_side(entity);
        forget_caps();
    } else {
        enter_tree(entity);
    }
    // Where none is capped, more weight caps none.
    if (state_.capped != 0) forget_caps();
}

void Queue::leave_place(Entity& entity) {
    if (entity.place == Place::dormant) {
        (entity.previous != nullptr ? entity.previous->next : dormant_) = entity.next;
        if (entity.next != nullptr) entity.next->previous = entity.previous;
        return;
    }
    weight_ -= entity.weight;
    forget_caps();
    // Its counts may have changed already; it stands where its seat is.
    if (entity.seat >= side_ && entity.seat < side_ + 2 * kMaxHarts) {
        leave_side(entity);
    } else {
        leave_tree(entity);
    }
}

// A queued entity's pass or tie changed where it stands.
void Queue::rekey(Entity& entity) {
    if (entity.place != Place::queued) return;
    entity.key = key_of(entity.pass);
    if (!stands_aside(entity)) play(entity.seat, entity);
}

void Queue::wake(Entity& entity) {
    RAVELIN_ASSERT(!entity.queued());
    u64 key = key_of(entity.pass);
    if (key <= floor_key_ && !broken(Rule::wake_floor)) {
        entity.pass = floor();
        key = floor_key_;
    }
    entity.tie = --front_;
    if (broken(Rule::wakers_first)) entity.tie = ++back_;
    if (broken(Rule::later_wakers_first)) entity.tie = kFarBehind - front_;
    state_.changed = true;
    enter_place(entity, key);
}

void Queue::take_out(Entity& entity) {
    RAVELIN_ASSERT(entity.queued());
    leave_place(entity);
    entity.place = Place::out;
    if (!broken(Rule::cap_ends_with_queue)) entity.capped = false;
    if (empty() && !broken(Rule::ties_start_anew)) front_ = back_ = 0;
}

void Queue::leave(Entity& entity) {
    if (entity.place == Place::queued && stands_aside(entity)) drop_spare(entity.waiting != 0);
    take_out(entity);
    state_.changed = true;
}

void Queue::fold(Entity& entity, Ticks ticks) {
    stride::fold(entity, ticks);
    rekey(entity);
}

void Queue::stop(Entity& entity, bool stays_ready) {
    RAVELIN_ASSERT(entity.place == Place::queued && entity.running > 0);
    drop_spare(entity.waiting != 0);
    entity.running -= 1;
    entity.waiting += stays_ready;
    if (entity.threads() == 0) {
        take_out(entity);
        if (!broken(Rule::leave_raises)) raise();
        return;
    }
    if (!stays_ready) forget_caps();
    // Behind the charge's raise the thread counted as running; whether it waits decides the cap set
    // alone.
    if (harts_ > 1 && !broken(Rule::stop_is_change)) state_.changed = true;
    entity.tie = behind_equals(front_, back_);
    if (stands_aside(entity)) {
        add_spare(entity.waiting != 0);
    } else {
        leave_side(entity);
        enter_tree(entity);
    }
}

Entity& Queue::turn(Entity& runner, Ticks ticks) {
    bool short_run = ticks.value < kMinCharge && !broken(Rule::least_charge);
    stride::fold(runner, short_run ? Ticks{kMinCharge} : ticks);
    runner.key = key_of(runner.pass);
    return rotate(runner);
}

// The lowest key of the side list, where none is capped. At one to four harts without a loop: it is on
// the way of every slice's end, and nobody_ sits where no budget does.
[[gnu::always_inline]] inline u64 Queue::lowest_aside() const {
    u64 key = side_[0]->key;
    auto see = [&](u32 place) {
        u64 other = side_[place]->key;
        if (other < key) key = other;
    };
    see(1);
    if (side_count_ <= 2) return key;
    see(2);
    see(3);
    for (u32 place = 4; place < side_count_; ++place)
        see(place);
    return key;
}

Entity& Queue::rotate(Entity& runner) {
    RAVELIN_ASSERT(can_turn(runner));
    if (!plain()) return rotate_slowly(runner);
    Entity* best = top();
    // The runner's tie will be the last.
    u64 key = runner.key;
    if (best == nullptr || key < best->key) {
        u64 lowest = lowest_aside();
        if (lowest > floor_key_) {
            if (inexact(lowest)) return rotate_slowly(runner);
            floor_key_ = lowest;
        }
        runner.tie = behind_equals(front_, back_);
        return runner;
    }
    if (key == best->key && inexact(key)) return rotate_slowly(runner);
    Entity** seat = best->seat;
    best->seat = runner.seat;
    *best->seat = best;
    runner.seat = seat;
    i64 tie = behind_equals(front_, back_);
    runner.tie = tie;
    runner.running = 0;
    runner.waiting = 1;
    u32 left = best->waiting - 1;
    best->waiting = left;
    best->running = 1;
    if (left != 0) {
        add_spare(true);
    } else if (u64{best->weight} * harts_ > weight_) {
        forget_caps();
    }
    // What the tree holds is not below its winner, who is aside now.
    u64 lowest = lowest_aside();
    if (lowest > floor_key_) floor_key_ = lowest;
    play(seat, runner, key, tie);
    return *best;
}

// With a cap set, or passes that no key shows.
Entity& Queue::rotate_slowly(Entity& runner) {
    raise();
    runner.tie = behind_equals(front_, back_);
    Entity* best = top();
    if (best == nullptr || before(runner, *best)) return runner;
    runner.running = 0;
    runner.waiting += 1;
    leave_tree(*best);
    if (!runner.capped) {
        leave_side(runner);
        enter_tree(runner);
    }
    enter_side(*best);
    best->waiting -= 1;
    best->running = 1;
    state_.spare = 0;
    add_spare(runner.capped);
    add_spare(best->waiting != 0);
    judge_entry(*best);
    return *best;
}

void Queue::run(Entity& entity) {
    RAVELIN_ASSERT(entity.waiting > 0);
    if (stands_aside(entity)) {
        drop_spare(true);
    } else {
        leave_tree(entity);
        enter_side(entity);
    }
    entity.waiting -= 1;
    entity.running += 1;
    add_spare(entity.waiting != 0);
    judge_entry(entity);
}

void Queue::add_waiting(Entity& entity) {
    state_.changed = true;
    if (entity.place == Place::out) {
        entity.waiting += 1;
        return;
    }
    if (entity.place == Place::dormant) leave_place(entity);
    if (entity.place == Place::queued && stands_aside(entity)) {
        add_spare(entity.waiting == 0);
        forget_caps();
    }
    entity.waiting += 1;
    if (entity.place == Place::dormant) enter_place(entity, key_of(entity.pass));
}

void Queue::drop_waiting(Entity& entity) {
    RAVELIN_ASSERT(entity.waiting > 0);
    state_.changed = true;
    entity.waiting -= 1;
    if (entity.place == Place::out) return;
    if (stands_aside(entity)) {
        drop_spare(entity.waiting == 0);
        forget_caps();
    }
    if (entity.threads() != 0) return;
    leave_place(entity);
    entity.place = Place::dormant;
    entity.previous = nullptr;
    entity.next = dormant_;
    if (dormant_ != nullptr) dormant_->previous = &entity;
    dormant_ = &entity;
}

void Queue::reweigh(Entity& entity, u32 weight) {
    if (entity.place == Place::queued && !broken(Rule::sum_follows_weight)) {
        weight_ -= entity.weight;
        weight_ += weight;
        forget_caps();
    }
    stride::reweigh(entity, weight, floor());
    rekey(entity);
}

U128 Queue::lift(const Entity& child, Entity& parent) {
    U128 work = stride::lift(child, parent, floor());
    rekey(parent);
    return work;
}

Entity* Queue::pick() const {
    Entity* best = top();
    if (broken(Rule::lowest_first) && best != nullptr) best = seat_of(2 * leaves_ - 1);
    if (state_.spare == 0) return best;
    for (u32 place = 0; place < side_count_; ++place) {
        Entity* entity = side_[place];
        if (entity->waiting != 0 && (best == nullptr || before(*entity, *best))) best = entity;
    }
    return best;
}

// The cap set, found as the shares are: a budget whose weight's share of the harts is more than its
// threads is capped and taken out with them, until there is none. Which of several comes first is no
// matter: each that is taken out lowers what the others have to exceed. Only the side list is tested:
// a budget with a thread that waits for a hart is not taking the harts its weight would give it, unless
// it is capped already.
Queue::Caps Queue::caps() const {
    Caps found;
    if (harts_ == 1) return found;
    u64 harts = harts_;
    u64 weight = weight_;
    for (bool again = true; again;) {
        again = false;
        for (u32 place = 0; place < side_count_; ++place) {
            const Entity& entity = *side_[place];
            u64 due = u64{entity.weight} * harts;
            if (due < weight || (found.mask >> place & 1) != 0) continue;
            bool tested = broken(Rule::cap_stays_tested) ? entity.waiting == 0 : entity.tested();
            if (!tested) continue;
            u64 full = entity.threads() * weight;
            if (due < full || (due == full && !broken(Rule::cap_is_strict))) continue;
            found.mask |= u32{1} << place;
            if (broken(Rule::cap_goes_on)) return found;
            again = true;
            if (broken(Rule::cap_takes_out)) continue;
            harts -= entity.threads();
            weight -= entity.weight;
        }
    }
    found.harts = harts_ - static_cast<u32>(harts);
    found.weight = weight_ - weight;
    return found;
}

// A budget of which a hart took a thread may be tested now. Whether one more than the capped is capped
// shows against the harts and the weight that those leave.
void Queue::judge_entry(const Entity& entity) {
    if (entity.waiting != 0 || entity.capped || harts_ == 1) return;
    u64 due = u64{entity.weight} * (harts_ - capped_harts_);
    u64 left = weight_ - capped_weight_;
    if (due > left && due > entity.threads() * left) forget_caps();
}

void Queue::judge_caps() {
    Caps found = caps();
    bool fresh = false;
    state_.capped = 0;
    // From the last place down, so that one that goes to the tree moves only what was looked at.
    for (u32 place = side_count_; place-- > 0;) {
        Entity& entity = *side_[place];
        bool now = (found.mask >> place & 1) != 0;
        state_.capped = static_cast<u8>(state_.capped + now);
        if (now && !entity.capped) {
            entity.capped = true;
            entity.lag = broken(Rule::lag_behind_raise) ? floor().minus(entity.pass) : U128::max();
            fresh = true;
        } else if (!now && entity.capped) {
            uncap(entity);
        }
    }
    capped_harts_ = found.harts;
    capped_weight_ = found.weight;
    state_.caps = false;
    raise_floor();
    if (fresh) note_lags();
}

U128 Queue::kept_lag(const Entity& entity) const {
    RAVELIN_ASSERT(entity.weight != 0);
    U128 lag = entity.lag;
    bool narrow = lag.high == 0 && lag.low >> 32 == 0;
    if (narrow && lag.low * entity.weight <= most_lag_) return lag;
    U128 most{most_lag_};
    if (lag.times(entity.weight) <= most || broken(Rule::lag_is_bounded)) return lag;
    return most.divided(entity.weight).quotient;
}

// What the floor rose while a budget was capped is time it had no thread to run: it banks none of
// that, and keeps the lag it had, as far as it can have waited.
void Queue::uncap(Entity& entity) {
    U128 lag = kept_lag(entity);
    U128 target = broken(Rule::uncap_keeps_lag) ? floor() : floor().minus(lag);
    if (entity.pass < target && !broken(Rule::uncap_lifts)) entity.pass = target;
    entity.capped = false;
    entity.key = key_of(entity.pass);
    if (!stands_aside(entity)) {
        drop_spare(true);
        leave_side(entity);
        enter_tree(entity);
    }
    if (lifted_count_ < kMaxHarts) lifted_[lifted_count_++] = &entity;
}

// The lag of a budget just capped is known once the raise that capped it has moved the floor: until
// then the floor stood at the lowest pass of all, its own included.
void Queue::note_lags() {
    for (u32 place = 0; place < side_count_; ++place) {
        Entity& entity = *side_[place];
        if (entity.capped && entity.lag == U128::max()) entity.lag = floor().minus(entity.pass);
    }
}

void Queue::raise() {
    if (!state_.caps) {
        raise_floor();
    } else {
        judge_caps();
    }
}

void Queue::raise_floor() {
    u64 key = top() == nullptr ? ~u64{0} : top()->key;
    if (dormant_ != nullptr || broken(Rule::floor_only_rises) ||
        broken(Rule::floor_without_capped) || broken(Rule::floor_of_all_capped))
        return raise_slowly();
    if (key <= floor_key_) return;
    if (state_.capped == 0) {
        u64 aside = lowest_aside();
        if (aside < key) key = aside;
    } else {
        u64 highest_capped = 0;
        for (u32 place = 0; place < side_count_; ++place) {
            const Entity& entity = *side_[place];
            if (!entity.capped) {
                if (entity.key < key) key = entity.key;
            } else if (entity.key > highest_capped) {
                highest_capped = entity.key;
            }
        }
        if (size() == state_.capped) key = highest_capped;
    }
    if (key <= floor_key_) return;
    if (inexact(key)) return raise_slowly();
    floor_key_ = key;
}

// With the dormant, and passes that no key shows.
void Queue::raise_slowly() {
    bool found = leaves_ != 0;
    U128 lowest = found ? top()->pass : U128::max();
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
}

void Queue::raise_to(U128 pass) {
    if (pass <= floor() && !broken(Rule::floor_only_rises)) return;
    u64 key = key_of(pass);
    if (inexact(key) || key < floor_key_) return rebase(pass);
    floor_key_ = key;
}

// Counts every key from the floor anew. Rare: at the lightest weight a hart runs for days between
// two.
void Queue::rebase(U128 floor) {
    base_ = floor.minus(U128{kBelow});
    floor_key_ = floor.minus(base_).low;
    each([&](Entity& entity) { entity.key = key_of(entity.pass); });
    for (u32 node = leaves_; node-- > 1;) {
        const Match& match = matches_[node];
        seat_of(node) = match.side[before(*match.side[1], *match.side[0])];
    }
}

bool Queue::consistent() const {
    u64 weight = 0;
    u32 spare = 0;
    u32 capped = 0;
    bool good = leaves_ != 0 || top() == nullptr;
    for (u32 node = 1; node < 2 * leaves_; ++node) {
        const Match& match = matches_[node / 2];
        Entity* const* seat = &match.side[node % 2];
        const Entity& entity = **seat;
        if (node < leaves_) {
            const Match& own = matches_[node];
            good = good && own.up == seat &&
                   &entity == own.side[ranks_before(*own.side[1], *own.side[0])];
            continue;
        }
        good = good && entity.place == Place::queued && entity.seat == seat &&
               !stands_aside(entity) && entity.waiting != 0 && entity.key == key_of(entity.pass);
        weight += entity.weight;
    }
    for (u32 place = 0; place < side_count_; ++place) {
        const Entity& entity = *side_[place];
        good = good && entity.place == Place::queued && entity.seat == &side_[place] &&
               stands_aside(entity) && entity.threads() != 0 && entity.key == key_of(entity.pass);
        weight += entity.weight;
        spare += entity.waiting != 0;
        if (entity.capped) capped |= u32{1} << place;
    }
    for (const Entity* entity = dormant_; entity != nullptr; entity = entity->next) {
        good = good && entity->place == Place::dormant && entity->threads() == 0;
    }
    if (!state_.caps) good = good && caps().mask == capped;
    return good && weight == weight_ && spare == state_.spare;
}

}  // namespace ravelin::stride
