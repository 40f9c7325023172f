// The scripted contracts (R12): each rule alone, with numbers worked out by hand.
//
// Passes are stated in ticks x STRIDE / weight. A contract says what it expects and what it got.
#include <algorithm>
#include <string>

#include "checks.h"
#include "machine.h"

namespace ravelin::model {

namespace {

std::string text(Pass value) {
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    return digits;
}

// Collects what differs from what was expected.
class Expect {
  public:
    void equal(const std::string& what, Pass got, Pass want) {
        if (got != want) {
            findings_.push_back(what + " is " + text(got) + ", not " + text(want));
        }
    }
    void is_true(const std::string& what, bool holds) {
        if (!holds) {
            findings_.push_back("not so: " + what);
        }
    }
    Findings findings() const { return findings_; }

  private:
    Findings findings_;
};

constexpr Pass kS = kStride;

// `count` ready threads; the entry ends.
void wake(Scheduler& queue, BudgetId id, int count = 1) {
    for (int i = 0; i < count; ++i) {
        queue.ready(id);
    }
    queue.reconcile(0);
}

void run_and_end_slice(Scheduler& queue, unsigned hart, Ticks ticks) {
    queue.run(hart, ticks);
    queue.deschedule(hart, Leave::kSliceEnd);
    queue.reconcile(hart);
}

// ---- charging ----------------------------------------------------------------------------------

Findings charge(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId b = queue.create_root(3);
    wake(queue, b);
    queue.pick(0);
    run_and_end_slice(queue, 0, 1000);
    expect.equal("the pass after 1000 ticks at weight 3", queue.budget(b).pass, 1000 * kS / 3);
    expect.equal("its remainder", queue.budget(b).rem, 1000 * kS % 3);
    queue.pick(0);
    run_and_end_slice(queue, 0, 1);
    expect.equal("the pass after 1001 ticks in two runs", queue.budget(b).pass, 1001 * kS / 3);
    expect.equal("its remainder", queue.budget(b).rem, 1001 * kS % 3);
    return expect.findings();
}

// A weight above STRIDE: single ticks add up, none is rounded away.
Findings remainder(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId b = queue.create_root(3 * (1U << 20));
    wake(queue, b);
    for (int i = 0; i < 7; ++i) {
        queue.pick(0);
        run_and_end_slice(queue, 0, 1);
    }
    expect.equal("the pass after seven ticks at three STRIDE", queue.budget(b).pass, 2);
    expect.equal("its remainder", queue.budget(b).rem, kS);
    return expect.findings();
}

Findings minimum_charge(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(1000);
    const BudgetId a = queue.create(root, 10);
    const BudgetId b = queue.create(root, 10);
    wake(queue, a);
    wake(queue, b);
    const BudgetId first = queue.pick(0).value();
    run_and_end_slice(queue, 0, 0);
    expect.equal("the pass after a run of no ticks", queue.budget(first).pass, kS / 10);
    const BudgetId second = queue.pick(0).value();
    expect.is_true("the other runs next", second != first);
    queue.destroy(second);
    expect.equal("the lead that a destruction lifts from a run of no ticks",
                 queue.budget(root).pass - queue.budget(root).entry, 0);
    return expect.findings();
}

Findings runtime_cap(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId b = queue.create_root(1);
    wake(queue, b);
    queue.pick(0);
    run_and_end_slice(queue, 0, kRuntimeCap + 12345);
    expect.equal("the pass after a run beyond the cap", queue.budget(b).pass, Pass{1} << 60);
    return expect.findings();
}

// A run that ends in an exit or a block is charged like one that ends a slice.
Findings every_end_is_charged(const Rules& rules) {
    Expect expect;
    for (const Leave how : {Leave::kSliceEnd, Leave::kPreempted, Leave::kBlocked, Leave::kExited}) {
        Scheduler queue(1, rules);
        const BudgetId b = queue.create_root(100);
        wake(queue, b);
        queue.pick(0);
        queue.run(0, 600);
        queue.deschedule(0, how);
        expect.equal("the pass after 600 ticks", queue.budget(b).pass, 600 * kS / 100);
    }
    return expect.findings();
}

// On two harts each hart charges its own runner to the budget's one pass.
Findings each_hart_charges(const Rules& rules) {
    Expect expect;
    Scheduler queue(2, rules);
    const BudgetId b = queue.create_root(100);
    wake(queue, b, 2);
    if (queue.pick(0) != b || queue.pick(1) != b) {
        return {"two threads of a budget did not run on two harts"};
    }
    queue.run(0, 300);
    queue.run(1, 500);
    queue.deschedule(1, Leave::kSliceEnd);
    queue.deschedule(0, Leave::kSliceEnd);
    expect.equal("the one pass after 300 and 500 ticks", queue.budget(b).pass, 800 * kS / 100);
    return expect.findings();
}

// ---- ranks and the floor -----------------------------------------------------------------------

// The four clauses, one pass: wakers ahead of requeued, the later entry's first, the lower id
// first within one, requeued in the order of their requeues.
Findings ties(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(10'000);
    std::vector<BudgetId> ids;
    for (int i = 0; i < 8; ++i) {
        ids.push_back(queue.create(root, 100));
    }
    queue.ready(ids[0]);
    queue.ready(ids[1]);
    queue.reconcile(0);
    for (int i = 0; i < 2; ++i) {
        queue.pick(0);
        run_and_end_slice(queue, 0, kSlice);  // ids 0 then 1, both now requeued at one slice
    }
    queue.ready(ids[5]);
    queue.ready(ids[2]);
    queue.reconcile(0);
    queue.ready(ids[7]);
    queue.ready(ids[3]);
    queue.ready(ids[6]);
    queue.reconcile(0);
    std::vector<BudgetId> order;
    for (int i = 0; i < 7; ++i) {
        order.push_back(queue.pick(0).value_or(0));
        run_and_end_slice(queue, 0, kSlice);
    }
    const std::vector<BudgetId> want = {ids[3], ids[6], ids[7], ids[2], ids[5], ids[0], ids[1]};
    expect.is_true("the picks follow the four tie clauses", order == want);
    return expect.findings();
}

// The floor holds while the queue is empty, and a waker comes at no less.
Findings floor_holds(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(1000);
    const BudgetId a = queue.create(root, 100);
    const BudgetId b = queue.create(root, 100);
    wake(queue, a);
    queue.pick(0);
    queue.run(0, 5000);
    queue.deschedule(0, Leave::kBlocked);
    queue.reconcile(0);
    expect.equal("the floor of the empty queue", queue.floor(), 5000 * kS / 100);
    expect.is_true("the tie counters start afresh", queue.front() == 0 && queue.back() == 0);
    wake(queue, b);
    expect.equal("a waker's pass", queue.budget(b).pass, 5000 * kS / 100);
    return expect.findings();
}

// Two budgets that lose their last thread in one entry leave together: the floor is not raised to
// the pass of one of them because the other was taken out first.
Findings leaves_have_no_order(const Rules& rules) {
    Expect expect;
    for (const bool low_first : {false, true}) {
        Scheduler queue(1, rules);
        const BudgetId root = queue.create_root(1000);
        const BudgetId a = queue.create(root, 100);
        const BudgetId b = queue.create(root, 100);
        const BudgetId lower = low_first ? a : b;
        const BudgetId higher = low_first ? b : a;
        wake(queue, lower);
        queue.bill(0, higher, 700);
        wake(queue, higher);
        queue.unready(a);
        queue.unready(b);
        queue.reconcile(0);
        expect.equal("the floor after both left", queue.floor(), 0);
    }
    return expect.findings();
}

Findings wake_never_preempts(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(1000);
    const BudgetId a = queue.create(root, 100);
    const BudgetId b = queue.create(root, 500);
    wake(queue, a);
    queue.pick(0);
    queue.run(0, 10);
    wake(queue, b);
    expect.is_true("the runner keeps its hart when another wakes", queue.runner(0) == a);
    return expect.findings();
}

// ---- inheritance and weight changes ------------------------------------------------------------

// A child enters at its parent's pass if that is above the floor, and a running parent is charged
// first.
Findings entry(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(1000);
    const BudgetId other = queue.create(root, 100);
    const BudgetId parent = queue.create(root, 100);
    wake(queue, parent);
    wake(queue, other);
    expect.is_true("the later waker runs first", queue.pick(0) == other);
    run_and_end_slice(queue, 0, 10);
    queue.pick(0);
    queue.run(0, 600);
    const BudgetId child = queue.create(parent, 40);
    expect.equal("the child's pass", queue.budget(child).pass, 600 * kS / 100);
    expect.equal("its entry", queue.budget(child).entry, 600 * kS / 100);
    expect.equal("the running parent's pending ticks", queue.pending(0), 0);
    expect.equal("the parent's pass at the weight it kept", queue.budget(parent).pass,
                 600 * kS / 60);
    return expect.findings();
}

// A child's work adds to its parent's own lead, stated at the parent's restored weight.
Findings lift(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(10'000);
    const BudgetId idle = queue.create(root, 100);
    wake(queue, idle);  // holds the floor at 0
    const BudgetId parent = queue.create(root, 100);
    queue.bill(0, parent, 300);
    const BudgetId child = queue.create(parent, 10);
    const BudgetId grandchild = queue.create(child, 4);
    queue.bill(0, grandchild, 77);
    queue.bill(0, child, 55);
    queue.bill(0, parent, 20);
    queue.destroy(child);
    const Pass owed = (300 + 77 + 55 + 20) * kS;
    // Passes of an entry are rounded down at each level: less than one unit a level is lost.
    const Budget& p = queue.budget(parent);
    const Pass stated = p.pass * 100 + p.rem;
    expect.is_true("the parent owes what it and its lineage ran (" + text(stated) + " against " +
                       text(owed) + ")",
                   stated <= owed && owed - stated < 20);
    return expect.findings();
}

// A parent below the floor starts a lift from the floor, without its remainder.
Findings lift_from_the_floor(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(1000);
    const BudgetId parent = queue.create(root, 7);
    const BudgetId scope = queue.create(parent, 0);
    queue.bill(0, parent, 1);
    const BudgetId other = queue.create(root, 100);
    wake(queue, other);
    queue.pick(0);
    queue.run(0, 1'000'000);
    queue.deschedule(0, Leave::kBlocked);
    queue.reconcile(0);
    const Pass floor = queue.floor();
    expect.is_true("the parent is below the floor", queue.budget(parent).pass < floor);
    queue.destroy(scope);
    expect.is_true("it starts from the floor", queue.budget(parent).pass == floor);
    return expect.findings();
}

// What a budget owes is runtime: a carve and its return state it at each weight and keep it, and
// what is pending is charged at the weight it ran at.
Findings lead_follows_weight(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(100'000);
    const BudgetId other = queue.create(root, 100);
    wake(queue, other);  // holds the floor at 0
    const BudgetId b = queue.create(root, 1000);
    wake(queue, b);
    queue.bill(0, b, 333);
    queue.carve(b, 993);
    expect.equal("the lead at weight 7", queue.budget(b).pass, 333 * kS / 7);
    expect.equal("the remainder at weight 7", queue.budget(b).rem, 333 * kS % 7);
    queue.give_back(b, 993);
    expect.equal("the lead back at weight 1000", queue.budget(b).pass, 333 * kS / 1000);
    expect.equal("the remainder back at weight 1000", queue.budget(b).rem, 333 * kS % 1000);
    queue.carve(b, 1000);
    expect.equal("the lead through weight 0, stated at 1", queue.budget(b).pass, 333 * kS);
    queue.give_back(b, 500);
    expect.equal("the lead at half the weight", queue.budget(b).pass, 333 * kS / 500);
    queue.give_back(b, 500);
    expect.equal("the lead at the whole weight again", queue.budget(b).pass, 333 * kS / 1000);

    const BudgetId c = queue.create(root, 1000);
    queue.pick(0);
    queue.deschedule(0, Leave::kBlocked);
    queue.reconcile(0);
    wake(queue, c);
    expect.is_true("the waker at the floor runs", queue.pick(0) == c);
    const Pass before = queue.budget(c).pass;
    const Pass floor = queue.floor();
    queue.run(0, 400);
    queue.carve(c, 900);
    const Pass at_old = before + 400 * kS / 1000;
    const Pass owed = (at_old - floor) * 1000 + 400 * kS % 1000;
    expect.equal("a run before a carve, charged at the weight it ran at", queue.budget(c).pass,
                 floor + owed / 100);
    return expect.findings();
}

// Products and passes at their ends saturate instead of wrapping.
Findings saturation(const Rules& rules) {
    Expect expect;
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(0xffff'ffff);
    const BudgetId b = queue.create(root, 1);
    const BudgetId holder = queue.create(root, 1);
    wake(queue, holder);
    for (int i = 0; i < 1000; ++i) {
        queue.bill(0, b, kRuntimeCap);
    }
    const Pass lead = queue.budget(b).pass;
    expect.equal("a thousand capped folds at weight 1", lead, Pass{1000} << 60);
    queue.destroy(b);
    expect.equal("the lift at the largest weight", queue.budget(root).pass,
                 lead / (0xffff'ffffU - 1));
    return expect.findings();
}

// ---- the cap set -------------------------------------------------------------------------------

struct Capped {
    Scheduler queue;
    BudgetId heavy, b, c;

    explicit Capped(unsigned harts, const Rules& rules) : queue(harts, rules) {
        const BudgetId root = queue.create_root(100'000);
        heavy = queue.create(root, 1000);
        b = queue.create(root, 100);
        c = queue.create(root, 100);
    }
};

// Its own requeue is no wait: a heavy budget is capped by the raise its own slice end makes.
Findings requeue_is_no_wait(const Rules& rules) {
    Expect expect;
    Capped s(2, rules);
    s.queue.ready(s.heavy);
    s.queue.ready(s.b);
    s.queue.ready(s.c);
    s.queue.reconcile(0);
    expect.is_true("the heavy budget runs", s.queue.pick(0) == s.heavy);
    s.queue.pick(1);
    expect.is_true("nothing is capped before the first charge", s.queue.cap_set().empty());
    s.queue.run(0, kSlice);
    s.queue.deschedule(0, Leave::kSliceEnd);
    expect.is_true("its slice end caps it", s.queue.cap_set() == std::set{s.heavy});
    return expect.findings();
}

// A sibling that waits while a thread blocks is a wait: the block's raise does not cap.
Findings block_leaves_a_wait(const Rules& rules) {
    Expect expect;
    Capped s(3, rules);
    wake(s.queue, s.heavy, 2);
    wake(s.queue, s.b);
    wake(s.queue, s.c);
    expect.is_true("c runs", s.queue.pick(2) == s.c);
    expect.is_true("b runs", s.queue.pick(1) == s.b);
    expect.is_true("one thread of the heavy runs", s.queue.pick(0) == s.heavy);
    s.queue.run(0, kSlice);
    s.queue.deschedule(0, Leave::kBlocked);
    expect.is_true("its block does not cap it", s.queue.cap_set().empty());
    s.queue.reconcile(0);
    expect.is_true("nor does the reconcile", s.queue.cap_set().empty());
    return expect.findings();
}

// A budget with a thread waiting for a hart stays in the floor and its weight in the weights.
Findings waiter_is_not_capped(const Rules& rules) {
    Expect expect;
    Capped s(2, rules);
    wake(s.queue, s.b);
    wake(s.queue, s.c);
    s.queue.pick(0);
    s.queue.pick(1);
    wake(s.queue, s.heavy);
    expect.is_true("a heavy budget that waits is not capped", s.queue.cap_set().empty());
    s.queue.bill(0, *s.queue.runner(1), 500);
    expect.is_true("nor by another's charge", s.queue.cap_set().empty());
    expect.equal("the floor stays at its pass", s.queue.floor(), 0);
    return expect.findings();
}

// A queued budget whose last thread just ended holds the floor at no pass and raises it to none.
Findings empty_holds_no_floor(const Rules& rules) {
    Expect expect;
    for (const Ticks other : {100U, 5000U}) {
        Capped s(2, rules);
        wake(s.queue, s.c);
        s.queue.bill(0, s.b, other);
        wake(s.queue, s.b);
        if (s.queue.pick(0) != s.c) {
            return {"the lowest pass was not picked"};
        }
        s.queue.unready(s.b);
        s.queue.run(0, kSlice);
        s.queue.deschedule(0, Leave::kSliceEnd);
        expect.equal("the floor with one budget left, capped", s.queue.floor(), kSlice * kS / 100);
        s.queue.reconcile(0);
        expect.equal("the floor after the other left", s.queue.floor(), kSlice * kS / 100);
    }
    // With no thread left at all it rises to the lowest pass, as at one hart.
    Capped s(2, rules);
    s.queue.bill(0, s.b, 300);
    wake(s.queue, s.b);
    wake(s.queue, s.heavy);
    s.queue.bill(0, s.heavy, 7000);
    s.queue.unready(s.b);
    s.queue.unready(s.heavy);
    s.queue.bill(0, s.heavy, 1000);
    expect.equal("the floor with no thread queued", s.queue.floor(), 300 * kS / 100);
    return expect.findings();
}

// What a budget lagged when it was capped it keeps when it is capped no longer, and what the floor
// rose in between it does not bank.
Findings lift_target(const Rules& rules) {
    Expect expect;
    Scheduler queue(2, rules);
    const BudgetId root = queue.create_root(100'000);
    const BudgetId victim = queue.create(root, 100);
    const BudgetId carver = queue.create(root, 100);
    queue.ready(carver);
    queue.ready(carver);
    queue.ready(victim);
    queue.reconcile(0);
    expect.is_true("the victim runs", queue.pick(0) == victim);
    expect.is_true("the carver runs", queue.pick(1) == carver);
    queue.run(1, 400);
    queue.deschedule(1, Leave::kSliceEnd);
    queue.reconcile(1);
    queue.pick(1);
    expect.equal("the floor is the victim's pass", queue.floor(), 0);
    queue.carve(carver, 50);
    queue.run(1, 100);
    queue.deschedule(1, Leave::kSliceEnd);
    queue.reconcile(1);
    queue.pick(1);
    const Pass carver_pass = 400 * kS * 2 / 100 + 100 * kS / 50;
    expect.is_true("the victim is capped", queue.cap_set() == std::set{victim});
    expect.equal("the floor leaves it out", queue.floor(), carver_pass);
    expect.equal("its lift target, with the lag it had", queue.lift_target(victim).value_or(1), 0);
    queue.run(1, 100);
    queue.deschedule(1, Leave::kSliceEnd);
    queue.reconcile(1);
    queue.pick(1);
    const Pass risen = 100 * kS / 50;
    expect.equal("its lift target follows the floor", queue.lift_target(victim).value_or(0), risen);
    queue.give_back(carver, 50);
    queue.bill(0, carver, 1);
    expect.is_true("the victim is capped no longer", queue.cap_set().empty());
    expect.equal("its pass after the lift", queue.budget(victim).pass, risen);
    return expect.findings();
}

// A carve that makes a lead a hundred times as long caps the budget that is led: what that keeps is no more
// than what a slice on every hart moves it.
Findings kept_lag(const Rules& rules) {
    Expect expect;
    Scheduler queue(2, rules);
    queue.set_slice(1000);
    const BudgetId root = queue.create_root(100'000);
    const BudgetId led = queue.create(root, 100);
    const BudgetId carver = queue.create(root, 100);
    queue.ready(carver);
    queue.ready(led);
    queue.reconcile(0);
    queue.pick(0);
    queue.pick(1);
    const unsigned hart = queue.runner(0) == carver ? 0 : 1;
    queue.run(hart, 400);
    queue.slice_end(hart);
    queue.carve(carver, 99);
    queue.slice_end(hart);
    expect.is_true("the other is capped", queue.cap_set() == std::set{led});
    const Pass floor = queue.floor();
    expect.equal("the floor is the carver's pass", floor, 401 * kS);
    queue.ready(led);
    queue.reconcile(hart);
    expect.is_true("with one more thread it is capped no longer", queue.cap_set().empty());
    expect.equal("its pass", queue.budget(led).pass, floor - 2 * 1000 * kS / 100);
    return expect.findings();
}

// ---- the steps the queue does not see ----------------------------------------------------------

// A budget's threads take turns in (pid, tid) order from the cursor, wrapping.
Findings turns(const Rules& rules) {
    Expect expect;
    Machine m(1, rules);
    const BudgetId b = m.create_root(100);
    std::vector<ThreadId> picks;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kPick) {
            picks.push_back(e.thread);
        }
    };
    for (const std::uint32_t pid : {9U, 4U, 9U, 4U}) {
        m.spawn(b, pid, spinner());
    }
    m.run_until(12 * kSlice);
    expect.is_true("twelve slices made twelve picks", picks.size() >= 12);
    const std::vector<ThreadId> round = {{4, 1}, {4, 2}, {9, 1}, {9, 2}};
    const auto first = std::find(round.begin(), round.end(), picks.at(1)) - round.begin();
    for (std::size_t i = 1; i < picks.size(); ++i) {
        const std::size_t turn = (static_cast<std::size_t>(first) + i - 1) % round.size();
        expect.is_true("turn " + std::to_string(i) + " is in (pid, tid) order",
                       picks[i] == round[turn]);
    }
    return expect.findings();
}

// A timeout makes its thread runnable and takes no one's hart.
Findings timeout_wakes_without_preempting(const Rules& rules) {
    Expect expect;
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000);
    const BudgetId spins = m.create(root, 100);
    const BudgetId sleeps = m.create(root, 500);
    m.spawn(spins, 2, spinner());
    m.spawn_asleep(sleeps, 3, spinner(), 300);
    std::optional<Ticks> woke;
    std::optional<Ticks> first_leave;
    std::optional<Ticks> picked;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kWake && !woke) {
            woke = e.time;
        }
        if (e.kind == Event::Kind::kLeave && !first_leave) {
            first_leave = e.time;
            expect.is_true("the spinner leaves at its slice's end", e.how == Leave::kSliceEnd);
        }
        if (e.kind == Event::Kind::kPick && e.budget == sleeps && !picked) {
            picked = e.time;
        }
    };
    m.run_until(3 * kSlice);
    expect.equal("the sleeper becomes runnable at", woke.value_or(0), 300);
    expect.equal("the spinner leaves at", first_leave.value_or(0), kSlice);
    expect.equal("the sleeper is picked at", picked.value_or(0), kSlice);
    return expect.findings();
}

// At an equal instant timeouts come first, in (pid, tid) order, then deadlines by budget id.
Findings equal_instant(const Rules& rules) {
    Expect expect;
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000);
    const BudgetId spins = m.create(root, 100);
    m.spawn(spins, 2, spinner());
    const BudgetId first = m.create(root, 0, Class::kUser, 500);
    const BudgetId second = m.create(root, 0, Class::kUser, 500);
    const BudgetId sleeps = m.create(root, 100);
    for (const std::uint32_t pid : {7U, 5U, 5U}) {
        m.spawn_asleep(sleeps, pid, spinner(), 500);
    }
    std::vector<std::string> order;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kWake) {
            order.push_back("t" + std::to_string(e.thread.pid) + "." +
                            std::to_string(e.thread.tid));
        }
        if (e.kind == Event::Kind::kDestroy) {
            order.push_back(e.budget == first ? "d1" : e.budget == second ? "d2" : "d?");
        }
    };
    m.run_until(600);
    const std::vector<std::string> want = {"t5.1", "t5.2", "t7.1", "d1", "d2"};
    expect.is_true("timeouts before deadlines, each in its order", order == want);
    return expect.findings();
}

// A deadline's destruction preempts what runs; the thread keeps what it had left to do.
Findings deadline_preempts(const Rules& rules) {
    Expect expect;
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000);
    const BudgetId a = m.create(root, 100);
    const BudgetId b = m.create(root, 100);
    m.spawn(a, 2, spinner());
    m.spawn(b, 3, spinner());
    m.create(root, 0, Class::kUser, 400);
    std::vector<Event> leaves;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kLeave) {
            leaves.push_back(e);
        }
    };
    m.run_until(2 * kSlice);
    expect.is_true("a thread left", !leaves.empty());
    if (!leaves.empty()) {
        expect.equal("the first leaves at the deadline, at", leaves[0].time, 400);
        expect.is_true("as preempted", leaves[0].how == Leave::kPreempted);
    }
    return expect.findings();
}

