// Hostile budgets that do anything at random, beside one that sleeps and wakes or one that spins: what nobody
// has thought of.
//
// A sleeper's wait is at most a slice for each hostile budget there can be, and the time in which its share
// makes up for what it ran itself before: three slices, of which it runs two and a half at most. A spinner
// gets 0.96 of its share. Both shares are those of weight among all weights, which is the least that
// water-filling makes of them.
#include <algorithm>
#include <cstdio>
#include <random>

#include "checks.h"
#include "machine.h"

namespace ravelin::model {

namespace {

constexpr unsigned kSeeds = 25;
constexpr unsigned kMostHarts = 4;
constexpr Ticks kEnd = 300 * kSlice;

class Attack {
  public:
    enum class Victim { kSleeper, kSpinner };

    Attack(const Rules& rules, unsigned harts, unsigned seed, Victim kind)
        : random_(seed), machine_(harts, rules) {
        most_budgets_ = 2 + below(5);
        most_threads_ = 2 + below(8);
        const BudgetId root = machine_.create_root(1'000'000);
        const Weight weight = one_in(3) ? 100 : 1000 * (1 + below(100));
        victim_ = machine_.create(root, weight);
        Weight all = weight;
        for (std::uint32_t tops = 1 + below(3); tops > 0; --tops) {
            const Weight own = 1 + (one_in(2) ? weight : below(100'000));
            all += own;
            hostile_.push_back(machine_.create(root, own));
            add_thread(hostile_.back());
        }
        share_ = std::min(1.0, static_cast<double>(weight) * harts / static_cast<double>(all));
        machine_.spawn(victim_, 5, [this, kind](Machine&) {
            return kind == Victim::kSleeper ? nap() : Step{.run = 50 + below(500)};
        });
        machine_.on_event = [this](const Event& event) { see(event); };
    }

    void run() { machine_.run_until(kEnd); }

    /// The sleeper's longest wait of what it may be.
    double longest_wait() const {
        const Ticks now = woke_ ? std::max(longest_, kEnd - *woke_) : longest_;
        const double may =
            static_cast<double>(kSlice) * (1.0 + static_cast<double>(most_budgets_) + 3.0 / share_);
        return static_cast<double>(now) / may;
    }
    /// What the spinner got of its share.
    double part() const {
        return static_cast<double>(machine_.user_ticks(victim_)) /
               (share_ * static_cast<double>(kEnd));
    }

  private:
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(random_() % bound);
    }
    bool one_in(std::uint32_t times) { return below(times) == 0; }

    Step nap() {
        Step step{.run = one_in(3) ? below(2500) : below(100), .after = After::kSleep};
        step.sleep = 1 + below(one_in(2) ? 6000 : 400);
        return step;
    }

    void see(const Event& event) {
        if (event.budget != victim_) {
            return;
        }
        if (event.kind == Event::Kind::kWake) {
            woke_ = event.time;
        } else if (event.kind == Event::Kind::kPick && woke_) {
            longest_ = std::max(longest_, event.time - *woke_);
            woke_.reset();
        }
    }

    void add_thread(BudgetId id) {
        const Budget& budget = machine_.queue().budget(id);
        if (budget.threads() > 3 || threads_.size() >= most_threads_ ||
            machine_.queue().free_weight(id) == 0) {
            return;
        }
        threads_.push_back(
            machine_.spawn(id, next_pid_++, [this, id](Machine&) { return hostile(id); }));
    }

    Step hostile(BudgetId id) {
        Step step;
        switch (below(6)) {
        case 0: step.run = below(20); break;
        case 1: step.run = 900 + below(120); break;
        case 2: step.run = kSlice * (1 + below(4)) + below(3); break;
        default: step.run = below(kSlice); break;
        }
        step.call = [this, id](Machine&) { act(id); };
        switch (below(8)) {
        case 0:
            step.after = After::kSleep;
            step.sleep = 1 + below(3000);
            break;
        case 1:
            step.after = After::kSleep;
            step.sleep = 1 + below(20);
            break;
        case 2:
            if (threads_.size() > 3 && one_in(4)) {
                step.after = After::kExit;
            }
            break;
        default: break;
        }
        return step;
    }

    void act(BudgetId id) {
        std::erase_if(hostile_, [this](BudgetId one) { return !machine_.queue().exists(one); });
        std::erase_if(threads_, [this](ThreadId one) { return !machine_.alive(one); });
        switch (below(10)) {
        case 0:
        case 1: {
            const Weight free = machine_.queue().free_weight(id);
            if (free < 2 || hostile_.size() >= most_budgets_) {
                break;
            }
            hostile_.push_back(machine_.create(id, one_in(2) ? free - 1 : 1 + below(free - 1)));
            if (one_in(3)) {
                add_thread(hostile_.back());
            }
            break;
        }
        case 2:
        case 3: {
            const auto child = std::find_if(hostile_.begin(), hostile_.end(), [&](BudgetId one) {
                return machine_.queue().budget(one).parent == id;
            });
            if (child != hostile_.end()) {
                machine_.destroy(*child);
            }
            break;
        }
        case 4:
        case 5: add_thread(id); break;
        case 6: add_thread(hostile_[below(static_cast<std::uint32_t>(hostile_.size()))]); break;
        default: break;
        }
    }

    std::mt19937_64 random_;
    Machine machine_;
    std::uint64_t most_budgets_ = 0;
    std::uint64_t most_threads_ = 0;
    BudgetId victim_ = 0;
    std::vector<BudgetId> hostile_;
    std::vector<ThreadId> threads_;
    std::uint32_t next_pid_ = 10;
    double share_ = 1.0;
    std::optional<Ticks> woke_;
    Ticks longest_ = 0;
};

Findings attack(const Rules& rules, Attack::Victim kind) {
    Findings found;
    for (unsigned harts = 1; harts <= kMostHarts; ++harts) {
        for (unsigned seed = 0; seed < kSeeds; ++seed) {
            Attack attack(rules, harts, seed, kind);
            attack.run();
            char text[120];
            if (kind == Attack::Victim::kSleeper && attack.longest_wait() > 1.0) {
                std::snprintf(text, sizeof text,
                              "%u harts, seed %u: a sleeper waits %.1f times what it may", harts,
                              seed, attack.longest_wait());
                found.emplace_back(text);
            }
            if (kind == Attack::Victim::kSpinner && attack.part() < 0.96) {
                std::snprintf(text, sizeof text,
                              "%u harts, seed %u: a spinner gets %.2f of its share", harts, seed,
                              attack.part());
                found.emplace_back(text);
            }
        }
    }
    return found;
}

}  // namespace

const std::vector<Check>& attacks() {
    static const std::vector<Check> all = {
        {"attacks on a sleeper",
         [](const Rules& rules) { return attack(rules, Attack::Victim::kSleeper); }},
        {"attacks on a spinner",
         [](const Rules& rules) { return attack(rules, Attack::Victim::kSpinner); }},
    };
    return all;
}

}  // namespace ravelin::model
