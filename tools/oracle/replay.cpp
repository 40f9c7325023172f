// The records in turn, and what the replay hands out; see replay.h and replayer.h.
#include "tools/oracle/replay.h"

#include "tools/oracle/replayer.h"
#include "tools/oracle/wake_bound.h"

#include <cstring>

#include <fmt/format.h>

namespace ravelin::oracle::detail {

void Replayer::reject(const char* check, std::string text, Places places) {
    ++out_.rejected;
    if (out_.findings.size() < options_.max_findings) {
        std::erase(places, kNowhere);
        out_.findings.push_back(
            {.check = check, .text = std::move(text), .records = std::move(places)});
    }
}

void Replayer::step(std::uint64_t at, const TraceRecord& r) {
    const auto kind = static_cast<TraceKind>(r.kind);
    if (!place_in_order(at, r, kind)) {
        return;
    }
    if (kind != TraceKind::pass) {
        bills_are_folded(at);
    }
    if (kind == TraceKind::uncap || kind == TraceKind::floor) {
        if (!raise_.open && destruction_.open && !destruction_.raised) {
            destruction_.raised = true;
            raise(at);
        } else if (!raise_.open) {
            raise_behind_wakes(at);
        }
    } else {
        close_raise(at);
        // The reconcile is over at a pick, at the way out, and at a charge that follows its wakes.
        const bool reconciled = kind == TraceKind::pick || kind == TraceKind::leave ||
                                (kind == TraceKind::charge && entry_.woke);
        if (entry_.open && reconciled) {
            raise_behind_wakes(at);
            close_raise(at);
            entry_.raised_behind_wakes = true;
        }
    }
    switch (kind) {
    case TraceKind::enter: on_enter(at, r); break;
    case TraceKind::leave: on_leave(at, r); break;
    case TraceKind::wake: on_wake(at, r); break;
    case TraceKind::requeue: on_requeue(at, r); break;
    case TraceKind::out: on_out(at, r); break;
    case TraceKind::pass: on_pass(at, r); break;
    case TraceKind::pick: on_pick(at, r); break;
    case TraceKind::uncap: on_uncap(at, r); break;
    case TraceKind::floor: on_floor(at, r); break;
    case TraceKind::counts: on_counts(at, r); break;
    case TraceKind::runner: on_runner(at, r); break;
    case TraceKind::charge: on_charge(at, r); break;
    case TraceKind::top_up: on_top_up(at, r); break;
    case TraceKind::create: on_create(at, r); break;
    case TraceKind::reweigh: on_reweigh(at, r); break;
    case TraceKind::lift: on_lift(at, r); break;
    case TraceKind::destroy_begin: on_destroy_begin(at, r); break;
    case TraceKind::destroy_end: on_destroy_end(at, r); break;
    case TraceKind::expire: on_expire(at, r); break;
    case TraceKind::lock_wait: on_lock_wait(at, r); break;
    case TraceKind::thread_end: on_thread_end(r); break;
    case TraceKind::claim: on_claim(at, r); break;
    case TraceKind::answer: on_answer(at, r); break;
    case TraceKind::freed: on_freed(at, r); break;
    case TraceKind::zero: on_zero(at, r); break;
    case TraceKind::start: time_ = r.x; break;
    case TraceKind::online: on_online(at, r); break;
    case TraceKind::end: on_end(at, r); break;
    case TraceKind::arm: break;
    // Parts of a group: read by its first record.
    case TraceKind::entry_pass: part_of(at, r, TraceKind::create); break;
    case TraceKind::reweighed: part_of(at, r, TraceKind::reweigh); break;
    case TraceKind::lift_work: part_of(at, r, TraceKind::lift); break;
    case TraceKind::lifted: part_of(at, r, TraceKind::lift_work); break;
    case TraceKind::rem: part_of(at, r, TraceKind::reweighed, TraceKind::lifted); break;
    default: reject("structure", fmt::format("no record is of kind {}", r.kind), {at}); break;
    }
}

bool Replayer::place_in_order(std::uint64_t at, const TraceRecord& r, TraceKind kind) {
    const bool last = at + 1 == trace_.records.size();
    if ((kind == TraceKind::start) != (at == 0) || (kind == TraceKind::end) != last) {
        reject("structure",
               fmt::format("a trace begins with its only start and ends with its only end, and "
                           "record {} is {}",
                           at, name_of(kind)),
               {at});
        return kind != TraceKind::start && kind != TraceKind::end;
    }
    if (r.hart >= kMaxHarts || r.hart >= trace_.head.harts) {
        reject("structure", fmt::format("hart {} of {}", r.hart, trace_.head.harts), {at});
        return false;
    }
    // Two equal charges may follow each other; nothing else that is said twice is news.
    if (at != 0 && kind != TraceKind::charge &&
        std::memcmp(&r, &trace_.records[at - 1], sizeof(r)) == 0) {
        reject("structure", fmt::format("{} stands twice", name_of(kind)), {at - 1, at});
    }
    if (kind == TraceKind::enter) {
        return true;
    }
    if (!entry_.open) {
        const bool boot = r.entry == 0 && entry_.number == 0;
        if (!boot && kind != TraceKind::end) {
            reject("structure", "a record stands outside of its entry", {entry_.place, at});
        }
        return true;
    }
    const bool abroad =
        kind == TraceKind::answer ||
        (kind == TraceKind::charge && (r.what == static_cast<std::uint16_t>(TraceCharge::user) ||
                                       r.what == static_cast<std::uint16_t>(TraceCharge::zeroing)));
    if (r.entry != entry_.number || (r.hart != entry_.hart && !abroad)) {
        reject("structure",
               fmt::format("a record of entry {} on hart {} stands within entry {} of hart {}",
                           r.entry, r.hart, entry_.number, entry_.hart),
               {entry_.place, at});
    }
    return true;
}

void Replayer::part_of(std::uint64_t at, const TraceRecord&, TraceKind before,
                       std::optional<TraceKind> or_before) {
    const auto previous = static_cast<TraceKind>(trace_.records[at - 1].kind);
    if (previous != before && (!or_before || previous != *or_before)) {
        reject("structure",
               fmt::format("{} stands behind {}", name_of(kind_at(at)), name_of(previous)),
               {at - 1, at});
    }
}

TraceKind Replayer::kind_at(std::uint64_t at) const {
    return static_cast<TraceKind>(trace_.records[at].kind);
}

const TraceRecord* Replayer::member(std::uint64_t at, TraceKind kind, std::uint64_t id,
                                    std::uint64_t group) {
    if (at < trace_.records.size() && kind_at(at) == kind && trace_.records[at].id == id) {
        return &trace_.records[at];
    }
    reject("structure", fmt::format("{} of budget {} must stand here", name_of(kind), id),
           {group, std::min<std::uint64_t>(at, trace_.records.size() - 1)});
    return nullptr;
}

void Replayer::on_end(std::uint64_t at, const TraceRecord& r) {
    if (r.y != at) {
        reject("structure", fmt::format("the end tells of {} records, {} are there", r.y, at),
               {at});
    }
    out_.end_kind = r.what;
    // A hart that trapped in time may be waiting for the lock yet, behind fewer sections than there are harts.
    std::erase_if(idled_, [this](const Idled& idled) {
        return entry_.number - idled.entry <= trace_.head.harts;
    });
    end_idling(at, r.x);
}

void Replayer::finish() {
    out_.harts_online = online_;
    if (trace_.records.empty() || !out_.end_kind) {
        reject("structure", "the trace has no end", {});
    }
}

}  // namespace ravelin::oracle::detail

