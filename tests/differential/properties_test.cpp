// What must hold of the core's stride queue whatever it is made to do, each stated exactly (R12).
//
// Time is in ticks times kStride, a debt in that unit times a weight, and comparisons are made by
// cross-multiplying: no property allows for rounding but where it says so. The numbers that are
// drawn favour their ends: weights 1 and 2^32 - 1, runs at the cap, passes about 2^127.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "core/assert.h"
#include "wiring.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace differential {
namespace {

using stride::Entity;
using stride::kMinCharge;
using stride::kRuntimeCap;
using stride::kStride;
using Wide = unsigned __int128;
using Signed = __int128;

U128 narrow(Wide number) {
    return {static_cast<u64>(number >> 64), static_cast<u64>(number)};
}

// ---- what is drawn -----------------------------------------------------------------------------

rc::Gen<u32> any_weight() {
    return rc::gen::oneOf(rc::gen::element<u32>(1, 2, 3, 1'048'575, 1'048'576, 1'048'577,
                                                0x7fffffff, 0xfffffffe, 0xffffffff),
                          rc::gen::inRange<u32>(1, 2000), rc::gen::inRange<u32>(1, 0xffffffff));
}

rc::Gen<u64> any_ticks() {
    return rc::gen::oneOf(rc::gen::inRange<u64>(0, 4), rc::gen::inRange<u64>(0, 20'000),
                          rc::gen::inRange<u64>(0, kRuntimeCap + 1),
                          rc::gen::element<u64>(kRuntimeCap - 1, kRuntimeCap));
}

// Where a queue's passes stand.
Wide any_base() {
    const u32 where = *rc::gen::inRange<u32>(0, 3);
    const Wide offset = *rc::gen::inRange<u64>(0, u64{1} << 50);
    if (where == 0) return offset;
    const Wide middle = Wide{1} << 127;
    return where == 1 ? middle - offset : middle + offset;
}

// ---- pieces ------------------------------------------------------------------------------------

TEST(Property, ARunInPiecesCostsWhatTheWholeCosts) {
    EXPECT_TRUE(rc::check("folds in pieces and in one", [] {
        const u32 weight = *any_weight();
        Entity whole;
        whole.weight = weight;
        whole.pass = narrow(any_base());
        whole.remainder = *rc::gen::inRange<u64>(0, weight);
        Entity split = whole;
        u64 total = 0;
        for (const u64 drawn : *rc::gen::container<std::vector<u64>>(any_ticks())) {
            const u64 piece = std::min(drawn, kRuntimeCap - total);
            stride::fold(split, Ticks{piece});
            total += piece;
        }
        stride::fold(whole, Ticks{total});
        RC_ASSERT(split.pass == whole.pass);
        RC_ASSERT(split.remainder == whole.remainder);
    }));
}

TEST(Property, ADescheduleAddsTheLeastChargeAndNothingElse) {
    EXPECT_TRUE(rc::check("a run in several slices and in one fold", [] {
        const u32 weight = *any_weight();
        Wiring wiring(1);
        Wiring::Budget& budget = wiring.create_root(1, weight, narrow(any_base()));
        wiring.ready(budget);
        wiring.reconcile();
        wiring.pick(0);
        Entity whole = budget.entity;
        const auto runs = *rc::gen::container<std::vector<u64>>(rc::gen::inRange<u64>(0, 1000));
        for (const u64 run : runs) {
            wiring.run(0, Ticks{run});
            if (*rc::gen::arbitrary<bool>()) {
                wiring.turn(0);
            } else {
                wiring.deschedule(0, true);
                wiring.reconcile();
                wiring.pick(0);
            }
            stride::fold(whole, Ticks{std::max(run, kMinCharge)});
        }
        RC_ASSERT(budget.entity.pass == whole.pass);
        RC_ASSERT(budget.entity.remainder == whole.remainder);
    }));
}

// ---- carve and return --------------------------------------------------------------------------

struct Carver {
    Wiring wiring{1};
    Wiring::Budget* holder;  // holds the floor
    Wiring::Budget* carver;  // sleeps: what it owes moves by weight changes alone

    Carver() {
        const Wide floor = any_base();
        holder = &wiring.create_root(1, 1'000'000, narrow(floor));
        carver = &wiring.create_root(2, *any_weight(), U128{});
        wiring.ready(*holder);
        wiring.reconcile();
        wiring.pick(0);
        Entity& entity = carver->entity;
        const Wide distance = *rc::gen::inRange<u64>(0, u64{1} << 60);
        const bool below = *rc::gen::inRange(0, 4) == 0;
        entity.pass = narrow(below ? floor - std::min(floor, distance) : floor + distance);
        entity.remainder = *rc::gen::inRange<u64>(0, entity.weight);
    }
    u32 some_weight() const {
        const u64 limit = carver->limit;
        return *rc::gen::oneOf(rc::gen::map(rc::gen::inRange<u64>(0, limit + 1),
                                            [](u64 amount) { return static_cast<u32>(amount); }),
                               rc::gen::element(0U, 1U, carver->limit, carver->limit - 1));
    }
};

TEST(Property, ACarveAndItsReturnAreTheIdentityWhileTheFloorStands) {
    EXPECT_TRUE(rc::check("carve, return", [] {
        Carver scene;
        const Entity before = scene.carver->entity;
        const u32 amount = scene.some_weight();
        scene.wiring.carve(*scene.carver, amount);
        scene.wiring.give_back(*scene.carver, amount);
        const Entity& after = scene.carver->entity;
        if (before.pass >= scene.wiring.queue().floor() || amount == 0) {
            RC_ASSERT(after.pass == before.pass);
            RC_ASSERT(after.remainder == before.remainder);
        } else {
            RC_ASSERT(after.pass == scene.wiring.queue().floor());
            RC_ASSERT(after.remainder == before.remainder);
        }
    }));
}

TEST(Property, ACarveAndItsReturnNeverEndLowerWhateverTheFloorDoes) {
    EXPECT_TRUE(rc::check("carve, the floor rises, return", [] {
        Carver scene;
        const U128 before = scene.carver->entity.pass;
        const u32 amount = scene.some_weight();
        scene.wiring.carve(*scene.carver, amount);
        scene.wiring.run(0, Ticks{*any_ticks()});
        scene.wiring.turn(0);
        scene.wiring.give_back(*scene.carver, amount);
        const U128 after = scene.carver->entity.pass;
        RC_ASSERT(after >= before);
        RC_ASSERT(amount == 0 || after >= scene.wiring.queue().floor());
    }));
}

// ---- creation and destruction ------------------------------------------------------------------

// A busy tree: budgets with threads, passes apart, some running.
struct Tree {
    Wiring wiring;
    u64 last_id = 0;

    Tree() : wiring(*rc::gen::inRange<u32>(1, 5)) {
        // Its thread brings the floor to the base: no lead is so long that its product saturates.
        wiring.ready(wiring.create_root(++last_id, 1'000'000, narrow(any_base())));
        wiring.reconcile();
        const u32 budgets = *rc::gen::inRange<u32>(1, 9);
        for (u32 count = 0; count < budgets; ++count) {
            Wiring::Budget& parent = any();
            const u32 most = parent.free_weight() / 2;  // a parent with a thread keeps some
            wiring.create(++last_id, parent, most == 0 ? 0 : *rc::gen::inRange<u32>(0, most));
        }
        const u32 entries = *rc::gen::inRange<u32>(0, 40);
        for (u32 count = 0; count < entries; ++count)
            entry();
    }

    Wiring::Budget& any() { return wiring.budget(*rc::gen::inRange<u64>(1, last_id + 1)); }

    void entry() {
        const auto hart = *rc::gen::inRange<u32>(0, static_cast<u32>(wiring.harts().size()));
        Wiring::Budget& budget = any();
        if (budget.free_weight() != 0 && budget.entity.threads() < 3) wiring.ready(budget);
        if (wiring.harts()[hart].runner != nullptr) {
            wiring.run(hart, Ticks{*rc::gen::inRange<u64>(0, 12'000)});
            wiring.deschedule(hart, *rc::gen::inRange(0, 3) != 0);
        }
        wiring.reconcile();
        if (wiring.harts()[hart].runner == nullptr) wiring.pick(hart);
    }

    // What no hart has folded yet counts at the next weight change: folded now, it moves nothing.
    void settle() {
        for (u32 hart = 0; hart < wiring.harts().size(); ++hart) {
            if (wiring.harts()[hart].runner == nullptr) continue;
            wiring.deschedule(hart, true);
        }
        wiring.reconcile();
    }
};

TEST(Property, AChildThatNeverRanMovesNothing) {
    EXPECT_TRUE(rc::check("create, destroy", [] {
        Tree tree;
        tree.settle();
        Wiring::Budget& parent = tree.any();
        const Entity before = parent.entity;
        const U128 floor = tree.wiring.queue().floor();
        const u32 spare = parent.free_weight() - (before.threads() != 0 ? 1 : 0);
        const u32 limit = *rc::gen::inRange<u32>(0, spare + 1);
        Wiring::Budget& child = tree.wiring.create(tree.last_id + 1, parent, limit);
        RC_ASSERT(child.entity.entry == std::max(before.pass, floor));
        tree.wiring.destroy(child);
        const Entity& after = parent.entity;
        RC_ASSERT(tree.wiring.queue().floor() == floor);
        RC_ASSERT(after.weight == before.weight);
        RC_ASSERT(after.queued() == before.queued());
        if (before.pass >= floor || before.weight == 0) {
            RC_ASSERT(after.pass == before.pass || before.weight == 0);
            RC_ASSERT(after.remainder == before.remainder);
        } else {
            // The carve states it from the floor, remainder and all; without one the lift drops it.
            RC_ASSERT(after.pass == floor);
            RC_ASSERT(after.remainder == (limit == 0 ? 0 : before.remainder));
        }
    }));
}

// ---- turns at an equal pass --------------------------------------------------------------------

// Requeued since its last wake, with how often it was picked since; per budget that waits beside
// it, the picks it had when that one began to wait.
class Turns {
  public:
    explicit Turns(Wiring& wiring) : wiring_(wiring) {}

    // A budget began to wait at this point: requeued, or woken.
    void waits(const Wiring::Budget& budget) { since_[budget.entity.id] = ++now_; }

    void picks(const Wiring::Budget& picked) {
        const Entity& entity = picked.entity;
        const u64 id = entity.id;
        const bool again = picked_at_.contains(id) && picked_at_[id] > woken_at_[id];
        for (const auto& [other_id, other] : wiring_.budgets()) {
            if (other_id == id || other->entity.waiting == 0 || !other->entity.queued()) continue;
            if (other->entity.pass != entity.pass || !again) continue;
            RC_ASSERT(since_[other_id] > picked_at_[id]);
        }
        picked_at_[id] = ++now_;
    }
    void wakes(const Wiring::Budget& budget) {
        woken_at_[budget.entity.id] = ++now_;
        waits(budget);
    }

  private:
    Wiring& wiring_;
    u64 now_ = 0;
    std::map<u64, u64> since_;
    std::map<u64, u64> picked_at_;
    std::map<u64, u64> woken_at_;
};

TEST(Property, NoRequeuedBudgetIsPickedTwiceWhileAnotherWaitsAtItsPass) {
    EXPECT_TRUE(rc::check("picks among equals", [] {
        const u32 harts = *rc::gen::inRange<u32>(1, 5);
        Wiring wiring(harts);
        Turns turns(wiring);
        const u32 budgets = *rc::gen::inRange<u32>(2, 7);
        const U128 base = narrow(any_base());
        // Weights far above kStride as well: there a tick leaves the pass where it was.
        const u32 weight = *rc::gen::element<u32>(1, kStride, 16 * kStride, 0xffffffff);
        for (u64 id = 1; id <= budgets; ++id)
            wiring.create_root(id, weight, base);
        const u32 entries = *rc::gen::inRange<u32>(10, 120);
        for (u32 count = 0; count < entries; ++count) {
            const u32 hart = *rc::gen::inRange<u32>(0, harts);
            Wiring::Budget& some = wiring.budget(*rc::gen::inRange<u64>(1, budgets + 1));
            if (some.entity.threads() == 0) wiring.ready(some);
            const Wiring::Budget* runner = wiring.harts()[hart].runner;
            if (runner != nullptr) {
                wiring.run(hart, Ticks{*rc::gen::inRange<u64>(0, 3)});
                wiring.deschedule(hart, *rc::gen::inRange(0, 4) != 0);
                if (runner->entity.queued()) turns.waits(*runner);
            }
            const bool wakes = !some.entity.queued() && some.entity.threads() != 0;
            wiring.reconcile();
            if (wakes) turns.wakes(some);
            if (wiring.harts()[hart].runner != nullptr) continue;
            const Wiring::Budget* picked = wiring.pick(hart);
            if (picked != nullptr) turns.picks(*picked);
        }
    }));
}

// A budget heavier than kStride that blocks and wakes at an unchanged pass is ahead of its equals
// again. What it gains by that is less than weight / kStride ticks in all, 4,096 at the heaviest:
// the remainder it keeps across the sleep reaches its weight by then and moves the pass.
TEST(Property, WakingAtAnUnchangedPassGainsLessThanItsWeightInStrides) {
    EXPECT_TRUE(rc::check("runs of a few ticks and wakes", [] {
        const u32 weight = *rc::gen::inRange<u32>(1, 0xffffffff);
        Wiring wiring(1);
        const U128 base = narrow(any_base());
        Wiring::Budget& victim = wiring.create_root(1, *any_weight(), base);
        Wiring::Budget& sleeper = wiring.create_root(2, weight, base);
        wiring.ready(victim);
        wiring.reconcile();
        u64 gained = 0;
        const u64 longest = *rc::gen::inRange<u64>(1, 600);
        for (;;) {
            wiring.ready(sleeper);
            wiring.reconcile();
            const Wiring::Budget* first = wiring.pick(0);
            if (first != &sleeper) break;
            const u64 ran = *rc::gen::inRange<u64>(1, longest + 1);
            wiring.run(0, Ticks{ran});
            wiring.deschedule(0, false);
            if (sleeper.entity.pass != base) break;
            gained += ran;
            RC_ASSERT(gained * kStride < weight);
        }
        RC_ASSERT(victim.entity.pass == base);
    }));
}

// ---- service -----------------------------------------------------------------------------------

struct Served {
    Wide ticks = 0;   // by runs
    Wide billed = 0;  // while it waited: time no pick gave it
    Wide start = 0;   // its pass
};

// For any two budgets that stay runnable at one hart, no weight changing, neither lifted:
//   | served_i / w_i - served_j / w_j |  <=  | pass_i - pass_j | at the start
//                + billed_i / w_i + billed_j / w_j + (one run) x (1 / w_i + 1 / w_j)
// in units of kStride per tick, one run being the longest slice with what was billed in it. One
// pass unit is allowed for: the order compares whole passes.
void check_service(const Entity& i, const Served& a, const Entity& j, const Served& b,
                   Wide one_run) {
    const Signed w = i.weight;
    const Signed v = j.weight;
    const Signed stride = kStride;
    const Signed difference =
        static_cast<Signed>(a.ticks) * stride * v - static_cast<Signed>(b.ticks) * stride * w;
    const Wide apart = a.start > b.start ? a.start - b.start : b.start - a.start;
    const Signed bound = (static_cast<Signed>(apart) + 1) * w * v +
                         stride * (static_cast<Signed>(a.billed + one_run) * v +
                                   static_cast<Signed>(b.billed + one_run) * w);
    RC_ASSERT((difference < 0 ? -difference : difference) <= bound);
}

TEST(Property, NoTwoRunnableBudgetsAreFurtherApartThanARunEach) {
    EXPECT_TRUE(rc::check("pairwise service error at one hart", [] {
        Wiring wiring(1);
        const u32 budgets = *rc::gen::inRange<u32>(2, 6);
        const Wide base = any_base();
        std::map<u64, Served> served;
        for (u64 id = 1; id <= budgets; ++id) {
            const u32 weight = *rc::gen::oneOf(rc::gen::inRange<u32>(1, 20), any_weight());
            const Wide pass = base + *rc::gen::inRange<u64>(0, u64{1} << 24);
            Wiring::Budget& budget = wiring.create_root(id, weight, narrow(pass));
            served[id].start = pass;
            wiring.ready(budget);
        }
        wiring.reconcile();
        wiring.pick(0);
        const u64 slice = *rc::gen::inRange<u64>(1, 12'000);
        const u64 longest_bill = *rc::gen::inRange<u64>(0, 2'000);
        Wide one_run = 0;
        const u32 slices = *rc::gen::inRange<u32>(1, 150);
        for (u32 count = 0; count < slices; ++count) {
            const u64 runner = wiring.harts()[0].runner->entity.id;
            u64 ran = *rc::gen::inRange<u64>(1, slice + 1);
            wiring.run(0, Ticks{ran});
            if (*rc::gen::inRange(0, 3) == 0) {
                const u64 bill = *rc::gen::inRange<u64>(0, longest_bill + 1);
                const u64 payer = *rc::gen::inRange<u64>(1, budgets + 1);
                wiring.bill(0, wiring.budget(payer), Ticks{bill});
                if (payer == runner) {
                    ran += bill;
                } else {
                    served[payer].billed += bill;
                }
            }
            served[runner].ticks += ran;
            one_run = std::max<Wide>(one_run, ran);
            wiring.turn(0);
            for (u64 i = 1; i <= budgets; ++i) {
                for (u64 j = i + 1; j <= budgets; ++j) {
                    check_service(wiring.budget(i).entity, served[i], wiring.budget(j).entity,
                                  served[j], one_run);
                }
            }
        }
    }));
}

}  // namespace
}  // namespace differential

}  // namespace ravelin
