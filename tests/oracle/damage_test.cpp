// Every check of the oracle bites: a sound trace with one damage is rejected, by the check the damage is
// for, with records that lie at the damage.
//
// Each damage changes records as a kernel with that fault would, and no more, as far as one record can.
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/oracle/support.h"

namespace ravelin {
namespace {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;
using abi::TraceRecord;
using test::is;
using test::Records;

/// Spinners, sleepers, churn and deadlines: some of everything.
sim::Plan busy(std::uint32_t harts, unsigned rounds = 12) {
    sim::Plan plan = sim::spinners(harts, {100, 1000}, 2);
    plan.script.push_back(sim::Create{.name = "sleeper", .parent = "users", .weight = 300});
    plan.script.push_back(
        sim::Spawn{.budget = "sleeper", .behaviour = {.burst = 300, .nap = 4'000}, .threads = 2});
    for (unsigned i = 0; i < rounds; ++i) {
        plan.script.push_back(sim::Create{.name = "outer", .parent = "spinner 2", .weight = 600});
        plan.script.push_back(sim::Create{.name = "inner", .parent = "outer", .weight = 200});
        plan.script.push_back(
            sim::Spawn{.budget = "inner", .behaviour = {.burst = 4'000, .nap = 500}, .threads = 2});
        plan.script.push_back(sim::Create{
            .name = "due", .parent = "spinner 2", .weight = 10, .deadline = 9'000 + 700 * i});
        plan.script.push_back(sim::Spawn{.budget = "due", .behaviour = {}});
        plan.script.push_back(sim::Sleep{.ticks = 25'000});
        plan.script.push_back(sim::Destroy{.name = "outer"});
        plan.script.push_back(sim::Sleep{.ticks = 3'000});
    }
    return plan;
}

std::set<std::string>& covered_checks() {
    static std::set<std::string> checks;
    return checks;
}

class Damage : public testing::Test {
  protected:
    void use(const sim::Plan& plan) {
        plan_ = plan;
        records_ = sim::run(plan);
        const oracle::Trace trace = test::parsed(records_, plan_);
        const oracle::Replay replay = oracle::replay(trace, kOptions);
        ASSERT_EQ(replay.rejected, 0U) << test::findings_of(replay, trace);
    }

    /// The n-th record from a third of the trace on that satisfies a condition.
    std::size_t find(const std::function<bool(std::size_t)>& condition, std::size_t nth = 0) {
        for (std::size_t at = search_from_.value_or(records_.size() / 3); at < records_.size();
             ++at) {
            if (condition(at) && nth-- == 0) {
                return at;
            }
        }
        throw std::runtime_error("the trace has no such record");
    }

    std::size_t find(TraceKind kind, std::size_t nth = 0) {
        return find([&](std::size_t at) { return is(records_[at], kind); }, nth);
    }

    /// The first record of that kind behind `from`, within its entry.
    std::size_t in_entry(std::size_t from, TraceKind kind) {
        for (std::size_t at = from;
             at < records_.size() && records_[at].entry == records_[from].entry; ++at) {
            if (is(records_[at], kind)) {
                return at;
            }
        }
        return records_.size();
    }

    std::size_t start_of_entry(std::size_t at) {
        while (!is(records_[at], TraceKind::enter)) {
            --at;
        }
        return at;
    }

    /// Is the record in an entry that left so?
    bool left(std::size_t at, TraceLeave how) {
        const std::size_t leave = in_entry(at, TraceKind::leave);
        return leave < records_.size() && records_[leave].what == static_cast<std::uint16_t>(how);
    }

    TraceRecord& at(std::size_t place) { return records_[place]; }

    void erase(std::size_t place) {
        records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(place));
        --records_.back().y;
    }

    void insert(std::size_t place, TraceRecord record) {
        record.entry = records_[place].entry;
        record.hart = records_[place].hart;
        records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(place), record);
        ++records_.back().y;
    }

    void move(std::size_t from, std::size_t to) {
        const TraceRecord record = records_[from];
        erase(from);
        insert(to, record);
    }

    /// The trace as it is now is rejected first by `check`, at a record no further than `slack` behind
    /// `place` (a fault shows where its consequence is checked).
    void expect(const char* check, std::size_t place, std::size_t slack = 40) {
        const oracle::Trace trace = test::parsed(records_, plan_);
        const oracle::Replay replay = oracle::replay(trace, kOptions);
        ASSERT_NE(replay.rejected, 0U) << "the damage is not noticed";
        const oracle::Finding& first = replay.findings[0];
        covered_checks().insert(check);
        EXPECT_EQ(first.check, check) << test::findings_of(replay, trace);
        ASSERT_FALSE(first.records.empty());
        EXPECT_GE(first.records.back() + 2, place) << test::findings_of(replay, trace);
        EXPECT_LE(first.records.back(), place + slack) << test::findings_of(replay, trace);
    }

    /// As `expect`, where one record cannot be damaged without others that speak first.
    void expect_among(const std::string& check, std::size_t place, std::size_t slack = 40) {
        covered_checks().insert(check);
        const oracle::Trace trace = test::parsed(records_, plan_);
        const oracle::Replay replay = oracle::replay(trace, kOptions);
        EXPECT_TRUE(std::any_of(replay.findings.begin(), replay.findings.end(),
                                [&](const oracle::Finding& finding) {
                                    return finding.check == check &&
                                           finding.records.back() + 2 >= place &&
                                           finding.records.back() <= place + slack;
                                }))
            << test::findings_of(replay, trace);
    }

    /// The last record before `place` that shows that budget's pass.
    std::size_t pass_of(std::uint64_t id, std::size_t place) {
        do {
            --place;
        } while (at(place).id != id ||
                 !(is(at(place), TraceKind::pass) || is(at(place), TraceKind::wake) ||
                   is(at(place), TraceKind::lifted) || is(at(place), TraceKind::reweighed) ||
                   is(at(place), TraceKind::uncap) || is(at(place), TraceKind::entry_pass)));
        return place;
    }

    /// A kernel that picks `id` instead: its pass is the one it has.
    void pick_instead(std::size_t pick, std::uint64_t id) {
        const std::size_t shown = pass_of(id, pick);
        at(pick).id = id;
        at(pick).x = at(shown).x;
        at(pick).y = at(shown).y;
    }

    static inline const oracle::Options kOptions{.late_ticks = 100};
    sim::Plan plan_;
    Records records_;
    std::optional<std::size_t> search_from_;  ///< unless a third into the trace
};

// --- structure ---

TEST_F(Damage, AnEntryIsLeftOut) {
    use(busy(1));
    const std::size_t enter = find(TraceKind::enter);
    const std::uint32_t gone = records_[enter].entry;
    std::erase_if(records_, [&](const TraceRecord& r) { return r.entry == gone; });
    expect("structure", enter);
}

TEST_F(Damage, ALeaveIsMissing) {
    use(busy(1));
    const std::size_t leave = find(TraceKind::leave);
    erase(leave);
    expect("structure", leave);
}

TEST_F(Damage, ARecordOfAnotherHartStandsWithin) {
    use(busy(2));
    // User time may be charged by another hart.
    const std::size_t charge = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what != static_cast<unsigned>(TraceCharge::user);
    });
    at(charge).hart ^= 1;
    expect("structure", charge);
}

TEST_F(Damage, TheEndCountsWrong) {
    use(busy(1));
    ++records_.back().y;
    expect("structure", records_.size() - 1);
}

TEST_F(Damage, AKindThatIsNone) {
    use(busy(1));
    const std::size_t arm = find(TraceKind::arm);
    at(arm).kind = 200;
    expect("structure", arm);
}

TEST_F(Damage, AGroupIsCutShort) {
    use(busy(1));
    const std::size_t rem = find(TraceKind::rem);
    erase(rem);
    expect("structure", rem);
}

TEST_F(Damage, AnUnknownBudget) {
    use(busy(1));
    const std::size_t requeue = find(TraceKind::requeue);
    at(requeue).id = 9999;
    expect("structure", requeue);
}

// --- time ---

TEST_F(Damage, AHartsTimeGoesBack) {
    use(busy(1));
    const std::size_t enter = find(TraceKind::enter);
    at(enter).x -= 20'000;
    expect("time", enter);
}

TEST_F(Damage, SectionsOverlap) {
    use(busy(2));
    const std::size_t wait = find(TraceKind::lock_wait);
    const std::size_t enter = start_of_entry(wait);
    --at(enter).y;
    expect("time", enter);
}

TEST_F(Damage, ADestructionEndsBeforeItBegins) {
    use(busy(1));
    const std::size_t end = find(TraceKind::destroy_end);
    at(end).x -= 10'000;
    expect("time", end);
}

// --- conservation ---

TEST_F(Damage, OneTickIsNotCharged) {
    use(busy(2));
    const std::size_t charge = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) && at(i).id == 0 && at(i).x > 1;
    });
    --at(charge).x;
    expect("conservation", charge);
}

TEST_F(Damage, UserTimeIsChargedAsKernelTime) {
    use(busy(1));
    const std::size_t user = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::user) && at(i).x > 10 &&
               left(i, TraceLeave::resumed);
    });
    at(user).x -= 5;
    const std::size_t other =
        find([&](std::size_t i) { return i > user && is(at(i), TraceKind::charge); });
    at(other).x += 5;
    // The pending ticks change with it, unless both charges go to one budget.
    if (at(other).id != at(user).id) {
        at(other).id = at(user).id;
        at(other).y = at(user).y;
        at(other).what = static_cast<std::uint16_t>(TraceCharge::call);
    }
    expect_among("conservation", user);
}

// --- charge ---

TEST_F(Damage, TheWrongBudgetPaysForUserTime) {
    use(busy(1));
    const std::size_t user = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::user);
    });
    at(user).id = 0;
    at(user).y = 0;
    expect("charge", user);
}

// Under a name with no rule any budget could be made to pay for anything.
TEST_F(Damage, TimeIsChargedAsZeroing) {
    for (const TraceCharge was : {TraceCharge::user, TraceCharge::timer}) {
        use(busy(1));
        const std::size_t charge = find([&](std::size_t i) {
            return is(at(i), TraceKind::charge) && at(i).what == static_cast<unsigned>(was) &&
                   at(i).id != 0 && at(i).x > 1;
        });
        at(charge).what = static_cast<std::uint16_t>(TraceCharge::zeroing);
        expect_among("charge", charge);
    }
}

TEST_F(Damage, ThePickIsBilledToTheBudgetBefore) {
    use(busy(1));
    const std::size_t pick = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::pick) &&
               at(start_of_entry(i)).id != 0 && at(start_of_entry(i)).id != at(i).id;
    });
    at(pick).id = at(start_of_entry(pick)).id;
    expect("charge", pick);
}

