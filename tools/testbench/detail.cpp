#include "tools/testbench/detail.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

namespace ravelin::testbench {

namespace {

using abi::TraceKind;
using abi::TraceRecord;

/// Slices shown on either side of an event.
constexpr double kSlicesAround = 12.0;

bool is(const TraceRecord& record, TraceKind kind) {
    return record.kind == static_cast<std::uint8_t>(kind);
}

class Details {
  public:
    Details(const Case& judged, const oracle::Trace& trace, const oracle::Replay& replay)
        : trace_(trace), replay_(replay) {
        for (const oracle::BudgetInfo& budget : replay.budgets) {
            accounts_.emplace(budget.id, budget.account);
        }
        for (const JudgedBudget& budget : judged.budgets) {
            names_.emplace(budget.account, budget.name);
        }
        start_ = trace.records.empty() ? 0 : trace.records[0].x;
    }

    Detail make(const std::vector<oracle::Window>& windows,
                const std::vector<std::pair<std::uint64_t, std::string>>& places) {
        curves();
        for (const auto& [place, text] : places) {
            view(place, text);
        }
        if (!windows.empty()) {
            view(windows[0].first, "window 1 begins");
        }
        longest_section();
        first_of(TraceKind::destroy_begin, 1, "a deadline's destruction");
        first_of(TraceKind::uncap, std::nullopt, "a lift out of the cap set");
        if (!windows.empty()) {
            view((windows[0].first + windows[0].last) / 2, "the middle of window 1");
            view(windows[0].last, "window 1 ends");
        }
        if (!trace_.records.empty()) {
            view(trace_.records.size() - 1, "the end");
        }
        return std::move(detail_);
    }

  private:
    const oracle::Trace& trace_;
    const oracle::Replay& replay_;
    std::unordered_map<std::uint64_t, std::uint16_t> accounts_;
    std::unordered_map<std::uint16_t, std::string> names_;
    std::uint64_t start_ = 0;
    Detail detail_;

    std::string who(std::uint64_t budget) const {
        const auto account = accounts_.find(budget);
        const auto name = account == accounts_.end() ? names_.end() : names_.find(account->second);
        return name == names_.end() ? fmt::format("budget {}", budget) : name->second;
    }

    double microseconds(std::uint64_t ticks) const {
        return std::round(1e7 * static_cast<double>(ticks) /
                          static_cast<double>(trace_.head.timebase)) /
               10.0;
    }

    /// The time that a place of the trace is at: of the nearest record before it that has one.
    std::uint64_t time_of(std::uint64_t place) const {
        for (std::uint64_t at = std::min<std::uint64_t>(place, trace_.records.size() - 1);; --at) {
            const TraceRecord& record = trace_.records[at];
            if (is(record, TraceKind::enter)) {
                return record.y;
            }
            if (is(record, TraceKind::leave) || at == 0) {
                return record.x;
            }
        }
    }

    double at(std::uint64_t place) const {
        const std::uint64_t time = time_of(place);
        return microseconds(time > start_ ? time - start_ : 0);
    }

    // --- curves ---

    void curve(const std::string& name, const std::string& group,
               std::vector<std::uint64_t>& ticks) {
        if (ticks.size() < 2) {
            return;
        }
        std::sort(ticks.begin(), ticks.end());
        Curve curve{
            .name = name, .group = group, .unit = "us", .count = ticks.size(), .values = {}};
        for (const double percentile : kPercentiles) {
            const double rank = percentile / 100.0 * static_cast<double>(ticks.size() - 1);
            curve.values.push_back(microseconds(ticks[static_cast<std::size_t>(std::ceil(rank))]));
        }
        detail_.curves.push_back(std::move(curve));
    }

