// Served time against water-filling. See judge.h.
#include "judge.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace ravelin::model {

Judge::Judge(Machine& machine) : machine_(machine) {
    machine_.on_interval = [this](Ticks from, Ticks to) { interval(from, to); };
}

void Judge::group(const std::string& name, Bound bound, std::set<BudgetId> members, bool sleeps) {
    groups_.push_back(Group{name, bound, std::move(members), {}, sleeps});
}

void Judge::join(const std::string& name, BudgetId member) {
    for (Group& g : groups_) {
        if (g.name == name) {
            g.members.insert(member);
            return;
        }
    }
    throw std::logic_error("no such group");
}

double Judge::served(const Group& g) const {
    double ticks = 0;
    for (const auto* ids : {&g.members, &g.dead}) {
        for (const BudgetId id : *ids) {
            ticks += static_cast<double>(machine_.user_ticks(id) + machine_.kernel_ticks(id));
        }
    }
    return ticks;
}

void Judge::start() {
    open_ = true;
    started_ = machine_.now();
    wasted_before_ = machine_.wasted_ticks();
    for (Group& g : groups_) {
        g.owed = 0;
        g.served_before = served(g);
    }
}

void Judge::interval(Ticks from, Ticks to) {
    if (!open_) {
        return;
    }
    std::vector<Claim> claims;
    for (Group& g : groups_) {
        Claim claim;
        std::erase_if(g.members, [&](BudgetId id) {
            const bool ended = !machine_.queue().exists(id);
            if (ended) {
                g.dead.insert(id);
            }
            return ended;
        });
        for (const BudgetId id : g.members) {
            claim.weight += machine_.queue().free_weight(id);
            claim.threads += machine_.queue().budget(id).threads();
        }
        if (g.sleeps && claim.threads < 1) {
            claim.threads = 1;
        }
        claims.push_back(claim);
    }
    const std::vector<double> shares = fair_shares(machine_.queue().harts(), claims);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        groups_[i].owed += shares[i] * static_cast<double>(to - from);
    }
}

double Judge::surplus(const std::string& name) const {
    const double window = static_cast<double>(machine_.now() - started_);
    for (const Group& g : groups_) {
        if (g.name == name && window > 0) {
            return (served(g) - g.served_before - g.owed) * 1000 / window;
        }
    }
    return 0;
}

Findings Judge::verdict() {
    open_ = false;
    Findings findings;
    const double window = static_cast<double>(machine_.now() - started_);
    for (const Group& g : groups_) {
        const double got = (served(g) - g.served_before) * 1000 / window;
        const double owed = g.owed * 1000 / window;
        const bool too_little = got < owed - kTolerance && g.bound != Bound::kAtMost;
        const bool too_much = got > owed + kTolerance && g.bound != Bound::kAtLeast;
        if (too_little || too_much) {
            char text[160];
            std::snprintf(text, sizeof text, "%s got %.0f of 1000, is owed %.0f", g.name.c_str(),
                          got, owed);
            findings.emplace_back(text);
        }
    }
    if (machine_.wasted_ticks() > wasted_before_) {
        findings.emplace_back("a hart idled while a ready thread waited for one");
    }
    return findings;
}

}  // namespace ravelin::model
