#include "trace_replay.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "scheduler.h"
#include "show.h"

namespace ravelin::differential {

namespace {

using abi::TraceKind;
using abi::TraceRecord;
using model::BudgetId;
using model::Pass;

Pass wide(const TraceRecord& record) {
    return Pass{record.y} << 64 | record.x;
}

// What the trace has told of a budget so far.
struct Told {
    Pass pass = 0;
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    bool queued = false;
    model::Class cls = model::Class::kUser;
};

class TraceReplay {
  public:
    TraceReplay(std::span<const TraceRecord> trace, model::Rules rules, Replayed& met)
        : trace_(trace), met_(met), model_(1, rules) {}

    std::optional<Parting> run() {
        for (; at_ < trace_.size(); ++at_) {
            try {
                take(trace_[at_]);
            } catch (const std::logic_error& refused) {
                // What the kernel did is misuse only in a state that the kernel was not in.
                differ(std::string("the model refuses: ") + refused.what());
            }
            if (!found_.empty()) return Parting{at_, found_};
        }
        return std::nullopt;
    }

  private:
    void differ(const std::string& what) {
        if (found_.empty()) found_ = what;
    }
    void same(const std::string& what, Pass kernel, Pass model) {
        if (kernel != model)
            differ(what + ": the kernel has " + show(kernel) + ", the model " + show(model));
    }

    TraceKind kind_at(std::size_t place) const {
        return place < trace_.size() ? static_cast<TraceKind>(trace_[place].kind) : TraceKind::end;
    }
    unsigned hart_of(const TraceRecord& record) const { return harts_.at(record.hart); }

    // All that was told against the model. Called before each step: what the one before it did has
    // been told by then.
    void compare() {
        if (grouped_) return;
        met_.steps += 1;
        same("floor", floor_, model_.floor());
        same("budgets", told_.size(), model_.budgets().size());
        for (const auto& [id, told] : told_) {
            const model::Budget& budget = model_.budget(id);
            if (told.pass == budget.pass && told.waiting == budget.waiting &&
                told.running == budget.running && told.queued == budget.queued) {
                continue;
            }
            const std::string which = "budget " + std::to_string(id) + " ";
            same(which + "pass", told.pass, budget.pass);
            same(which + "waiting", told.waiting, budget.waiting);
            same(which + "running", told.running, budget.running);
            same(which + "queued", told.queued, budget.queued);
        }
    }

    void reconcile(unsigned hart) {
        if (reconciled_) return;
        compare();
        model_.reconcile(hart);
        reconciled_ = true;
    }

    // Is the pass at `place` folded to prepare the creation or the weight change that follows it?
    bool prepares(std::size_t place) const {
        const BudgetId id = trace_[place].id;
        while (kind_at(place) == TraceKind::pass && trace_[place].id == id)
            ++place;
        if (kind_at(place) == TraceKind::create) return trace_[place].x == id;
        return kind_at(place) == TraceKind::reweigh && trace_[place].id == id;
    }

    // Is the charge at `place` the last of its entry?
    bool closes(std::size_t place) const {
        ++place;
        while (kind_at(place) == TraceKind::pass || kind_at(place) == TraceKind::uncap ||
               kind_at(place) == TraceKind::floor)
            ++place;
        return kind_at(place) == TraceKind::arm || kind_at(place) == TraceKind::leave;
    }

    void take(const TraceRecord& r) {
        switch (static_cast<TraceKind>(r.kind)) {
        case TraceKind::start: return model_.set_slice(r.y * RAVELIN_SLICE_US / 1'000'000);
        case TraceKind::online: return come_online(r);
        case TraceKind::enter:
            reconciled_ = false;
            thread_ended_ = false;
            if (harts_.contains(r.hart)) same_runner(r);  // else it comes online
            return;
        case TraceKind::leave:
            reconcile(hart_of(r));
            compare();
            return same_runner(r);
        case TraceKind::charge: return charge(r);
        case TraceKind::pass: return pass(r);
        case TraceKind::counts: return counts(r);
        case TraceKind::create: return create(r);
        case TraceKind::reweigh: return reweigh(r);
        case TraceKind::entry_pass:
        case TraceKind::reweighed:
        case TraceKind::lifted: told_.at(r.id).pass = wide(r); return;
        case TraceKind::rem: return same("remainder", r.x, model_.budget(r.id).rem);
        case TraceKind::wake:
            reconcile(hart_of(r));
            met_.wakes += 1;
            told_.at(r.id).queued = true;
            told_.at(r.id).pass = wide(r);
            return;
        case TraceKind::requeue: told_.at(r.id).pass = wide(r); return;
        case TraceKind::out: return out(r);
        case TraceKind::pick: return pick(r);
        case TraceKind::runner: return runner(r);
        case TraceKind::uncap: return uncap(r);
        case TraceKind::floor: return floor(r);
        case TraceKind::destroy_begin:
            compare();
            destroying_ = true;
            met_.destructions += 1;
            return model_.begin_destruction();
        case TraceKind::lift: return lift(r);
        case TraceKind::destroy_end: end_destruction(); return;
        case TraceKind::thread_end: thread_ended_ = true; return;
        default: return;
        }
    }

    void same_runner(const TraceRecord& r) {
        same("runner", r.id, model_.runner(hart_of(r)).value_or(0));
    }

    void come_online(const TraceRecord& r) {
        if (harts_.empty()) {
            harts_.emplace(r.hart, 0);
            return;
        }
        compare();
        harts_.emplace(r.hart, model_.hart_online());
    }