namespace ravelin::oracle {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceKind;
using abi::TraceRecord;

const BudgetInfo* Replay::budget(std::uint64_t id) const {
    const auto found = std::find_if(budgets.begin(), budgets.end(),
                                    [id](const BudgetInfo& info) { return info.id == id; });
    return found == budgets.end() ? nullptr : &*found;
}

Replay replay(const Trace& trace, const Options& options) {
    Replay replay = detail::Replayer(trace, options).run();
    const WakeWaits waits = wake_waits(trace, replay);
    replay.wake_wait_longest = waits.longest;
    replay.rejected += waits.rejected;
    replay.findings.insert(replay.findings.end(), waits.findings.begin(), waits.findings.end());
    return replay;
}

Tally tally(const Trace& trace, std::uint64_t first, std::uint64_t last) {
    Tally sum;
    std::uint64_t interrupted = 0;
    bool timer = false;
    for (std::uint64_t at = first; at < last; ++at) {
        const TraceRecord& r = trace.records[at];
        const auto kind = static_cast<TraceKind>(r.kind);
        if (kind == TraceKind::enter) {
            interrupted = r.id;
            timer = static_cast<TraceCause>(r.what & 0xff) == TraceCause::timer && r.id != 0;
        } else if (kind == TraceKind::lock_wait) {
            sum.lock_wait_longest = std::max(sum.lock_wait_longest, r.x);
        } else if (kind == TraceKind::charge && r.what < std::size(sum.by_charge)) {
            const auto what = static_cast<TraceCharge>(r.what);
            sum.hart_ticks += r.x;
            sum.by_charge[r.what] += r.x;
            if (r.id == 0) {
                sum.nobody_by_charge[r.what] += r.x;
            } else if (timer && r.id != interrupted &&
                       (what == TraceCharge::timer || what == TraceCharge::expiry ||
                        what == TraceCharge::destruction)) {
                sum.foreign_timer_ticks += r.x;
            }
        }
    }
    return sum;
}

std::vector<std::string_view> check_names() {
    return {"structure",   "time",  "conservation", "charge", "timer",  "fold",      "floor",
            "cap",         "wake",  "order",        "queue",  "create", "weight",    "lift",
            "destruction", "slice", "preempt",      "lock",   "idle",   "interrupt", "wake_bound"};
}

std::string to_text(const Finding& finding, const Trace& trace) {
    std::string text = fmt::format("{}: {}", finding.check, finding.text);
    for (const std::uint64_t place : finding.records) {
        if (place < trace.records.size()) {
            text += "\n    " + describe(place, trace.records[place]);
        }
    }
    return text;
}

}  // namespace ravelin::oracle