    void curves() {
        std::map<std::string, std::vector<std::uint64_t>> waits;
        std::map<std::string, std::vector<std::uint64_t>> stays;
        std::unordered_map<std::uint64_t, std::vector<const oracle::Run*>> runs;
        for (const oracle::Run& run : replay_.runs) {
            runs[run.budget].push_back(&run);
            if (run.lost != oracle::kNowhere && judged(run.budget)) {
                stays[who(run.budget)].push_back(run.user);
            }
        }
        for (const oracle::Wake& wake : replay_.wakes) {
            const auto& its = runs[wake.budget];
            const auto next = std::lower_bound(
                its.begin(), its.end(), wake.record,
                [](const oracle::Run* run, std::uint64_t place) { return run->picked < place; });
            if (judged(wake.budget) && next != its.end() && (*next)->began != 0) {
                waits[who(wake.budget)].push_back(time_of((*next)->began) - time_of(wake.record));
            }
        }
        std::vector<std::uint64_t> lock_waits;
        std::vector<std::uint64_t> sections;
        std::uint64_t locked = 0;
        for (const TraceRecord& record : trace_.records) {
            if (is(record, TraceKind::lock_wait)) {
                lock_waits.push_back(record.x);
            } else if (is(record, TraceKind::enter)) {
                locked = record.y;
            } else if (is(record, TraceKind::leave) && locked != 0) {
                sections.push_back(record.x - locked);
            }
        }
        for (auto& [name, ticks] : waits) {
            curve("from a wake to user code", name, ticks);
        }
        for (auto& [name, ticks] : stays) {
            curve("user time of a stay on a hart", name, ticks);
        }
        curve("kernel entry, from lock to return", "all", sections);
        curve("wait for the kernel lock", "all", lock_waits);
    }

    bool judged(std::uint64_t budget) const {
        const auto account = accounts_.find(budget);
        return account != accounts_.end() && names_.contains(account->second);
    }

    // --- views ---

    void first_of(TraceKind kind, std::optional<std::uint16_t> what, const std::string& title) {
        const auto found = std::find_if(
            trace_.records.begin(), trace_.records.end(), [&](const TraceRecord& record) {
                return is(record, kind) && (!what || record.what == *what);
            });
        if (found != trace_.records.end()) {
            view(static_cast<std::uint64_t>(found - trace_.records.begin()), title);
        }
    }

    void longest_section() {
        std::uint64_t longest = 0;
        std::uint64_t place = 0;
        std::uint64_t entered = 0;
        for (std::uint64_t i = 0; i < trace_.records.size(); ++i) {
            const TraceRecord& record = trace_.records[i];
            if (is(record, TraceKind::enter)) {
                entered = i;
            } else if (is(record, TraceKind::leave) && entered != 0 &&
                       (trace_.records[entered].what & 0xff) !=
                           static_cast<unsigned>(abi::TraceCause::boot) &&
                       record.x - trace_.records[entered].y > longest) {
                longest = record.x - trace_.records[entered].y;
                place = entered;
            }
        }
        if (longest != 0) {
            view(place, fmt::format("the longest kernel entry, {} us", microseconds(longest)));
        }
    }

    void view(std::uint64_t place, const std::string& title) {
        if (detail_.views.size() == kMostViews) {
            return;
        }
        const double around = kSlicesAround * microseconds(trace_.head.slice_ticks);
        View view;
        view.title = fmt::format("{} (record {})", title, place);
        view.at = at(place);
        view.from = std::max(0.0, view.at - around);
        view.to = view.at + around;
        for (const oracle::Run& run : replay_.runs) {
            const std::uint64_t last =
                run.lost == oracle::kNowhere ? trace_.records.size() - 1 : run.lost;
            // Places go by time, so most stays are told apart without one.
            if (run.began == 0 || view.stays.size() == kMostStays) {
                continue;
            }
            const double from = at(run.began);
            const double to = at(last);
            if (to < view.from || from > view.to) {
                continue;
            }
            view.stays.push_back({.hart = run.hart,
                                  .who = who(run.budget),
                                  .from = from,
                                  .to = to,
                                  .how = std::string(oracle::name_of(run.how))});
        }
        marks(view);
        detail_.views.push_back(std::move(view));
    }

    void marks(View& view) const {
        double now = 0.0;
        for (const TraceRecord& record : trace_.records) {
            if (is(record, TraceKind::enter)) {
                now = microseconds(record.y > start_ ? record.y - start_ : 0);
            }
            if (now < view.from) {
                continue;
            }
            if (now > view.to || view.marks.size() == kMostStays) {
                return;
            }
            if (is(record, TraceKind::wake)) {
                view.marks.push_back({now, record.hart, who(record.id) + " wakes"});
            } else if (is(record, TraceKind::destroy_begin)) {
                view.marks.push_back({now, record.hart, who(record.id) + " is destroyed"});
            } else if (is(record, TraceKind::claim)) {
                view.marks.push_back({now, record.hart, "a device interrupt"});
            }
        }
    }
};

}  // namespace

Detail detail_of(const Case& judged, const oracle::Trace& trace, const oracle::Replay& replay,
                 const std::vector<oracle::Window>& windows,
                 const std::vector<std::pair<std::uint64_t, std::string>>& places) {
    return Details(judged, trace, replay).make(windows, places);
}

}  // namespace ravelin::testbench
