// The fairness scenarios of kernel-facts 13 (R12): whole slices in lockstep unless a program cuts
// them, kWarmUp slices of warm-up, kJudged judged, each judged by water-filling per interval.
//
// Every scene is small and fixed: the same programs give the same run, so a failure replays as is.
#include <memory>

#include "checks.h"
#include "judge.h"
#include "machine.h"

namespace ravelin::model {

namespace {

constexpr Ticks kWarmUp = 400 * kSlice;
constexpr Ticks kJudged = 400 * kSlice;

// Runs `run` ticks and sleeps `sleep`, for ever.
Program bursts(Ticks run, Ticks sleep) {
    return [=](Machine&) { return Step{.run = run, .after = After::kSleep, .sleep = sleep}; };
}

// Warm-up, then the judged window.
Findings judged(Machine& machine, Judge& judge) {
    machine.run_until(machine.now() + kWarmUp);
    judge.start();
    machine.run_until(machine.now() + kJudged);
    return judge.verdict();
}

void append(Findings& to, const Findings& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// ---- one hart ----------------------------------------------------------------------------------

// Spinners at 100, 100 and 300 beside their parent, which keeps 100 of its 600.
Findings classic(const Rules& rules) {
    Machine m(1, rules);
    const BudgetId parent = m.create_root(600);
    Judge judge(m);
    std::uint32_t pid = 2;
    judge.group("the parent of 100", Bound::kExact, {parent});
    m.spawn(parent, pid++, spinner());
    for (const Weight weight : {100U, 100U, 300U}) {
        const BudgetId b = m.create(parent, weight);
        judge.group("a child of " + std::to_string(weight), Bound::kExact, {b});
        m.spawn(b, pid++, spinner());
    }
    return judged(m, judge);
}

// A spinner against equals that give the hart up just before their slice's end, or run in blinks,
// by one thread or by many in turn.
Findings gaming(const Rules& rules) {
    struct Pattern {
        std::uint32_t threads;
        Ticks run, sleep;
    };
    Findings findings;
    for (const Pattern p :
         {Pattern{1, 900, 1}, Pattern{1, 999, 1}, Pattern{1, 20, 1}, Pattern{1, 500, 500},
          Pattern{1, 900, 7000}, Pattern{4, 200, 300}, Pattern{12, 20, 100}}) {
        Machine m(1, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId victim = m.create(root, 100);
        const BudgetId gamer = m.create(root, 100);
        Judge judge(m);
        judge.group("the spinner", Bound::kAtLeast, {victim});
        judge.group("the gamer", Bound::kAtMost, {gamer}, true);
        m.spawn(victim, 2, spinner());
        for (std::uint32_t i = 0; i < p.threads; ++i) {
            m.spawn(gamer, 3, bursts(p.run, p.sleep));
        }
        append(findings, judged(m, judge));
    }
    return findings;
}

// One runs while the other sleeps, then both sleep, then both spin: what was slept is not banked.
Findings idle_gap(const Rules& rules) {
    Findings findings;
    for (const bool gap : {false, true}) {
        Machine m(1, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId runs = m.create(root, 100);
        const BudgetId sleeps = m.create(root, 100);
        Judge judge(m);
        judge.group("who ran", Bound::kExact, {runs});
        judge.group("who slept", Bound::kExact, {sleeps});
        const Ticks awake = kWarmUp + (gap ? 10 * kSlice : 0);
        auto first = std::make_shared<bool>(gap);
        m.spawn(runs, 2, [=](Machine&) {
            if (*first) {
                *first = false;
                return Step{.run = kWarmUp, .after = After::kSleep, .sleep = 10 * kSlice};
            }
            return Step{};
        });
        m.spawn_asleep(sleeps, 3, spinner(), awake);
        m.run_until(awake);
        judge.start();
        m.run_until(m.now() + kJudged);
        append(findings, judge.verdict());
    }
    return findings;
}

// Threads that run nine tenths of a slice and exit, each started by the one before.
Findings exit_churn(const Rules& rules) {
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000);
    const BudgetId victim = m.create(root, 100);
    const BudgetId churner = m.create(root, 100);
    Judge judge(m);
    judge.group("the victim", Bound::kExact, {victim});
    judge.group("the churner", Bound::kExact, {churner});
    m.spawn(victim, 2, spinner());
    auto worker = std::make_shared<Program>();
    *worker = [churner, w = std::weak_ptr(worker)](Machine&) {
        const auto next = w.lock();
        return Step{.run = 900, .after = After::kExit, .call = [churner, next](Machine& machine) {
                        machine.spawn(churner, 3, *next);
                    }};
    };
    m.spawn(churner, 3, *worker);
    return judged(m, judge);
}

// How a budget churner makes and ends the children that run for it.
struct Churn {
    const char* name;
    bool spins;         // the churner's own thread spins between the calls
    bool by_deadline;   // the child ends by its deadline
    bool intermediate;  // the child is two levels down, through a fresh budget
    bool launcher;      // the calls are made from a budget of a sliver beside the churner
};

// A weight-1 child runs a slice and is destroyed, over and over.
Findings budget_churn(const Rules& rules) {
    Findings findings;
    for (const Churn churn : {Churn{"blocked", false, false, false, false},
                              Churn{"spinning", true, false, false, false},
                              Churn{"deadline", false, true, false, false},
                              Churn{"intermediate", false, false, true, false},
                              Churn{"launcher", false, false, false, true},
                              Churn{"spinning launcher", true, false, false, true}}) {
        Machine m(1, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId victim = m.create(root, 100);
        const BudgetId churner = m.create(root, 100);
        Judge judge(m);
        judge.group("the victim", Bound::kAtLeast, {victim});
        judge.group("the churner", Bound::kAtMost, {churner}, true);
        m.spawn(victim, 2, spinner());
        BudgetId caller = churner;
        if (churn.launcher) {
            caller = m.create(root, 5);
            judge.join("the churner", caller);
        }
        auto child = std::make_shared<BudgetId>(0);
        const auto make = [=, &judge](Machine& machine) {
            BudgetId parent = churner;
            if (churn.intermediate) {
                parent = machine.create(churner, 50);
                judge.join("the churner", parent);
                *child = parent;
            }
            const Ticks deadline = churn.by_deadline ? machine.now() + 1500 : kForever;
            const BudgetId leaf = machine.create(parent, 1, Class::kUser, deadline);
            judge.join("the churner", leaf);
            if (!churn.intermediate) {
                *child = leaf;
            }
            machine.spawn(leaf, 4, spinner());
        };
        const auto call = [=](Machine& machine) {
            if (*child != 0 && machine.queue().exists(*child)) {
                machine.destroy(*child);
                *child = 0;
            } else {
                make(machine);
            }
        };
        const bool caller_spins = churn.spins && !churn.launcher;
        m.spawn(caller, 3, [=](Machine&) {
            if (caller_spins) {
                return Step{.run = 700, .call = call};
            }
            return Step{.run = 2, .after = After::kSleep, .sleep = 1500, .call = call};
        });
        if (churn.launcher && churn.spins) {
            m.spawn(churner, 5, spinner());
        }
        for (std::string& finding : (append(findings, judged(m, judge)), findings)) {
            if (finding.find(':') == std::string::npos) {
                finding = std::string(churn.name) + ": " + finding;
            }
        }
    }
    return findings;
}

// A spinner that carves spinning children, one deep and four deep, keeps its half.
Findings carve_inflation(const Rules& rules) {
    Findings findings;
    for (const int depth : {1, 4}) {
        Machine m(1, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId victim = m.create(root, 100);
        BudgetId carver = m.create(root, 100);
        Judge judge(m);
        judge.group("the victim", Bound::kExact, {victim});
        judge.group("the carver", Bound::kExact, {carver});
        m.spawn(victim, 2, spinner());
        m.spawn(carver, 3, spinner());
        Weight weight = 100;
        for (int level = 0; level < depth; ++level) {
            weight = weight * 4 / 5;
            carver = m.create(carver, weight);
            judge.join("the carver", carver);
            m.spawn(carver, static_cast<std::uint32_t>(4 + level), spinner());
        }
        append(findings, judged(m, judge));
    }
    return findings;
}

// A weight-1 lineage runs a slice and is destroyed; a sibling made after it runs before any other
// budget is picked twice, because the debt is stated at the wide parent's weight.
Findings debt_lift(const Rules& rules) {
    Findings findings;
    Machine m(1, rules);
    const BudgetId root = m.create_root(10'000);
    const BudgetId users = m.create(root, 2000);
    for (std::uint32_t peer = 0; peer < 4; ++peer) {
        m.spawn(m.create(root, 100), 10 + peer, spinner());
    }
    m.run_until(kWarmUp);
    const BudgetId light = m.create(users, 1);
    m.spawn(light, 2, spinner());
    m.run_until(m.now() + 8 * kSlice);
    if (m.user_ticks(light) < kSlice) {
        findings.emplace_back("the lineage did not run its slice");
    }
    m.destroy(light);
    m.settle();
    const BudgetId sibling = m.create(users, 1);
    std::map<BudgetId, int> picks;
    bool ran = false;
    m.on_event = [&](const Event& e) {
        if (e.kind == Event::Kind::kPick && !ran) {
            ran = e.budget == sibling;
            if (++picks[e.budget] > 1) {
                findings.emplace_back("another budget was picked twice before the sibling ran");
                ran = true;
            }
        }
    };
    m.spawn(sibling, 3, spinner());
    m.run_until(m.now() + 20 * kSlice);
    if (m.user_ticks(sibling) == 0) {
        findings.emplace_back("the sibling never ran");
    }
    return findings;
}

// Making and ending a child that never ran, and a carve returned at once, move nothing.
Findings idempotence(const Rules& rules) {
    Machine m(1, rules);
    const BudgetId root = m.create_root(10'000);
    std::vector<BudgetId> budgets;
    for (const Weight weight : {7U, 100U, 333U, 1000U}) {
        budgets.push_back(m.create(root, weight));
        m.spawn(budgets.back(), static_cast<std::uint32_t>(2 + budgets.size()), bursts(737, 91));
    }
    for (int round = 0; round < 60; ++round) {
        m.run_until(m.now() + 1313);
        for (const BudgetId id : budgets) {
            Scheduler& queue = m.queue();
            bool runs = false;
            for (unsigned hart = 0; hart < queue.harts(); ++hart) {
                runs = runs || queue.runner(hart) == id;
            }
            const Budget before = queue.budget(id);
            if (runs || before.pass < queue.floor()) {
                continue;  // pending runtime is folded, a stale pass comes to the floor
            }
            const Pass floor = queue.floor();
            const BudgetId child = queue.create(id, queue.free_weight(id) / 2);
            if (queue.budget(child).pass != before.pass) {
                return {"a child entered elsewhere than at its parent's pass"};
            }
            queue.create(child, queue.free_weight(child) / 3);
            queue.carve(child, 1);
            queue.give_back(child, 1);
            queue.destroy(child);
            const Budget& after = queue.budget(id);
            if (after.pass != before.pass || after.rem != before.rem || after.tie != before.tie ||
                queue.floor() != floor) {
                return {"a child that never ran moved its parent"};
            }
        }
    }
    return {};
}

// Every pick is the least of (pass, key, id) for keys kept here: a waker's key is (0, -entry), a
// requeued budget's (1, n).
Findings rank(const Rules& rules) {
    Scheduler queue(1, rules);
    const BudgetId root = queue.create_root(100'000);
    std::map<BudgetId, std::pair<int, std::int64_t>> keys;
    std::vector<BudgetId> budgets;
    for (int i = 0; i < 7; ++i) {
        budgets.push_back(queue.create(root, 100));
    }
    std::uint32_t random = 1;
    const auto below = [&random](std::uint32_t n) {
        random = random * 1664525U + 1013904223U;
        return (random >> 16) % n;
    };
    std::int64_t entry = 0;
    std::int64_t requeues = 0;
    for (int step = 0; step < 4000; ++step) {
        ++entry;
        if (const auto runner = queue.runner(0)) {
            queue.run(0, kSlice);
            const bool blocks = below(3) == 0;
            queue.deschedule(0, blocks ? Leave::kBlocked : Leave::kSliceEnd);
            if (queue.budget(*runner).queued) {
                keys[*runner] = {1, ++requeues};
            } else {
                keys.erase(*runner);
            }
        }
        for (const BudgetId id : budgets) {
            if (!queue.budget(id).queued && below(4) == 0) {
                queue.ready(id);
                keys[id] = {0, -entry};
            }
        }
        queue.reconcile(0);
        std::optional<std::tuple<Pass, std::pair<int, std::int64_t>, BudgetId>> best;
        for (const auto& [id, key] : keys) {
            const auto candidate = std::tuple(queue.budget(id).pass, key, id);
            best = best ? std::min(*best, candidate) : candidate;
        }
        const auto picked = queue.pick(0);
        if (picked.has_value() != best.has_value() || (picked && *picked != std::get<2>(*best))) {
            return {"step " + std::to_string(step) + ": a pick was not the lowest rank"};
        }
    }
    return {};
}

// A shell that keeps giving a child half its weight and taking it back with no run between, and
// one that carves nearly everything away for a burst and takes it back after.
Findings shell(const Rules& rules) {
    Findings findings;
    struct Pattern {
        const char* name;
        Weight limit, given;
        Ticks whole, carved, sleep;
    };
    for (const Pattern p : {Pattern{"no run between", 100, 50, 100, 0, 0},
                            Pattern{"a burst carved", 1000, 999, 90, 810, 100},
                            Pattern{"a long burst carved", 1000, 990, 90, 4900, 0},
                            Pattern{"a return before sleep", 1000, 900, 1, 900, 1}}) {
        Machine m(1, rules);
        const BudgetId root = m.create_root(10'000);
        const BudgetId victim = m.create(root, p.limit);
        const BudgetId carver = m.create(root, p.limit);
        Judge judge(m);
        judge.group(std::string(p.name) + ": the victim", Bound::kAtLeast, {victim});
        judge.group(std::string(p.name) + ": the shell", Bound::kAtMost, {carver}, true);
        m.spawn(victim, 2, spinner());
        auto child = std::make_shared<BudgetId>(0);
        const auto give = [=, &judge](Machine& machine) {
            *child = machine.create(carver, p.given);
            judge.join(std::string(p.name) + ": the shell", *child);
        };
        const auto take = [=](Machine& machine) {
            machine.destroy(*child);
            *child = 0;
        };
        m.spawn(carver, 3, [=](Machine&) {
            if (*child == 0) {
                return Step{.run = p.whole, .call = give};
            }
            return Step{.run = p.carved,
                        .after = p.sleep > 0 ? After::kSleep : After::kContinue,
                        .sleep = p.sleep,
                        .call = take};
        });
        append(findings, judged(m, judge));
    }
    return findings;
}

// A system-class spinner beside a user's: class decides trust, never order.
Findings two_classes(const Rules& rules) {
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000, Class::kSystem);
    const BudgetId system = m.create(root, 100, Class::kSystem);
    const BudgetId user = m.create(root, 300, Class::kUser);
    Judge judge(m);
    judge.group("the system's spinner", Bound::kExact, {system});
    judge.group("the user's spinner", Bound::kExact, {user});
    m.spawn(system, 2, spinner());
    m.spawn(user, 3, spinner());
    return judged(m, judge);
}

// ---- across harts ------------------------------------------------------------------------------

struct Claimant {
    const char* name;
    Weight weight;
    std::uint32_t threads;
};

// Spinners from the start; those of `late` join, or gain their threads, after the warm-up.
Findings spinners(const Rules& rules, unsigned harts, const std::vector<Claimant>& early,
                  const std::vector<Claimant>& late) {
    Machine m(harts, rules);
    const BudgetId root = m.create_root(1'000'000);
    Judge judge(m);
    std::map<std::string, BudgetId> made;
    std::uint32_t pid = 2;
    const auto join = [&](const Claimant& c) {
        if (!made.contains(c.name)) {
            made[c.name] = m.create(root, c.weight);
            judge.group(c.name, Bound::kExact, {made[c.name]});
        }
        for (std::uint32_t i = 0; i < c.threads; ++i) {
            m.spawn(made[c.name], pid, spinner());
        }
        ++pid;
    };
    for (const Claimant& c : early) {
        join(c);
    }
    m.run_until(kWarmUp);
    for (const Claimant& c : late) {
        join(c);
    }
    judge.start();
    m.run_until(m.now() + kJudged);
    return judge.verdict();
}

Findings late_join(const Rules& rules) {
    return spinners(rules, 2, {{"A", 1000, 1}, {"B", 100, 1}}, {{"C", 100, 1}});
}

Findings second_cap(const Rules& rules) {
    return spinners(rules, 3, {{"A", 1000, 1}, {"B", 400, 1}, {"C", 100, 1}, {"D", 100, 1}},
                    {{"E", 100, 1}});
}

Findings uncap(const Rules& rules) {
    return spinners(rules, 2, {{"A", 900, 1}, {"B", 200, 2}}, {{"A", 900, 1}});
}

Findings spread_two(const Rules& rules) {
    return spinners(rules, 2, {{"A", 100, 2}, {"B", 100, 1}, {"C", 100, 1}}, {});
}

Findings spread_four(const Rules& rules) {
    Findings findings = spinners(
        rules, 4, {{"A", 100, 4}, {"B", 100, 1}, {"C", 100, 1}, {"D", 100, 1}, {"E", 100, 1}}, {});
    append(findings, spinners(rules, 4, {{"A", 100, 4}, {"B", 100, 1}}, {}));
    return findings;
}

// Fewer threads than harts for long, then a budget with a thread for each hart joins.
Findings idle_harts(const Rules& rules) {
    Findings findings = spinners(rules, 2, {{"A", 100, 1}, {"B", 100, 1}}, {{"C", 100, 2}});
    append(findings, spinners(rules, 3, {{"A", 100, 1}, {"B", 300, 1}}, {{"C", 200, 3}}));
    return findings;
}

// A carver with a thread for each hart gives a child half its weight while its equal waits behind
// both, and takes it back: what the victim waited is not forfeited.
Findings carve_waiter(const Rules& rules) {
    Findings findings;
    struct Pattern {
        Ticks whole, carved;
    };
    for (const Pattern p : {Pattern{100, 850}, Pattern{10, 1980}, Pattern{950, 1000}}) {
        Machine m(2, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId victim = m.create(root, 100);
        const BudgetId carver = m.create(root, 100);
        Judge judge(m);
        judge.group("the victim", Bound::kAtLeast, {victim});
        judge.group("the carver", Bound::kAtMost, {carver});
        auto child = std::make_shared<BudgetId>(0);
        const auto give = [=, &judge](Machine& machine) {
            *child = machine.create(carver, 50);
            judge.join("the carver", *child);
        };
        const auto take = [=](Machine& machine) {
            machine.destroy(*child);
            *child = 0;
        };
        m.spawn(carver, 3, [=](Machine&) {
            return *child == 0 ? Step{.run = p.whole, .call = give}
                               : Step{.run = p.carved, .call = take};
        });
        m.spawn(carver, 3, spinner());
        m.run_until(kSlice / 2);
        m.spawn(victim, 2, spinner());
        append(findings, judged(m, judge));
    }
    return findings;
}

// Light children run on other harts' time until a deadline 200 ticks ahead ends them there: what
// ran up to that instant is lifted, whichever hart the destruction is made on.
Findings deadline_churn(const Rules& rules) {
    Findings findings;
    for (const unsigned harts : {2U, 3U}) {
        Machine m(harts, rules);
        const BudgetId root = m.create_root(1000);
        const BudgetId victim = m.create(root, 100);
        const BudgetId churner = m.create(root, 100);
        Judge judge(m);
        judge.group("the victim", Bound::kAtLeast, {victim});
        judge.group("the churner", Bound::kAtMost, {churner});
        for (unsigned hart = 0; hart < harts; ++hart) {
            m.spawn(victim, 2, spinner());
        }
        m.spawn(churner, 3, [=, &judge](Machine&) {
            return Step{.run = 20, .call = [=, &judge](Machine& machine) {
                            if (machine.queue().budget(churner).children.size() < 4) {
                                const BudgetId child =
                                    machine.create(churner, 5, Class::kUser, machine.now() + 200);
                                judge.join("the churner", child);
                                machine.spawn(child, 4, spinner());
                            }
                        }};
        });
        append(findings, judged(m, judge));
    }
    return findings;
}

// A capped budget whose own slice ends fall inside the others' slices, and gain it nothing.
Findings heavy_capped(const Rules& rules) {
    Machine m(2, rules);
    const BudgetId root = m.create_root(100'000);
    Judge judge(m);
    const BudgetId b = m.create(root, 100);
    const BudgetId c = m.create(root, 100);
    const BudgetId heavy = m.create(root, 1000);
    judge.group("B", Bound::kExact, {b});
    judge.group("C", Bound::kExact, {c});
    judge.group("the heavy", Bound::kExact, {heavy});
    m.spawn(b, 2, spinner());
    m.run_until(400);
    m.spawn(heavy, 3, spinner());
    m.run_until(kWarmUp);
    m.spawn(c, 4, spinner());
    judge.start();
    m.run_until(m.now() + kJudged);
    return judge.verdict();
}

// A second hart comes online beside a budget with two threads.
Findings hart_arrival(const Rules& rules) {
    Machine m(1, rules);
    const BudgetId root = m.create_root(1000);
    Judge judge(m);
    const BudgetId heavy = m.create(root, 500);
    const BudgetId a = m.create(root, 100);
    const BudgetId b = m.create(root, 100);
    judge.group("the heavy", Bound::kExact, {heavy});
    judge.group("A", Bound::kExact, {a});
    judge.group("B", Bound::kExact, {b});
    m.spawn(heavy, 2, spinner());
    m.spawn(a, 3, spinner());
    m.spawn(a, 3, spinner());
    m.spawn(b, 4, spinner());
    m.run_until(kWarmUp);
    m.hart_online();
    judge.start();
    m.run_until(m.now() + kJudged);
    return judge.verdict();
}

// ---- timers ------------------------------------------------------------------------------------

// Sleepers whose timeouts cost the kernel time, beside a spinner of equal weight: theirs is the
// bill. The victim's user time is what it is judged by.
Findings timer_flood(const Rules& rules) {
    Machine m(1, rules, Costs{.timeout = 40, .rest = 20});
    const BudgetId root = m.create_root(1000);
    const BudgetId victim = m.create(root, 100);
    const BudgetId flooder = m.create(root, 100);
    m.spawn(victim, 2, spinner());
    for (std::uint32_t i = 0; i < 30; ++i) {
        m.spawn(flooder, 3, bursts(1, 1500 + i));
    }
    m.spawn(flooder, 4, spinner());
    m.run_until(kWarmUp);
    const Ticks before = m.user_ticks(victim);
    m.run_until(m.now() + kJudged);
    const Ticks got = (m.user_ticks(victim) - before) * 1000 / kJudged;
    if (got < 450) {
        return {"the victim of a timer flood ran " + std::to_string(got) + " of 1000"};
    }
    return {};
}

// Empty budgets on short deadlines, whose destructions cost the kernel time.
Findings deadline_flood(const Rules& rules) {
    Machine m(1, rules, Costs{.deadline = 200});
    const BudgetId root = m.create_root(1000);
    const BudgetId victim = m.create(root, 100);
    const BudgetId flooder = m.create(root, 100);
    m.spawn(victim, 2, spinner());
    m.spawn(flooder, 3, [=](Machine&) {
        return Step{.run = 5, .after = After::kSleep, .sleep = 1000, .call = [=](Machine& machine) {
                        for (Ticks i = 1; i <= 10; ++i) {
                            machine.create(flooder, 0, Class::kUser, machine.now() + 300 * i);
                        }
                    }};
    });
    m.run_until(kWarmUp);
    const Ticks before = m.user_ticks(victim);
    m.run_until(m.now() + kJudged);
    const Ticks got = (m.user_ticks(victim) - before) * 1000 / kJudged;
    if (got < 450) {
        return {"the victim of a deadline flood ran " + std::to_string(got) + " of 1000"};
    }
    return {};
}

// At two harts a flood's timers fire on the flooder's hart, not on the hart of its neighbour,
// which has one thread and could not be repaid.
Findings timer_neighbour(const Rules& rules) {
    Machine m(2, rules, Costs{.timeout = 40, .deadline = 100, .rest = 10});
    const BudgetId root = m.create_root(1000);
    const BudgetId victim = m.create(root, 100);
    const BudgetId flooder = m.create(root, 100);
    m.spawn(victim, 2, spinner());
    m.run_until(350);
    m.spawn(flooder, 3, spinner());
    for (std::uint32_t i = 0; i < 2; ++i) {
        m.spawn(flooder, 4, [=](Machine&) {
            return Step{.run = 3,
                        .after = After::kSleep,
                        .sleep = 1110 + 7 * i,
                        .call = [=](Machine& machine) {
                            machine.create(flooder, 0, Class::kUser, machine.now() + 611 + i);
                        }};
        });
    }
    m.run_until(kWarmUp);
    const Ticks foreign_before = m.foreign_ticks(victim);
    m.run_until(m.now() + kJudged);
    const Ticks foreign = (m.foreign_ticks(victim) - foreign_before) * 1000 / kJudged;
    if (foreign > 10) {
        return {"the victim's hart served others' timers for " + std::to_string(foreign) +
                " of 1000"};
    }
    return {};
}

}  // namespace

const std::vector<Check>& scenarios() {
    static const std::vector<Check> all = {
        {"classic", classic},
        {"gaming", gaming},
        {"idle gap", idle_gap},
        {"exit churn", exit_churn},
        {"budget churn", budget_churn},
        {"carve inflation", carve_inflation},
        {"debt lift", debt_lift},
        {"idempotence", idempotence},
        {"rank", rank},
        {"shell", shell},
        {"two classes", two_classes},
        {"late join (2 harts)", late_join},
        {"second cap (3 harts)", second_cap},
        {"uncap (2 harts)", uncap},
        {"spread (2 harts)", spread_two},
        {"spread (4 harts)", spread_four},
        {"idle harts", idle_harts},
        {"carve waiter (2 harts)", carve_waiter},
        {"heavy capped (2 harts)", heavy_capped},
        {"deadline churn (2 and 3 harts)", deadline_churn},
        {"hart arrival (2 harts)", hart_arrival},
        {"timer flood", timer_flood},
        {"deadline flood", deadline_flood},
        {"timer neighbour (2 harts)", timer_neighbour},
    };
    return all;
}

}  // namespace ravelin::model
