#include "shrink.h"

#include <algorithm>
#include <utility>

namespace ravelin::differential {

namespace {

class Shrinker {
  public:
    Shrinker(Sequence sequence, const std::function<bool(const Sequence&)>& fails)
        : best_(std::move(sequence)), fails_(fails) {}

    Sequence run() {
        for (bool smaller = true; smaller && tries_ < kTries;) {
            smaller = take_out_steps();
            smaller = make_numbers_small() || smaller;
        }
        return best_;
    }

  private:
    bool accept(const Sequence& candidate) {
        if (++tries_ > kTries || !fails_(candidate)) return false;
        best_ = candidate;
        return true;
    }

    bool take_out_steps() {
        bool smaller = false;
        for (std::size_t piece = std::max<std::size_t>(best_.steps.size() / 2, 1); piece > 0;
             piece /= 2) {
            for (std::size_t from = 0; from < best_.steps.size();) {
                Sequence candidate = best_;
                const auto first = candidate.steps.begin() + static_cast<std::ptrdiff_t>(from);
                const std::size_t count = std::min(piece, best_.steps.size() - from);
                candidate.steps.erase(first, first + static_cast<std::ptrdiff_t>(count));
                if (accept(candidate)) {
                    smaller = true;
                } else {
                    from += piece;
                }
            }
        }
        return smaller;
    }

    template <class Number>
    bool lower(Number Step::* field, std::size_t place) {
        bool smaller = false;
        for (Number step = best_.steps[place].*field; step != 0; step /= 2) {
            while (best_.steps[place].*field >= step) {
                Sequence candidate = best_;
                candidate.steps[place].*field -= step;
                if (!accept(candidate)) break;
                smaller = true;
            }
        }
        return smaller;
    }

    bool make_numbers_small() {
        bool smaller = false;
        for (std::uint32_t Sequence::* field :
             {&Sequence::start, &Sequence::harts, &Sequence::online}) {
            while (best_.*field > (field == &Sequence::start ? 0U : 1U)) {
                Sequence candidate = best_;
                candidate.*field -= 1;
                candidate.online = std::min(candidate.online, candidate.harts);
                if (!accept(candidate)) break;
                smaller = true;
            }
        }
        for (std::size_t place = 0; place < best_.steps.size(); ++place) {
            smaller = lower(&Step::a, place) || smaller;
            smaller = lower(&Step::b, place) || smaller;
            smaller = lower(&Step::n, place) || smaller;
        }
        return smaller;
    }

    Sequence best_;
    const std::function<bool(const Sequence&)>& fails_;
    int tries_ = 0;
};

}  // namespace

Sequence shrink(Sequence sequence, const std::function<bool(const Sequence&)>& fails) {
    return Shrinker(std::move(sequence), fails).run();
}

}  // namespace ravelin::differential