TEST_F(Damage, AChargeAtAnotherWeight) {
    use(busy(1));
    const std::size_t charge =
        find([&](std::size_t i) { return is(at(i), TraceKind::charge) && at(i).id != 0; });
    ++at(charge).y;
    expect("charge", charge);
}

TEST_F(Damage, AnExpiryIsBilledToTheInterrupted) {
    use(busy(1));
    const std::size_t expiry = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::expiry) &&
               at(start_of_entry(i)).id != 0 && at(start_of_entry(i)).id != at(i).id;
    });
    at(expiry).id = at(start_of_entry(expiry)).id;
    expect("charge", expiry);
}

TEST_F(Damage, ADeadlineIsAStrangersToPay) {
    use(busy(1));
    const std::size_t deadline = find([&](std::size_t i) {
        return is(at(i), TraceKind::expire) &&
               at(i).what == static_cast<unsigned>(TraceExpiry::deadline);
    });
    at(deadline).id = at(deadline).id == 4 ? 5 : 4;
    expect("charge", deadline);
}

TEST_F(Damage, AnotherHartsUserTimeGoesToAStranger) {
    use(busy(4));
    const std::size_t abroad = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) && at(i).hart != at(start_of_entry(i)).hart;
    });
    at(abroad).id = 5;  // a spinner that did not run there
    expect("charge", abroad);
}