    void charge(const TraceRecord& r) {
        const unsigned hart = hart_of(r);
        if (!destroying_ && closes(at_)) reconcile(hart);
        if (r.id == 0) return;
        if (model_.runner(hart) == r.id) return model_.run(hart, r.x);
        if (!destroying_) compare();
        met_.bills += 1;
        billed_ = r.id;
        model_.bill(hart, r.id, r.x);
    }

    void pass(const TraceRecord& r) {
        const unsigned hart = hart_of(r);
        if (billed_ == r.id) {
            billed_ = 0;
        } else if (destroying_ || prepares(at_)) {
            // Part of the lift, creation or weight change that follows.
            compare();
            grouped_ = true;
        } else if (model_.runner(hart) == r.id) {
            deschedule(hart, r.id);
        }
        told_.at(r.id).pass = wide(r);
    }

    // The fold is the first of its records; the counts tell whether the thread stays.
    void deschedule(unsigned hart, BudgetId id) {
        std::size_t place = at_;
        while (kind_at(place) != TraceKind::counts && kind_at(place) != TraceKind::leave)
            ++place;
        const bool stays = trace_[place].x == told_.at(id).waiting + 1;
        compare();
        model_.deschedule(hart, stays           ? model::Leave::kSliceEnd
                                : thread_ended_ ? model::Leave::kExited
                                                : model::Leave::kBlocked);
        told_.at(id).queued = trace_[place].x + trace_[place].y != 0;
    }

    void counts(const TraceRecord& r) {
        Told& told = told_.at(r.id);
        const bool came = r.y == told.running && r.x == told.waiting + 1;
        const bool went = r.y == told.running && r.x + 1 == told.waiting;
        if (came || went) {
            if (!destroying_) compare();
            came ? model_.ready(r.id) : model_.unready(r.id);
        }
        told.waiting = r.x;
        told.running = r.y;
    }

    void create(const TraceRecord& r) {
        compare();
        grouped_ = false;
        met_.creations += 1;
        // Class is trust, told by no record: of the boot tree the root and its first child have it.
        const bool root = r.x == 0;
        const bool system = root || (trust_.contains(r.x) && (r.x != root_ || trust_.size() == 1));
        const auto cls = system ? model::Class::kSystem : model::Class::kUser;
        if (root) root_ = r.id;
        if (system) trust_[r.id] = true;
        const auto limit = static_cast<model::Weight>(r.y);
        root ? model_.create_root(limit, cls, r.id) : model_.enter(r.x, limit, cls, r.id);
        told_[r.id] = {};
    }

    void reweigh(const TraceRecord& r) {
        compare();
        grouped_ = false;
        if (r.y < r.x) {
            model_.carve(r.id, static_cast<model::Weight>(r.x - r.y));
        } else {
            model_.give_back(r.id, static_cast<model::Weight>(r.y - r.x));
        }
    }

    void out(const TraceRecord& r) {
        Told& told = told_.at(r.id);
        if (destroying_) {
            compare();
            grouped_ = true;
        } else if (told.queued) {
            // No deschedule's: the reconcile takes it out.
            reconcile(hart_of(r));
        }
        told.queued = false;
        told.pass = wide(r);
    }

    void lift(const TraceRecord& r) {
        compare();
        grouped_ = false;
        billed_ = 0;
        model_.bury(r.id);
        told_.erase(r.id);
    }

    void end_destruction() {
        if (!destroying_) return;
        compare();
        destroying_ = false;
        model_.end_destruction();
    }

    void pick(const TraceRecord& r) {
        reconcile(hart_of(r));
        compare();
        met_.picks += 1;
        same("pick", r.id, model_.pick(hart_of(r)).value_or(0));
        told_.at(r.id).pass = wide(r);
    }

    void runner(const TraceRecord& r) {
        if (r.id != 0) return same_runner(r);
        reconcile(hart_of(r));
        compare();
        same("pick", 0, model_.pick(hart_of(r)).value_or(0));
    }

    // A raise's records stand behind its step, which the model may still have to make.
    void uncap(const TraceRecord& r) {
        met_.uncaps += 1;
        if (model_.budget(r.id).capped) raising_step(r);
        told_.at(r.id).pass = wide(r);
    }
    void floor(const TraceRecord& r) {
        if (wide(r) > model_.floor()) raising_step(r);
        floor_ = wide(r);
    }
    void raising_step(const TraceRecord& r) {
        if (destroying_) return end_destruction();
        reconcile(hart_of(r));
    }

    std::span<const TraceRecord> trace_;
    Replayed& met_;
    model::Scheduler model_;
    std::map<unsigned, unsigned> harts_;  // the kernel's number of a hart to the model's
    std::map<BudgetId, Told> told_;
    std::map<BudgetId, bool> trust_;
    BudgetId root_ = 0;
    Pass floor_ = 0;
    BudgetId billed_ = 0;  // whose fold by a bill is told next
    bool reconciled_ = false;
    bool destroying_ = false;
    bool grouped_ = false;  // folds were told whose step follows
    bool thread_ended_ = false;
    std::size_t at_ = 0;
    std::string found_;
};

}  // namespace

std::optional<Parting> replay_on_model(std::span<const TraceRecord> trace, model::Rules rules,
                                       Replayed* met) {
    Replayed unused;
    return TraceReplay(trace, rules, met == nullptr ? unused : *met).run();
}

}  // namespace ravelin::differential
