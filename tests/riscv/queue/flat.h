// The plain alternative to the stride queue, to compare costs with: ranks in one flat array, searched
// whole for each pick and each floor. The same rules and the same record (core/stride/entity.h); the
// cap set is judged when the queue judges it. Bound: O(n) for each operation.
#pragma once

#include "core/stride/entity.h"

namespace ravelin::flat {

using stride::Entity;

class Queue {
  public:
    void set_harts(u32 harts) { harts_ = harts; }

    void wake(Entity& entity) {
        if (entity.pass < floor_) entity.pass = floor_;
        entity.tie = --front_;
        entity.place = stride::Place::queued;
        weight_ += entity.weight;
        caps_known_ = caps_known_ && capped_ == 0;
        ranks_[count_++] = {entity.pass, entity.tie, &entity};
        raise();
    }

    /// A hart that runs nothing picks.
    Entity* pick() { return next(nullptr); }

    /// The thread of a charged budget stops; then raise, pick and run.
    Entity* stop(Entity& entity, bool stays_ready) {
        entity.running -= 1;
        entity.waiting += stays_ready;
        if (entity.threads() == 0) {
            leave(entity);
        } else {
            entity.tie = ++back_;
        }
        return next(stays_ready ? &entity : nullptr);
    }

    void fold(Entity& entity, Ticks ticks) { stride::fold(entity, ticks); }

  private:
    struct Rank {
        U128 pass;
        i64 tie = 0;
        Entity* entity = nullptr;
    };

    static bool before(const Rank& a, const Rank& b) {
        if (a.pass != b.pass) return a.pass < b.pass;
        return a.tie < b.tie;
    }

    void leave(Entity& entity) {
        entity.place = stride::Place::out;
        entity.capped = false;
        weight_ -= entity.weight;
        caps_known_ = false;
        for (u32 i = 0; i < count_; ++i) {
            if (ranks_[i].entity != &entity) continue;
            ranks_[i] = ranks_[--count_];
            return;
        }
    }

    void raise_to(U128 pass) {
        if (pass > floor_) floor_ = pass;
        if (!fresh_) return;
        fresh_ = false;
        for (u32 i = 0; i < count_; ++i) {
            Entity& entity = *ranks_[i].entity;
            if (entity.capped && entity.lag == U128::max()) entity.lag = floor_.minus(entity.pass);
        }
    }

    // One walk: the requeued budget's rank, the floor and the best that waits.
    Entity* next(Entity* requeued) {
        judge();
        const Rank* best = nullptr;
        const Rank* lowest = nullptr;
        U128 highest;
        for (u32 i = 0; i < count_; ++i) {
            Rank& rank = ranks_[i];
            Entity& entity = *rank.entity;
            if (&entity == requeued) {
                rank.pass = entity.pass;
                rank.tie = entity.tie;
            }
            if (entity.waiting != 0 && (best == nullptr || before(rank, *best))) best = &rank;
            if (capped_ != 0 && entity.capped) {
                if (rank.pass > highest) highest = rank.pass;
            } else if (lowest == nullptr || rank.pass < lowest->pass) {
                lowest = &rank;
            }
        }
        raise_to(lowest == nullptr ? highest : lowest->pass);
        if (best == nullptr) return nullptr;
        Entity& winner = *best->entity;
        winner.waiting -= 1;
        winner.running += 1;
        u64 due = winner.weight * u64{harts_ - capped_harts_};
        if (harts_ > 1 && winner.waiting == 0 &&
            due > winner.threads() * (weight_ - capped_weight_))
            caps_known_ = false;
        return &winner;
    }

    void raise() {
        judge();
        const Rank* lowest = nullptr;
        U128 highest;
        for (u32 i = 0; i < count_; ++i) {
            const Rank& rank = ranks_[i];
            if (capped_ != 0 && rank.entity->capped) {
                if (rank.pass > highest) highest = rank.pass;
            } else if (lowest == nullptr || rank.pass < lowest->pass) {
                lowest = &rank;
            }
        }
        raise_to(lowest == nullptr ? highest : lowest->pass);
    }

    void judge() {
        if (harts_ == 1 || caps_known_) return;
        caps_known_ = true;
        u64 harts = harts_;
        u64 weight = weight_;
        for (u32 i = 0; i < count_; ++i)
            ranks_[i].entity->next = nullptr;
        capped_ = 0;
        while (capped_ + 1 < harts_) {
            Entity* heaviest = nullptr;
            for (u32 i = 0; i < count_; ++i) {
                Entity* entity = ranks_[i].entity;
                if (entity->next != nullptr || !entity->tested()) continue;
                if (heaviest == nullptr || u64{entity->weight} * heaviest->threads() >
                                               u64{heaviest->weight} * entity->threads())
                    heaviest = entity;
            }
            if (heaviest == nullptr || heaviest->weight * harts <= heaviest->threads() * weight)
                break;
            heaviest->next = heaviest;
            harts -= heaviest->threads();
            weight -= heaviest->weight;
            capped_ += 1;
        }
        capped_harts_ = harts_ - static_cast<u32>(harts);
        capped_weight_ = weight_ - weight;
        for (u32 i = 0; i < count_; ++i) {
            Entity& entity = *ranks_[i].entity;
            bool now = entity.next != nullptr;
            if (now && !entity.capped) {
                entity.lag = U128::max();
                fresh_ = true;
            } else if (!now && entity.capped) {
                U128 target = floor_.minus(entity.lag);
                if (entity.pass < target) entity.pass = target;
                ranks_[i].pass = entity.pass;
            }
            entity.capped = now;
        }
    }

    U128 floor_;
    u64 weight_ = 0;
    i64 front_ = 0;
    i64 back_ = 0;
    u32 harts_ = 1;
    u32 count_ = 0;
    u32 capped_ = 0;
    u32 capped_harts_ = 0;
    u64 capped_weight_ = 0;
    bool caps_known_ = false;
    bool fresh_ = false;  ///< somebody was capped whose lag is not known yet
    Rank ranks_[512];
};

}  // namespace ravelin::flat