// kmain's pick and switch are paid by the budget picked, whatever ended the run before.
Findings switch_is_the_pickeds(const Rules& rules) {
    Expect expect;
    Machine m(1, rules, Costs{.pick = 70});
    const BudgetId root = m.create_root(10'000);
    const BudgetId a = m.create(root, 100);
    const BudgetId b = m.create(root, 100);
    m.spawn(a, 2, [](Machine&) { return Step{.run = 500, .after = After::kExit}; });
    m.spawn_asleep(b, 3, spinner(), 100);
    m.run_until(2 * kSlice);
    expect.equal("the pass of who exited: 70 of its own pick, 500 run", m.queue().budget(a).pass,
                 570 * kS / 100);
    expect.equal("pending of who was picked next", m.queue().pending(0) + m.queue().budget(b).pass,
                 m.queue().pending(0) + (70 + 1000) * kS / 100);
    return expect.findings();
}

// A deadline's destruction is billed to the top's parent once its carve is back, or to the nearest
// ancestor with free weight.
Findings deadline_is_the_parents(const Rules& rules) {
    Expect expect;
    Machine m(1, rules, Costs{.deadline = 250});
    const BudgetId root = m.create_root(10'000);
    const BudgetId spins = m.create(root, 100);
    const BudgetId parent = m.create(root, 100);
    m.create(parent, 90, Class::kUser, 100);
    const BudgetId grandparent = m.create(root, 50);
    const BudgetId weightless = m.create(grandparent, 0);
    m.create(weightless, 0, Class::kUser, 200);
    m.spawn(spins, 2, spinner());
    m.run_until(700);
    expect.equal("the parent's pass, at its restored weight", m.queue().budget(parent).pass,
                 250 * kS / 100);
    expect.equal("the pass of the nearest ancestor with weight", m.queue().budget(grandparent).pass,
                 250 * kS / 50);
    return expect.findings();
}

// An expired timeout is its thread's budget's, with the rest of the entry that found it; the
// interrupted budget pays nothing.
Findings timeout_is_the_sleepers(const Rules& rules) {
    Expect expect;
    Machine m(1, rules, Costs{.timeout = 40, .rest = 25});
    const BudgetId root = m.create_root(10'000);
    const BudgetId spins = m.create(root, 100);
    const BudgetId sleeps = m.create(root, 100);
    m.spawn(spins, 2, spinner());
    m.spawn_asleep(sleeps, 3, spinner(), 100);
    m.run_until(900);
    expect.equal("the sleeper's pass", m.queue().budget(sleeps).pass, 65 * kS / 100);
    expect.equal("what the interrupted budget is charged: user ticks up to the interrupt",
                 m.queue().pending(0), 100);
    return expect.findings();
}

// A slice is user time: the kernel's work between the pick and the return never uses it up.
Findings slice_is_user_time(const Rules& rules) {
    Expect expect;
    Machine m(1, rules, Costs{.pick = 300});
    const BudgetId root = m.create_root(10'000);
    const BudgetId exits = m.create(root, 100);
    const BudgetId spins = m.create(root, 100);
    std::optional<Ticks> ran;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kLeave && e.budget == spins && !ran) {
            ran = e.ticks;
            expect.is_true("the slice ended", e.how == Leave::kSliceEnd);
        }
    };
    m.spawn(exits, 2,
            [](Machine&) { return Step{.run = 100, .after = After::kExit, .call_cost = 900}; });
    m.spawn(spins, 3, spinner());
    m.run_until(6 * kSlice);
    expect.equal("the user ticks of the slice after an exit that took the kernel long",
                 ran.value_or(0), kSlice);
    return expect.findings();
}

// A timed item is armed on the hart that runs its payer; one whose payer runs nowhere on exactly
// one hart.
Findings timer_placement(const Rules& rules) {
    Expect expect;
    Machine m(3, rules);
    const BudgetId root = m.create_root(10'000);
    const BudgetId a = m.create(root, 100);
    const BudgetId b = m.create(root, 100);
    const BudgetId c = m.create(root, 100);
    const BudgetId sleeps = m.create(root, 100);
    m.spawn(a, 2, spinner());
    m.spawn(b, 3, spinner());
    m.spawn(c, 4, spinner());
    const auto hart_of = [&](BudgetId id) {
        for (unsigned hart = 0; hart < 3; ++hart) {
            if (m.queue().runner(hart) == id) {
                return hart;
            }
        }
        return 3U;
    };
    for (const BudgetId id : {a, b, c}) {
        expect.is_true("an item of a runner is armed on its hart",
                       m.armed_on(id) == std::set{hart_of(id)});
    }
    expect.equal("harts on which a sleeper's item is armed", m.armed_on(sleeps).size(), 1);
    // And it is that hart which the item interrupts.
    m.spawn_asleep(b, 3, spinner(), 500);
    std::optional<unsigned> served;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kBill && e.time == 500 && !served) {
            served = e.hart;
        }
    };
    const unsigned runs_b = hart_of(b);
    m.run_until(600);
    expect.equal("the hart that answered the timeout", served.value_or(9), runs_b);
    return expect.findings();
}

}  // namespace

