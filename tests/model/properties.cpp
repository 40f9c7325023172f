// Properties of the unbroken model over random sequences (R12), by rapidcheck.
//
// They keep the reference honest by itself: what must hold after every step whatever the steps are.
// A failure prints the shrunk sequence; the same seed gives the same sequences.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "fair_shares.h"
#include "scheduler.h"

namespace ravelin::model {

namespace {

// One random step; `a`, `b` and `n` choose its budget, hart and size.
struct Op {
    int kind = 0;
    unsigned a = 0;
    unsigned b = 0;
    unsigned n = 0;
};

void showValue(const Op& op, std::ostream& os) {
    os << "{" << op.kind << "," << op.a << "," << op.b << "," << op.n << "}";
}

rc::Gen<Op> any_op() {
    return rc::gen::build<Op>(rc::gen::set(&Op::kind, rc::gen::inRange(0, 11)),
                              rc::gen::set(&Op::a, rc::gen::inRange(0U, 1000U)),
                              rc::gen::set(&Op::b, rc::gen::inRange(0U, 1000U)),
                              rc::gen::set(&Op::n, rc::gen::inRange(0U, 3000U)));
}

// A queue driven by ops. A step that cannot be made is skipped.
class Driver {
  public:
    explicit Driver(unsigned harts) : queue(harts) { ids = {queue.create_root(1'000'000)}; }

    // Returns whether passes may fall in this step.
    bool apply(const Op& op) {
        const BudgetId id = ids[op.a % ids.size()];
        const unsigned hart = op.b % queue.harts();
        switch (op.kind) {
        case 0: {
            const Weight free = queue.free_weight(id);
            if (ids.size() < 12 && free > 1) {
                ids.push_back(queue.create(id, 1 + op.n % (free - 1)));
            }
            return true;
        }
        case 1:
            if (queue.budget(id).parent) {
                for (const BudgetId dead : queue.destroy(id)) {
                    std::erase(ids, dead);
                }
            }
            return true;
        case 2:
        case 3:
            if (queue.free_weight(id) > 0 && queue.budget(id).threads() < 4) {
                queue.ready(id);
            }
            break;
        case 4:
            if (queue.budget(id).waiting > 0) {
                queue.unready(id);
            }
            break;
        case 5:
            if (queue.runner(hart) != id) {
                queue.bill(hart, id, op.n);
            }
            break;
        case 6:
            if (queue.runner(hart)) {
                queue.run(hart, op.n);
                queue.deschedule(hart, Leave::kBlocked);
            }
            break;
        case 7: {
            const Weight some = op.n % 50;
            if (queue.free_weight(id) > some) {
                queue.carve(id, some);
                queue.give_back(id, some);
            }
            return true;
        }
        default:
            if (queue.runner(hart)) {
                queue.run(hart, op.n);
                queue.deschedule(hart, op.kind == 8 ? Leave::kPreempted : Leave::kSliceEnd);
            }
            break;
        }
        return false;
    }

    // The end of the entry.
    void leave(unsigned hart) {
        queue.reconcile(hart);
        for (unsigned h = 0; h < queue.harts(); ++h) {
            if (!queue.runner(h)) {
                queue.pick(h);
            }
        }
    }