TEST_F(Damage, AnotherHartsUserTimeIsChargedTwice) {
    use(busy(4));
    const std::size_t abroad = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) && at(i).hart != at(start_of_entry(i)).hart;
    });
    at(abroad).x += 10'000;
    expect_among("conservation", abroad);
}

// --- timer ---

TEST_F(Damage, ATimersTailIsBilledToTheInterrupted) {
    use(busy(1));
    const std::size_t rest = find([&](std::size_t i) {
        const TraceRecord& enter = at(start_of_entry(i));
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::timer) && enter.id != 0 &&
               enter.id != at(i).id && left(i, TraceLeave::resumed);
    });
    const std::uint64_t victim = at(start_of_entry(rest)).id;
    const std::size_t pass = rest + 1;
    ASSERT_TRUE(is(at(pass), TraceKind::pass));
    at(rest).id = victim;
    expect_among("timer", rest);
}

TEST_F(Damage, ATimersTailIsNobodys) {
    use(busy(1));
    const std::size_t rest = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) &&
               at(i).what == static_cast<unsigned>(TraceCharge::timer) &&
               at(i).id == at(start_of_entry(i)).id && left(i, TraceLeave::slice_end);
    });
    at(rest).id = 0;
    at(rest).y = 0;
    at(rest).what = static_cast<std::uint16_t>(TraceCharge::nothing);
    expect_among("timer", rest);
}

TEST_F(Damage, ATimeoutEndsEarly) {
    use(busy(1));
    const std::size_t expire = find(TraceKind::expire);
    at(expire).y = at(expire).x - 1;
    expect("timer", expire);
}

// --- interrupt ---

/// As busy, with a device whose interrupts come on every hart.
sim::Plan with_device(std::uint32_t harts) {
    sim::Plan plan = busy(harts);
    plan.device_every = 6'100;
    return plan;
}

TEST_F(Damage, AnInterruptIsBilledToTheInterrupted) {
    use(with_device(1));
    const std::size_t bill = find([&](std::size_t i) {
        return is(at(i), TraceKind::charge) && at(i).id != 0 &&
               at(i).what == static_cast<unsigned>(TraceCharge::interrupt) &&
               left(i, TraceLeave::resumed);
    });
    at(bill).id = at(start_of_entry(bill)).id;
    expect_among("interrupt", bill);
}

TEST_F(Damage, AnInterruptIsNobodys) {
    use(with_device(2));
    const std::size_t claim =
        find([&](std::size_t i) { return is(at(i), TraceKind::claim) && at(i).id != 0; });
    at(claim).id = 0;
    expect("interrupt", claim);
}

TEST_F(Damage, AnInterruptsClaimIsMissing) {
    use(with_device(2));
    const std::size_t claim = find(TraceKind::claim);
    erase(claim);
    expect("interrupt", claim);
}

TEST_F(Damage, ALostClaimIsPaidFor) {
    use(with_device(2));
    const std::size_t claim =
        find([&](std::size_t i) { return is(at(i), TraceKind::claim) && at(i).x == 0; });
    at(claim).id = 2;
    expect("interrupt", claim);
}

TEST_F(Damage, ASourceFiresWhileItIsMasked) {
    use(with_device(2));
    const std::size_t claim = find([&](std::size_t i) {
        return is(at(i), TraceKind::claim) && at(i).x == 0 && left(i, TraceLeave::resumed);
    });
    std::size_t before = claim;
    do {
        --before;
    } while (!is(at(before), TraceKind::claim) || at(before).x == 0);
    at(claim) = {.x = at(before).x,
                 .y = 0,
                 .id = at(before).id,
                 .entry = at(claim).entry,
                 .kind = at(claim).kind,
                 .hart = at(claim).hart,
                 .what = 0};
    expect_among("interrupt", claim);
}

TEST_F(Damage, AnInterruptEndsASlice) {
    use(with_device(1));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::slice_end);
    });
    const std::size_t enter = start_of_entry(leave);
    at(enter).what = static_cast<std::uint16_t>(TraceCause::external);
    insert(in_entry(enter, TraceKind::charge) + 1,
           {.x = 11,
            .y = 0,
            .id = 2,
            .entry = 0,
            .kind = static_cast<std::uint8_t>(TraceKind::claim),
            .hart = 0,
            .what = 0});
    expect_among("preempt", leave);
}

// --- fold ---

TEST_F(Damage, APassIsOneTooHigh) {
    use(busy(1));
    const std::size_t pass = find(TraceKind::pass);
    ++at(pass).x;
    expect("fold", pass);
}