const std::vector<Check>& contracts() {
    static const std::vector<Check> all = {
        {"charge", charge},
        {"remainder", remainder},
        {"minimum charge", minimum_charge},
        {"runtime cap", runtime_cap},
        {"every end is charged", every_end_is_charged},
        {"each hart charges", each_hart_charges},
        {"ties", ties},
        {"floor holds", floor_holds},
        {"leaves have no order", leaves_have_no_order},
        {"wake never preempts", wake_never_preempts},
        {"entry", entry},
        {"lift", lift},
        {"lift from the floor", lift_from_the_floor},
        {"lead follows weight", lead_follows_weight},
        {"saturation", saturation},
        {"requeue is no wait", requeue_is_no_wait},
        {"block leaves a wait", block_leaves_a_wait},
        {"waiter is not capped", waiter_is_not_capped},
        {"empty holds no floor", empty_holds_no_floor},
        {"lift target", lift_target},
        {"kept lag", kept_lag},
        {"turns", turns},
        {"timeout wakes without preempting", timeout_wakes_without_preempting},
        {"equal instant", equal_instant},
        {"deadline preempts", deadline_preempts},
        {"switch is the picked's", switch_is_the_pickeds},
        {"deadline is the parent's", deadline_is_the_parents},
        {"timeout is the sleeper's", timeout_is_the_sleepers},
        {"slice is user time", slice_is_user_time},
        {"timer placement", timer_placement},
    };
    return all;
}

}  // namespace ravelin::model