    Scheduler queue;
    std::vector<BudgetId> ids;
};

void check_counts(const Scheduler& queue) {
    std::map<BudgetId, std::uint32_t> running;
    for (unsigned hart = 0; hart < queue.harts(); ++hart) {
        if (const auto runner = queue.runner(hart)) {
            running[*runner] += 1;
            RC_ASSERT(queue.budget(*runner).queued);
        }
    }
    for (const auto& [id, b] : queue.budgets()) {
        RC_ASSERT(b.running == running[id]);
        RC_ASSERT(b.carved <= b.limit);
        std::uint64_t children = 0;
        for (const BudgetId child : b.children) {
            children += queue.budget(child).limit;
        }
        RC_ASSERT(children == b.carved);
        RC_ASSERT(!b.capped || b.queued);
    }
}

// With no thread waiting for a hart every budget is tested, and the cap set is what water-filling
// gives: the budgets whose weight's share of the level is more than their threads.
void check_cap_set(const Scheduler& queue) {
    std::vector<Claim> claims;
    std::vector<BudgetId> ids;
    double threads = 0;
    for (const auto& [id, b] : queue.budgets()) {
        if (b.queued && b.threads() > 0) {
            if (b.waiting > 0 && !b.capped) {
                return;
            }
            ids.push_back(id);
            claims.push_back(
                {static_cast<double>(queue.free_weight(id)), static_cast<double>(b.threads())});
            threads += b.threads();
        }
    }
    if (threads < queue.harts()) {
        RC_ASSERT(queue.cap_set() == std::set<BudgetId>(ids.begin(), ids.end()));
        return;
    }
    const std::vector<double> shares = fair_shares(queue.harts(), claims);
    double level = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        level = std::max(level, shares[i] / claims[i].weight);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const double wants = level * claims[i].weight;
        if (wants > claims[i].threads * 1.000001) {
            RC_ASSERT(queue.cap_set().contains(ids[i]));
        } else if (wants < claims[i].threads * 0.999999) {
            RC_ASSERT(!queue.cap_set().contains(ids[i]));
        }
    }
}

TEST(Properties, EveryStepKeepsTheInvariants) {
    EXPECT_TRUE(rc::check("every step keeps the invariants", [] {
        const unsigned harts = *rc::gen::inRange(1U, 5U);
        const auto ops = *rc::gen::scale(4.0, rc::gen::container<std::vector<Op>>(any_op()));
        Driver driver(harts);
        Scheduler& queue = driver.queue;
        for (const Op& op : ops) {
            const auto before = queue.budgets();
            const Pass floor = queue.floor();
            const bool may_fall = driver.apply(op);
            bool changed = false;
            for (const auto& [id, b] : queue.budgets()) {
                changed = changed || b.changed;
            }
            driver.queue.reconcile(op.b % harts);
            check_counts(queue);
            if (changed && harts > 1) {
                check_cap_set(queue);
            }
            RC_ASSERT(queue.floor() >= floor);
            std::uint32_t capped_threads = 0;
            for (const auto& [id, b] : queue.budgets()) {
                RC_ASSERT(b.queued == (b.threads() > 0));
                const auto old = before.find(id);
                if (old != before.end() && !may_fall) {
                    RC_ASSERT(b.pass >= old->second.pass);
                }
                if (harts == 1 && b.queued) {
                    RC_ASSERT(b.pass >= queue.floor());
                    RC_ASSERT(!b.capped);
                }
                capped_threads += b.capped ? b.threads() : 0;
            }
            if (changed) {
                RC_ASSERT(capped_threads <= harts - 1);
            }
            driver.leave(op.b % harts);
            check_counts(queue);
        }
    }));
}

TEST(Properties, ARunFoldedInPiecesCostsWhatTheWholeCosts) {
    EXPECT_TRUE(rc::check("a run folded in pieces costs what the whole costs", [] {
        const Weight weight =
            *rc::gen::element<Weight>(1, 2, 3, 100, 999'983, (1U << 20) + 7, 0xffff'ffff);
        const auto pieces = *rc::gen::container<std::vector<Ticks>>(rc::gen::map(
            rc::gen::inRange<std::uint64_t>(0, Ticks{1} << 32), [](std::uint64_t t) { return t; }));
        Scheduler whole(1);
        Scheduler split(1);
        const BudgetId a = whole.create_root(weight);
        const BudgetId b = split.create_root(weight);
        Ticks sum = 0;
        for (const Ticks piece : pieces) {
            split.bill(0, b, piece);
            sum += piece;
        }
        RC_PRE(sum <= kRuntimeCap);
        whole.bill(0, a, sum);
        RC_ASSERT(whole.budget(a).pass == split.budget(b).pass);
        RC_ASSERT(whole.budget(a).rem == split.budget(b).rem);
    }));
}

TEST(Properties, ACarveAndItsReturnAreTheIdentityAtOrAboveTheFloor) {
    EXPECT_TRUE(rc::check("a carve and its return are the identity", [] {
        const Weight limit = *rc::gen::inRange<Weight>(1, 100'000);
        const Weight amount = *rc::gen::inRange<Weight>(0, limit + 1);
        const Ticks ran = *rc::gen::inRange<Ticks>(0, 1'000'000);
        const Ticks floor_ran = *rc::gen::inRange<Ticks>(0, 1'000'000);
        Scheduler queue(1);
        const BudgetId root = queue.create_root(0xffff'ffff);
        const BudgetId other = queue.create(root, 1000);
        const BudgetId b = queue.create(root, limit);
        queue.ready(other);
        queue.reconcile(0);
        queue.bill(0, other, floor_ran);
        queue.bill(0, b, ran);
        const Budget before = queue.budget(b);
        const Pass floor = queue.floor();
        queue.carve(b, amount);
        RC_ASSERT(queue.budget(b).pass >= floor);
        queue.give_back(b, amount);
        const Budget& after = queue.budget(b);
        RC_ASSERT(queue.floor() == floor);
        RC_ASSERT(after.pass >= before.pass && after.pass >= floor);
        if (before.pass >= floor) {
            RC_ASSERT(after.pass == before.pass);
            RC_ASSERT(after.rem == before.rem);
        }
    }));
}

}  // namespace

}  // namespace ravelin::model
