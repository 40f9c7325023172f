// The bound on a wake's wait; see wake_bound.h.
#include "tools/oracle/wake_bound.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "core/abi/trace.h"

namespace ravelin::oracle {

namespace {

using abi::TraceKind;
using abi::TraceRecord;

constexpr std::uint64_t kStride = std::uint64_t{1} << 20;

/// A place at which a budget's pass or weight came to be another.
struct Moved {
    std::uint64_t place = 0;
    U128 pass = 0;
    bool reweighed = false;
};

/// What one other budget ran in a wait, since its weight changed last.
struct Behind {
    U128 base = 0;  ///< its pass at its first pick
    std::uint64_t weight = 0;
    std::vector<const Run*> runs;
};

class Waits {
  public:
    Waits(const Trace& trace, const Replay& replay, std::size_t max_findings)
        : trace_(trace), replay_(replay), max_findings_(max_findings) {
        for (std::uint64_t place = 0; place < trace_.records.size(); ++place) {
            const TraceRecord& r = trace_.records[place];
            const auto kind = static_cast<TraceKind>(r.kind);
            if (kind == TraceKind::reweighed || kind == TraceKind::uncap ||
                kind == TraceKind::lifted || kind == TraceKind::pass) {
                moved_[r.id].push_back({place, wide(r), kind == TraceKind::reweighed});
            } else if (kind == TraceKind::out) {
                outs_[r.id].push_back(place);
            }
        }
    }

    WakeWaits go() {
        for (const Wake& wake : replay_.wakes) {
            judge(wake);
        }
        return std::move(waits_);
    }

  private:
    const Trace& trace_;
    const Replay& replay_;
    std::size_t max_findings_;
    std::unordered_map<std::uint64_t, std::vector<Moved>> moved_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> outs_;
    WakeWaits waits_;

    /// Where the budget leaves the queue behind the wake, or the end.
    std::uint64_t out_behind(const Wake& wake) const {
        const auto found = outs_.find(wake.budget);
        if (found == outs_.end()) {
            return kNowhere;
        }
        const auto out = std::upper_bound(found->second.begin(), found->second.end(), wake.record);
        return out == found->second.end() ? kNowhere : *out;
    }

    /// What moved the budget's pass or weight between two places.
    std::span<const Moved> moved_between(std::uint64_t budget, std::uint64_t from,
                                         std::uint64_t until) const {
        const auto found = moved_.find(budget);
        if (found == moved_.end()) {
            return {};
        }
        const auto ahead = [](const Moved& moved, std::uint64_t place) {
            return moved.place < place;
        };
        const auto first =
            std::lower_bound(found->second.begin(), found->second.end(), from + 1, ahead);
        return {first, std::lower_bound(first, found->second.end(), until, ahead)};
    }

    /// The budget's highest pass from the wake to its pick.
    U128 highest(const Wake& wake, std::uint64_t until) const {
        U128 pass = wake.pass;
        for (const Moved& moved : moved_between(wake.budget, wake.record, until)) {
            pass = std::max(pass, moved.pass);
        }
        return pass;
    }

    bool reweighed_between(std::uint64_t budget, std::uint64_t from, std::uint64_t until) const {
        const auto moves = moved_between(budget, from, until);
        return std::any_of(moves.begin(), moves.end(), [](const Moved& m) { return m.reweighed; });
    }

    /// When the entry of the wake took the lock.
    std::uint64_t answered(const Wake& wake) const {
        std::uint64_t place = wake.record;
        while (place != 0 &&
               static_cast<TraceKind>(trace_.records[place].kind) != TraceKind::enter) {
            --place;
        }
        return trace_.records[place].y;
    }

    /// The weight that the run's runner record states.
    std::uint64_t weight_of(const Run& run) const {
        for (std::uint64_t place = run.picked; place <= run.began; ++place) {
            const TraceRecord& r = trace_.records[place];
            if (static_cast<TraceKind>(r.kind) == TraceKind::runner && r.id == run.budget) {
                return r.x;
            }
        }
        return 0;
    }

    void judge(const Wake& wake) {
        const auto first = std::upper_bound(
            replay_.runs.begin(), replay_.runs.end(), wake.record,
            [](std::uint64_t place, const Run& run) { return place < run.picked; });
        const std::uint64_t out = out_behind(wake);
        std::unordered_map<std::uint64_t, Behind> others;
        auto run = first;
        for (; run != replay_.runs.end() && run->picked < out; ++run) {
            if (run->budget == wake.budget) {
                const std::uint64_t from = answered(wake);
                const std::uint64_t to = trace_.records[run->began].x;
                waits_.longest = std::max(waits_.longest, to - std::min(from, to));
                break;
            }
            Behind& other = others[run->budget];
            if (other.runs.empty() ||
                reweighed_between(run->budget, other.runs.back()->picked, run->picked)) {
                hold(wake, run->picked, run->budget, other);
                other = {wide(trace_.records[run->picked]), weight_of(*run), {}};
            }
            other.runs.push_back(&*run);
        }
        const std::uint64_t until = run == replay_.runs.end() ? kNowhere : run->picked;
        for (const auto& [budget, other] : others) {
            hold(wake, until, budget, other);
        }
    }

    void hold(const Wake& wake, std::uint64_t until, std::uint64_t budget, const Behind& other) {
        if (other.runs.size() < 2 || other.weight == 0) {
            return;
        }
        const std::uint64_t last = other.runs.back()->picked;
        std::uint64_t ran = 0;
        // What lost its hart in the entry of the last pick was charged there first.
        for (const Run* run : other.runs) {
            ran += run->lost <= other.runs.back()->began ? run->user : 0;
        }
        const U128 pass = highest(wake, until);
        const U128 lead = pass > other.base ? pass - other.base : 0;
        const U128 most = lead * other.weight / kStride + 1;
        if (ran <= most) {
            return;
        }
        ++waits_.rejected;
        if (waits_.findings.size() < max_findings_) {
            waits_.findings.push_back(
                {.check = "wake_bound",
                 .text = fmt::format(
                     "budget {} waits from its wake while budget {} runs {} ticks ahead of "
                     "its last pick, and its lead allows {}",
                     wake.budget, budget, ran, static_cast<std::uint64_t>(most)),
                 .records = {wake.record, other.runs.front()->picked, last}});
        }
    }
};

}  // namespace

WakeWaits wake_waits(const Trace& trace, const Replay& replay, std::size_t max_findings) {
    return Waits(trace, replay, max_findings).go();
}

}  // namespace ravelin::oracle
