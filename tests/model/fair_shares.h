// Water-filling: the share of the harts that each claimant is owed (R12).
//
// Written apart from the queue's cap set, as a level that rises until the harts are full, so that
// the two cannot share a mistake. Bound: the level is found to one part in 2^60.
#pragma once

#include <vector>

namespace ravelin::model {

struct Claim {
    double weight = 0;   // free weight
    double threads = 0;  // runnable threads: the most harts it can use
};

// Harts owed to each claimant: in proportion to weight, never more than its threads, what it
// cannot use to the others by their weights.
std::vector<double> fair_shares(unsigned harts, const std::vector<Claim>& claims);

}  // namespace ravelin::model