TEST_F(Damage, AFoldLosesItsRemainder) {
    // A budget of weight 1000003 folds with a remainder each time; without it a later pass is low.
    sim::Plan plan = sim::spinners(1, {499'979, 100}, 20);
    use(plan);
    const std::uint64_t heavy = 4;
    std::uint64_t charged = 0;
    std::uint64_t base = 0;
    bool folded = false;
    std::size_t damaged = 0;
    for (std::size_t i = 0; i < records_.size() && damaged == 0; ++i) {
        TraceRecord& r = records_[i];
        if (is(r, TraceKind::charge) && r.id == heavy) {
            charged += r.x;
        } else if (is(r, TraceKind::pass) && r.id == heavy) {
            const std::uint64_t without = base + (charged << 20) / 499'979;
            if (folded && without != r.x) {
                r.x = without;
                damaged = i;
            }
            folded = true;
            base = r.x;
            charged = 0;
        }
    }
    ASSERT_NE(damaged, 0U);
    expect("fold", damaged);
}

TEST_F(Damage, ABillIsNotFolded) {
    use(busy(1));
    const std::size_t pass = find([&](std::size_t i) {
        return is(at(i), TraceKind::pass) && is(at(i - 1), TraceKind::charge) &&
               at(i - 1).what == static_cast<unsigned>(TraceCharge::expiry) &&
               !is(at(i + 1), TraceKind::floor);
    });
    erase(pass);
    expect("fold", pass);
}

TEST_F(Damage, ABillIsFoldedLater) {
    use(busy(1));
    const std::size_t pass = find([&](std::size_t i) {
        return is(at(i), TraceKind::pass) && is(at(i - 1), TraceKind::charge) &&
               at(i - 1).what == static_cast<unsigned>(TraceCharge::expiry) &&
               is(at(i + 1), TraceKind::charge);
    });
    std::swap(at(pass), at(pass + 1));
    expect("fold", pass);
}

TEST_F(Damage, ADescheduleFoldsNothing) {
    use(busy(1));
    const std::size_t requeue = find(TraceKind::requeue);
    std::size_t pass = requeue;
    while (!is(at(pass), TraceKind::pass) || at(pass).id != at(requeue).id) {
        --pass;
    }
    erase(pass);
    expect_among("fold", requeue);
}

TEST_F(Damage, ATopUpOfTimeThatWasThere) {
    use(busy(1));
    const std::size_t requeue = find(TraceKind::requeue);
    std::size_t pass = requeue;
    while (!is(at(pass), TraceKind::pass)) {
        --pass;
    }
    insert(pass, {.x = 1,
                  .y = 0,
                  .id = at(requeue).id,
                  .entry = 0,
                  .kind = static_cast<std::uint8_t>(TraceKind::top_up),
                  .hart = 0,
                  .what = 0});
    expect("fold", pass);
}

// --- floor ---

TEST_F(Damage, TheFloorIsNotRaised) {
    use(busy(1));
    const std::size_t floor = find(TraceKind::floor);
    erase(floor);
    expect("floor", floor);
}

TEST_F(Damage, TheFloorIsTooHigh) {
    use(busy(1));
    const std::size_t floor = find(TraceKind::floor);
    ++at(floor).x;
    expect("floor", floor);
}

TEST_F(Damage, TheFloorFalls) {
    use(busy(1));
    const std::size_t floor = find(TraceKind::floor, 3);
    at(floor).x = 1;
    at(floor).y = 0;
    expect("floor", floor);
}

TEST_F(Damage, AWeightChangeRaisesTheFloor) {
    use(busy(1));
    const std::size_t reweighed = find(TraceKind::reweighed);
    TraceRecord floor = at(reweighed);
    floor.kind = static_cast<std::uint8_t>(TraceKind::floor);
    floor.id = 0;
    insert(reweighed + 2, floor);
    expect("floor", reweighed + 2);
}

TEST_F(Damage, TheFloorCountsTheCapped) {
    // Two spinners on two harts, the heavy one capped: the floor follows the light one. A floor that
    // counts the heavy one, which lags, stays.
    use(sim::spinners(2, {900, 100}, 20));
    const std::size_t floor = find(TraceKind::floor);
    erase(floor);
    expect("floor", floor);
}

// --- cap ---

class DamageCapped : public Damage {
  protected:
    void SetUp() override {
        sim::Plan plan = sim::spinners(2, {900, 100}, 10);
        plan.script.push_back(sim::Create{.name = "late", .parent = "users", .weight = 5000});
        plan.script.push_back(sim::Spawn{
            .budget = "late", .behaviour = {.burst = 7'000, .nap = 3'000}, .threads = 3});
        plan.script.push_back(sim::Sleep{.ticks = 400'000});
        use(plan);
    }
};

TEST_F(DamageCapped, AnUncapLiftsTooFar) {
    const std::size_t lift = find(TraceKind::uncap);
    ++at(lift).x;
    expect("cap", lift);
}

TEST_F(DamageCapped, AnUncapLiftsNothing) {
    const std::size_t lift = find(TraceKind::uncap);
    erase(lift);
    expect("cap", lift);
}

TEST_F(DamageCapped, ALiftOfABudgetThatIsNotCapped) {
    const std::size_t requeue = find(TraceKind::requeue);
    TraceRecord lift = at(requeue);
    lift.kind = static_cast<std::uint8_t>(TraceKind::uncap);
    insert(requeue + 1, lift);
    expect("cap", requeue + 1);
}

// --- wake ---

TEST_F(Damage, AWakerComesBackBelowTheFloor) {
    use(busy(1));
    const std::size_t wake = find([&](std::size_t i) { return is(at(i), TraceKind::wake); });
    --at(wake).x;
    expect("wake", wake);
}

/// Three budgets whose first threads start in one call.
sim::Plan three_in_one_entry() {
    sim::Plan plan = sim::spinners(1, {100}, 1);
    for (const char* name : {"one", "two", "three"}) {
        plan.script.push_back(sim::Create{.name = name, .parent = "users", .weight = 100});
    }
    plan.script.push_back(sim::Spawn{.budget = "one", .behaviour = {}, .also = {"two", "three"}});
    plan.script.push_back(sim::Sleep{.ticks = 100'000});
    return plan;
}

TEST_F(Damage, AnEntrysWakesGoByAscendingId) {
    use(three_in_one_entry());
    const std::size_t wake = find([&](std::size_t i) {
        return is(at(i), TraceKind::wake) && is(at(i + 1), TraceKind::wake);
    });
    std::swap(at(wake), at(wake + 1));
    expect("wake", wake);
}

// A budget that woke ahead of another waits while that one runs twice.
TEST_F(Damage, AnotherRunsMoreThanItsLeadBeforeAWaker) {
    use(busy(1));
    search_from_ = 0;
    std::size_t second = 0;
    const std::size_t wake = find([&](std::size_t i) {
        if (!is(at(i), TraceKind::wake)) {
            return false;
        }
        std::map<std::uint64_t, int> picks;
        for (std::size_t j = i; j < records_.size(); ++j) {
            const bool gone = is(at(j), TraceKind::out) && at(j).id == at(i).id;
            if (gone || (is(at(j), TraceKind::pick) && at(j).id == at(i).id)) {
                return false;
            }
            if (is(at(j), TraceKind::pick) && ++picks[at(j).id] == 2) {
                second = j;
                return true;
            }
        }
        return false;
    });
    at(wake).x = at(wake).y = 0;
    expect_among("wake_bound", second);
}

// --- order ---

TEST_F(Damage, AHigherPassIsPicked) {
    use(sim::spinners(1, {100, 100, 300}));
    const std::size_t pick = find(TraceKind::pick, 4);
    const std::uint64_t right = at(pick).id;
    pick_instead(pick, right == 4 ? 5 : 4);
    ASSERT_GT(at(pick).x, at(pass_of(right, pick)).x);
    expect("order", pick);
}

TEST_F(Damage, OfOneEntrysWakersTheHigherIdIsPicked) {
    use(three_in_one_entry());
    const std::size_t wake = find([&](std::size_t i) {
        return is(at(i), TraceKind::wake) && is(at(i + 1), TraceKind::wake) &&
               at(i).x == at(i + 1).x;
    });
    const std::uint64_t higher = at(wake).id;
    const std::uint64_t lower = at(wake + 1).id;
    ASSERT_GT(higher, lower);
    const std::size_t pick = find(
        [&](std::size_t i) { return i > wake && is(at(i), TraceKind::pick) && at(i).id == lower; });
    pick_instead(pick, higher);
    expect("order", pick);
}

/// A spinner and sleepers whose lead is next to nothing, so that they wake at the floor.
sim::Plan light_sleepers() {
    sim::Plan plan = sim::spinners(1, {100, 100}, 1);
    for (const std::uint64_t nap : {3'001U, 3'407U}) {
        const std::string name = "sleeper " + std::to_string(nap);
        plan.script.push_back(sim::Create{.name = name, .parent = "users", .weight = 300'000});
        plan.script.push_back(sim::Spawn{.budget = name, .behaviour = {.burst = 5, .nap = nap}});
    }
    plan.script.push_back(sim::Sleep{.ticks = 30'000'000});
    return plan;
}

TEST_F(Damage, AnItemIsBilledToThePayerOfTheOneBefore) {
    // Sleepers that lie down one after the other, each for less, are due at once.
    sim::Plan plan = sim::spinners(1, {100}, 1);
    for (std::uint64_t i = 0; i < 12; ++i) {
        const std::string name = "sleeper " + std::to_string(i);
        plan.script.push_back(sim::Create{.name = name, .parent = "users", .weight = 10'000});
        plan.script.push_back(
            sim::Spawn{.budget = name, .behaviour = {.burst = 5, .nap = 5'000 - 70 * i}});
    }
    plan.script.push_back(sim::Sleep{.ticks = 300'000});
    use(plan);
    std::size_t first = 0;
    const std::size_t second = find([&](std::size_t i) {
        if (!is(at(i), TraceKind::charge) ||
            at(i).what != static_cast<unsigned>(TraceCharge::expiry)) {
            return false;
        }
        first = in_entry(start_of_entry(i), TraceKind::expire);
        return first < i && at(first).id != at(i).id;
    });
    at(second).id = at(first).id;
    expect_among("charge", second);
}

TEST_F(Damage, ARequeuedBudgetIsPickedBeforeAWaker) {
    use(light_sleepers());
    // A sleeper that woke in the entry of a slice's end, at the floor that rose to a spinner's pass.
    std::size_t pick = 0;
    std::uint64_t tied = 0;
    for (std::size_t i = 0; i < records_.size() && pick == 0; ++i) {
        if (!is(at(i), TraceKind::pick) || !is(at(pass_of(at(i).id, i)), TraceKind::wake)) {
            continue;
        }
        for (const std::uint64_t spinner : {4U, 5U}) {
            if (at(i).id != spinner && i > 2000 && at(pass_of(spinner, i)).x == at(i).x &&
                is(at(pass_of(spinner, i)), TraceKind::pass)) {
                pick = i;
                tied = spinner;
            }
        }
    }
    ASSERT_NE(pick, 0U) << "no waker was picked at a spinner's own pass";
    pick_instead(pick, tied);
    expect("order", pick);
}

TEST_F(Damage, AnEarlierEntrysWakerIsPickedFirst) {
    use(light_sleepers());
    std::size_t pick = 0;
    std::uint64_t earlier = 0;
    for (std::size_t i = 2000; i < records_.size() && pick == 0; ++i) {
        if (!is(at(i), TraceKind::pick)) {
            continue;
        }
        const std::size_t woke = pass_of(at(i).id, i);
        for (const std::uint64_t sleeper : {8U, 9U}) {  // behind the two marks
            const std::size_t other = pass_of(sleeper, i);
            if (sleeper != at(i).id && is(at(woke), TraceKind::wake) &&
                is(at(other), TraceKind::wake) && at(other).x == at(woke).x &&
                at(other).entry < at(woke).entry) {
                pick = i;
                earlier = sleeper;
            }
        }
    }
    ASSERT_NE(pick, 0U) << "no two wakers of different entries tied";
    pick_instead(pick, earlier);
    expect("order", pick);
}

TEST_F(Damage, TheLaterRequeuedIsPickedFirst) {
    // Two spinners that cost alike come to the same pass turn by turn.
    sim::Plan plan = sim::spinners(1, {100, 100}, 40);
    plan.spread = false;
    use(plan);
    search_from_ = 90;  // both have run once, and the launcher has not woken yet
    const std::size_t pick = find([&](std::size_t i) {
        return is(at(i), TraceKind::pick) && (at(i).id == 4 || at(i).id == 5) &&
               at(pass_of(4, i)).x == at(pass_of(5, i)).x;
    });
    pick_instead(pick, at(pick).id == 4 ? 5 : 4);
    expect("order", pick);
}

TEST_F(Damage, ABudgetRunsWithoutAPick) {
    use(sim::spinners(1, {100, 100, 300}));
    const std::size_t pick = find(TraceKind::pick);
    erase(pick);
    expect_among("order", pick);
}

// --- queue ---

TEST_F(Damage, ABudgetIsRequeuedThatDidNotRun) {
    use(sim::spinners(1, {100, 100, 300}));
    const std::size_t requeue = find(TraceKind::requeue);
    at(requeue).id = at(requeue).id == 4 ? 5 : 4;
    expect("queue", requeue);
}

TEST_F(Damage, ABudgetLeavesTheQueueWithThreads) {
    use(sim::spinners(1, {100, 100, 300}));
    const std::size_t requeue = find(TraceKind::requeue);
    at(requeue).kind = static_cast<std::uint8_t>(TraceKind::out);
    expect("queue", requeue);
}

TEST_F(Damage, CountsDisagreeWithTheHarts) {
    use(busy(2));
    const std::size_t counts = find([&](std::size_t i) {
        return is(at(i), TraceKind::counts) && is(at(i - 1), TraceKind::pick);
    });
    ++at(counts).y;
    expect("queue", counts);
}

TEST_F(Damage, TwoThreadsBecomeReadyAtOnce) {
    use(busy(1));
    const std::size_t counts = find([&](std::size_t i) {
        return is(at(i), TraceKind::counts) && is(at(i + 1), TraceKind::wake);
    });
    ++at(counts).x;
    expect("queue", counts);
}

TEST_F(Damage, AThreadThatEndedRunsOn) {
    use(busy(1));
    const std::size_t runner = find(TraceKind::runner);
    const std::size_t later = find(TraceKind::thread_end);
    ASSERT_GT(later, runner);
    insert(runner + 1, {.x = at(runner).y >> 32,
                        .y = at(runner).y & 0xffff'ffff,
                        .id = at(runner).id,
                        .entry = 0,
                        .kind = static_cast<std::uint8_t>(TraceKind::thread_end),
                        .hart = 0,
                        .what = 0});
    expect("queue", runner + 1);
}

// --- create, weight, lift ---

TEST_F(Damage, AChildEntersBehindItsParent) {
    use(busy(1));
    const std::size_t entry = find(TraceKind::entry_pass);
    --at(entry).x;
    expect("create", entry);
}

TEST_F(Damage, AChildHasAnAccountOfItsOwn) {
    use(busy(1));
    const std::size_t create = find([&](std::size_t i) {
        return is(at(i), TraceKind::create) && at(i).what == 2 && at(i).x > 3;
    });
    for (const std::uint16_t account : {std::uint16_t{0}, std::uint16_t{1}}) {
        at(create).what = account;
        expect("create", create);
    }
}

/// What a plan's kernel does that starts a thread where there is no weight.
class DamageWeightless : public Damage {
  protected:
    void run(const sim::Plan& plan) {
        plan_ = plan;
        records_ = sim::run(plan);
    }
};

TEST_F(DamageWeightless, ABudgetWithoutWeightWakes) {
    sim::Plan plan = sim::spinners(1, {100}, 1);
    plan.script.push_back(sim::Create{.name = "none", .parent = "users"});
    plan.script.push_back(sim::Spawn{.budget = "none", .behaviour = {.burst = 300, .nap = 4'000}});
    plan.script.push_back(sim::Sleep{.ticks = 30'000});
    run(plan);
    const std::uint64_t none = std::find_if(records_.rbegin(), records_.rend(), [](const auto& r) {
                                   return is(r, TraceKind::create);
                               })->id;
    search_from_ = 0;
    const std::size_t wake =
        find([&](std::size_t i) { return is(at(i), TraceKind::wake) && at(i).id == none; });
    expect("weight", wake, 0);
}

TEST_F(DamageWeightless, ABudgetIsPickedThatGaveAllItsWeightAway) {
    sim::Plan plan = sim::spinners(1, {100}, 1);
    plan.script.push_back(sim::Create{.name = "giver", .parent = "users", .weight = 300});
    plan.script.push_back(sim::Spawn{.budget = "giver", .behaviour = {.burst = 300, .nap = 4'000}});
    plan.script.push_back(sim::Create{.name = "heir", .parent = "giver", .weight = 300});
    plan.script.push_back(sim::Sleep{.ticks = 30'000});
    run(plan);
    search_from_ = 0;
    const std::size_t carved = find([&](std::size_t i) {
        return is(at(i), TraceKind::reweigh) && at(i).x == 300 && at(i).y == 0;
    });
    const std::size_t pick = find([&](std::size_t i) {
        return i > carved && is(at(i), TraceKind::pick) && at(i).id == at(carved).id;
    });
    expect_among("weight", pick, 0);
}

TEST_F(Damage, ACarveRescalesTheRemainderAlone) {
    use(busy(1));
    const std::size_t reweighed = find([&](std::size_t i) {
        if (!is(at(i), TraceKind::reweighed)) {
            return false;
        }
        std::size_t before = i - 1;
        while (!is(at(before), TraceKind::pass) || at(before).id != at(i).id) {
            --before;
        }
        return at(before).x != at(i).x;
    });
    std::size_t before = reweighed - 1;
    while (!is(at(before), TraceKind::pass) || at(before).id != at(reweighed).id) {
        --before;
    }
    at(reweighed).x = at(before).x;
    expect("weight", reweighed);
}

TEST_F(Damage, ACarveTakesLessThanTheChildGets) {
    use(busy(1));
    const std::size_t reweigh =
        find([&](std::size_t i) { return is(at(i), TraceKind::reweigh) && at(i).y < at(i).x; });
    ++at(reweigh).y;
    expect("weight", reweigh);
}

TEST_F(Damage, WeightComesBackTwice) {
    use(busy(1));
    const std::size_t reweigh =
        find([&](std::size_t i) { return is(at(i), TraceKind::reweigh) && at(i).y > at(i).x; });
    at(reweigh).y += at(reweigh).y - at(reweigh).x;
    expect("weight", reweigh);
}

TEST_F(Damage, ALiftForgetsTheWork) {
    use(busy(1));
    const std::size_t work =
        find([&](std::size_t i) { return is(at(i), TraceKind::lift_work) && at(i).x != 0; });
    at(work).x = 0;
    expect("lift", work);
}

TEST_F(Damage, AParentTakesTheHigherOfThePasses) {
    use(busy(1));
    const std::size_t lifted = find(
        [&](std::size_t i) { return is(at(i), TraceKind::lifted) && at(i - 1).x > 1'000'000; });
    --at(lifted).x;
    expect("lift", lifted);
}

// --- destruction ---

TEST_F(Damage, ADestructionDoesNotEnd) {
    use(busy(1));
    const std::size_t end = find(TraceKind::destroy_end);
    erase(end);
    expect("destruction", end);
}

TEST_F(Damage, ADeadlineIsToldAsATimeout) {
    use(busy(1));
    const std::size_t deadline = find([&](std::size_t i) {
        return is(at(i), TraceKind::expire) &&
               at(i).what == static_cast<unsigned>(TraceExpiry::deadline);
    });
    at(deadline).what = static_cast<std::uint16_t>(TraceExpiry::timeout);
    expect("destruction", deadline);
}

TEST_F(Damage, ATimeoutIsToldAsADeadline) {
    use(busy(1));
    const std::size_t timeout = find([&](std::size_t i) {
        return is(at(i), TraceKind::expire) &&
               at(i).what == static_cast<unsigned>(TraceExpiry::timeout);
    });
    at(timeout).what = static_cast<std::uint16_t>(TraceExpiry::deadline);
    expect("destruction", timeout);
}

TEST_F(Damage, ADeadlinesDestructionHasNoDeadline) {
    use(busy(1));
    const std::size_t deadline = find([&](std::size_t i) {
        return is(at(i), TraceKind::expire) &&
               at(i).what == static_cast<unsigned>(TraceExpiry::deadline);
    });
    erase(deadline);
    expect_among("destruction", deadline);
}

TEST_F(Damage, ADestroyedBudgetActs) {
    use(busy(1));
    const std::size_t lift = find(TraceKind::lift);
    const std::size_t pass = find([&](std::size_t i) {
        return i > lift && is(at(i), TraceKind::pass) && at(i).entry > at(lift).entry;
    });
    at(pass).id = at(lift).id;
    expect("destruction", pass);
}

TEST_F(Damage, AParentGoesBeforeItsChild) {
    use(busy(1));
    const std::size_t begin =
        find([&](std::size_t i) { return is(at(i), TraceKind::destroy_begin) && at(i).what == 0; });
    const std::size_t inner = in_entry(begin, TraceKind::lift);
    at(inner).id = at(begin).id;
    expect("destruction", inner);
}

TEST_F(Damage, ADyingBudgetIsForgotten) {
    use(busy(1));
    const std::size_t begin =
        find([&](std::size_t i) { return is(at(i), TraceKind::destroy_begin) && at(i).what == 1; });
    const std::size_t lift = in_entry(begin, TraceKind::lift);
    for (int i = 0; i < 4; ++i) {
        erase(lift);  // lift, lift_work, lifted, rem
    }
    expect("destruction", lift);
}

TEST_F(Damage, ADestroyedBudgetsThreadGoesOnWaiting) {
    use(busy(1));
    const std::size_t counts = find([&](std::size_t i) {
        return is(at(i), TraceKind::counts) && is(at(i + 1), TraceKind::thread_end) &&
               at(i).x == 0 && at(i).y == 0;
    });
    const std::size_t lift = in_entry(counts, TraceKind::lift);
    erase(counts);
    expect("destruction", lift);
}

// --- slice ---

TEST_F(Damage, ASliceIsTooLong) {
    use(sim::spinners(1, {100, 100, 300}));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::slice_end);
    });
    at(leave).y += 1;
    expect("slice", leave);
}

TEST_F(Damage, AnEntryMovesTheSlicesEnd) {
    use(busy(1));
    const std::size_t leave = find(
        [&](std::size_t i) { return is(at(i), TraceKind::leave) && left(i, TraceLeave::resumed); });
    at(leave).y += 500;
    expect("slice", leave);
}

TEST_F(Damage, AThreadRunsOnPastItsSlice) {
    // A kernel whose timer fires 300 ticks late: the user time and the time of all that follows.
    use(sim::spinners(1, {100}, 20));
    const std::size_t enter = find([&](std::size_t i) {
        return is(at(i), TraceKind::enter) && left(i, TraceLeave::slice_end);
    });
    at(enter).x += 300;
    at(enter).y += 300;
    expect("slice", enter);
}

TEST_F(Damage, AnEndedSliceGoesOn) {
    use(sim::spinners(1, {100, 100}, 20));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::slice_end);
    });
    at(leave).what = static_cast<std::uint16_t>(TraceLeave::resumed);
    expect_among("slice", leave);
}

// --- preempt ---

TEST_F(Damage, ASliceEndsBeforeItsEnd) {
    use(busy(1));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::preempted);
    });
    at(leave).what = static_cast<std::uint16_t>(TraceLeave::slice_end);
    expect_among("preempt", leave);
}

TEST_F(Damage, ADeadlineDoesNotPreempt) {
    use(busy(1));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::preempted);
    });
    at(leave).what = static_cast<std::uint16_t>(TraceLeave::resumed);
    expect_among("preempt", leave);
}

TEST_F(Damage, ARunnerLosesItsHartToNothing) {
    use(busy(1));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::slice_end);
    });
    at(leave).what = static_cast<std::uint16_t>(TraceLeave::preempted);
    expect_among("preempt", leave);
}

TEST_F(Damage, ATimerMakesAThreadGiveUp) {
    use(busy(1));
    const std::size_t leave = find([&](std::size_t i) {
        return is(at(i), TraceKind::leave) && left(i, TraceLeave::slice_end);
    });
    at(leave).what = static_cast<std::uint16_t>(TraceLeave::gave_up);
    expect_among("preempt", leave);
}

// --- lock ---

TEST_F(Damage, AHartWaitsBehindTooManySections) {
    use(busy(2));
    const std::size_t wait = find(TraceKind::lock_wait);
    at(wait).y = 2;
    expect("lock", wait);
}

TEST_F(Damage, AHartTakesTheLockTwiceAheadOfAWaiter) {
    use(busy(3));
    const std::size_t wait = find([&](std::size_t i) {
        if (!is(at(i), TraceKind::lock_wait) || at(i).y != 1) {
            return false;
        }
        std::size_t before = start_of_entry(i) - 1;
        before = start_of_entry(before);
        const std::uint8_t one = at(before).hart;
        before = start_of_entry(before - 1);
        return at(before).hart == one || at(before).hart == at(i).hart;
    });
    at(wait).y =
        2;  // it drew its ticket before the two sections, and one hart had both, or it had one
    expect("lock", wait);
}

TEST_F(Damage, ALockWaitIsTooShort) {
    use(busy(2));
    const std::size_t wait = find(TraceKind::lock_wait);
    --at(wait).x;
    expect("lock", wait);
}

// --- idle ---

TEST_F(Damage, AHartGoesIdlePastAWaitingThread) {
    use(sim::spinners(2, {100, 100, 300}));
    const std::size_t pick = find(TraceKind::pick);
    const std::size_t leave = in_entry(pick, TraceKind::leave);
    at(leave).id = 0;
    at(leave).y = 0;
    const std::size_t runner = in_entry(pick, TraceKind::runner);
    if (runner < records_.size()) {
        at(runner).id = 0;
        at(runner).x = 0;
        at(runner).y = 0;
    }
    erase(pick);
    expect_among("idle", pick);
}

// --- all of it ---

/// Every check has a damage above: a check that nothing trips is none. Known once all of them ran.
TEST(DamageCovers, EveryCheck) {
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    const bool all_ran = all.test_to_run_count() == all.total_test_count();
    for (const std::string_view check : oracle::check_names()) {
        EXPECT_TRUE(!all_ran || covered_checks().contains(std::string(check))) << check;
    }
}

/// One damage to one record, for every third record of a trace: which kinds of record can be damaged so
/// without the oracle noticing. Those must be the ones whose damage changes no fact that a rule judges.
class OneRecord : public testing::Test {
  protected:
    template <class Change>
    std::set<std::string> unnoticed(Change change) {
        sim::Plan plan = busy(2, 3);
        plan.device_every = 6'100;
        const Records sound = sim::run(plan);
        const abi::TraceHead head = test::parsed(sound, plan).head;
        std::set<std::string> kinds;
        int changed = 0;
        int noticed = 0;
        for (std::size_t place = 1; place + 1 < sound.size(); place += 3) {
            Records damaged = sound;
            if (!change(damaged, place)) {
                continue;
            }
            damaged.back().y = damaged.size() - 1;
            ++changed;
            if (oracle::replay({.head = head, .records = damaged}, {.late_ticks = 100}).rejected !=
                0) {
                ++noticed;
            } else {
                kinds.emplace(oracle::name_of(static_cast<TraceKind>(sound[place].kind)));
            }
        }
        RecordProperty("damages", changed);
        RecordProperty("noticed", noticed);
        EXPECT_GT(10 * noticed, 8 * changed);
        return kinds;
    }
};

TEST_F(OneRecord, LeftOut) {
    const auto missed = unnoticed([](Records& records, std::size_t place) {
        if (is(records[place], TraceKind::charge) && records[place].x == 0) {
            return false;
        }
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(place));
        return true;
    });
    // No rule speaks of `arm`; a thread's end is needed only if its hart is then taken from it; a runner
    // record of the same budget tells only which of its threads; counts that the next counts of the
    // entry supersede are as if both changes had been one; the charges of the last entry, which the end
    // of the machine leaves open, do not have to add up.
    EXPECT_THAT(missed, testing::IsSubsetOf({"arm", "thread_end", "runner", "counts", "charge"}));
}

TEST_F(OneRecord, Repeated) {
    const auto missed = unnoticed([](Records& records, std::size_t place) {
        const TraceRecord record = records[place];
        records.insert(records.begin() + static_cast<std::ptrdiff_t>(place), record);
        return !(is(record, TraceKind::charge) && record.x == 0);
    });
    // Said twice, these say nothing more: a fold of nothing leaves the pass where it is. A charge only
    // in the last entry.
    EXPECT_THAT(missed, testing::IsSubsetOf({"arm", "thread_end", "runner", "expire", "pass",
                                             "lock_wait", "charge"}));
}

TEST_F(OneRecord, FirstFieldOneHigher) {
    const auto missed = unnoticed([](Records& records, std::size_t place) {
        ++records[place].x;
        return true;
    });
    // Times of brackets and of items that are judged by order alone, counts that are superseded, and
    // the last entry, which the end of the machine leaves open, so that its charges do not add up; that
    // another source fired.
    EXPECT_THAT(missed,
                testing::IsSubsetOf({"arm", "thread_end", "expire", "online", "destroy_begin",
                                     "destroy_end", "counts", "charge", "claim"}));
}

TEST_F(OneRecord, OfAnotherBudget) {
    const auto missed = unnoticed([](Records& records, std::size_t place) {
        if (records[place].id == 0) {
            return false;
        }
        records[place].id = records[place].id == 4 ? 5 : 4;
        return true;
    });
    EXPECT_THAT(missed, testing::IsSubsetOf({"thread_end"}));
}

}  // namespace
}  // namespace ravelin
