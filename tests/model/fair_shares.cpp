// Water-filling by bisection of the level. See fair_shares.h.
#include "fair_shares.h"

#include <algorithm>

namespace ravelin::model {

std::vector<double> fair_shares(unsigned harts, const std::vector<Claim>& claims) {
    double threads = 0;
    for (const Claim& claim : claims) {
        threads += claim.weight > 0 ? claim.threads : 0;
    }
    const double wanted = std::min<double>(harts, threads);
    const auto filled = [&](double level) {
        double sum = 0;
        for (const Claim& claim : claims) {
            sum += std::min(claim.threads, level * claim.weight);
        }
        return sum;
    };
    double low = 0;
    double high = 1;
    while (filled(high) < wanted) {
        high *= 2;
        if (high > 1e18) {
            break;
        }
    }
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (filled(middle) < wanted ? low : high) = middle;
    }
    std::vector<double> shares;
    shares.reserve(claims.size());
    for (const Claim& claim : claims) {
        shares.push_back(std::min(claim.threads, high * claim.weight));
    }
    return shares;
}

}  // namespace ravelin::model
