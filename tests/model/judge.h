// Judges who got what: served hart time against water-filling, interval by interval (R12).
//
// A group is what has one claim: one budget, or a lineage whose carves move weight within it. Over
// every stretch in which nothing changes the judge adds what each group is owed by fair_shares
// (weight: the free weights of its living members; threads: their runnable threads) and at the end
// compares the sum with what its members were served, user and kernel time alike.
// Bound: kTolerance of 1000 of one hart's time in the window.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "checks.h"
#include "fair_shares.h"
#include "machine.h"

namespace ravelin::model {

inline constexpr double kTolerance = 50;

enum class Bound {
    kExact,    // owed, neither more nor less
    kAtLeast,  // a victim
    kAtMost,   // an attacker, who may leave some of its share
};

class Judge {
  public:
    // Attaches to `machine` (its on_interval); it must outlive the judge.
    explicit Judge(Machine& machine);

    // `sleeps`: its members sleep as part of the attack, and it claims as if one thread never did:
    // sleeping and waking may get it its weight's share, not more.
    void group(const std::string& name, Bound bound, std::set<BudgetId> members,
               bool sleeps = false);
    // Budgets made later join their group here.
    void join(const std::string& name, BudgetId member);

    // The window starts now.
    void start();
    // The window ends now: what is wrong, in words, each with the figures of 1000 of one hart.
    Findings verdict();
    // Served less owed, of 1000 of one hart, so far.
    double surplus(const std::string& name) const;

  private:
    struct Group {
        std::string name;
        Bound bound;
        std::set<BudgetId> members;  // living, or not yet seen dead
        std::set<BudgetId> dead;     // they claim nothing, what they were served counts
        bool sleeps = false;
        double owed = 0;
        double served_before = 0;
    };

    double served(const Group& g) const;
    void interval(Ticks from, Ticks to);

    Machine& machine_;
    std::deque<Group> groups_;
    bool open_ = false;
    Ticks started_ = 0;
    Ticks wasted_before_ = 0;
};

}  // namespace ravelin::model
