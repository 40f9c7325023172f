// Feeds the core's scheduler, compiled for the host and wired as core/sched wires it, with what a recorded
// run fed its own: charges, threads that became ready or ceased to be, who gave up a hart, creations and
// destructions. The picks, record for record, and the passes around them must be the recorded ones.
//
// usage: replay_trace FILE [ALTERATION]
//   An alteration spoils one thing, so that the replay can be seen to notice: charge (one charge of the
//   trace is a tick longer), wake (one thread of the trace becomes ready later), weight (the scheduler takes
//   one budget's weight for one more), pick (it does not charge what a pick costs).
// exit code: 0 if all is as recorded, 1 with the first record that is not, 2 for what cannot be replayed.
// Bound: one pass over the trace.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/assert.h"
#include "tests/differential/wiring.h"
#include "tools/oracle/trace_file.h"

namespace ravelin::differential {

namespace {

using abi::TraceCharge;
using abi::TraceKind;
using abi::TraceRecord;

U128 wide(const TraceRecord& record) {
    return {record.y, record.x};
}

TraceKind kind_of(const TraceRecord& record) {
    return static_cast<TraceKind>(record.kind);
}

class Replay {
  public:
    Replay(const oracle::Trace& trace, std::string_view alteration)
        : records_(trace.records), alteration_(alteration) {}

    /// Whether all is as recorded.
    bool run() {
        for (place_ = 0; place_ < records_.size() && good_; ++place_) {
            step(records_[place_]);
        }
        if (good_ && picks_ < 100) {
            std::printf("only %zu picks: nothing to compare\n", picks_);
            return false;
        }
        return good_;
    }

    std::size_t picks() const { return picks_; }

  private:
    using Budget = Wiring::Budget;

    void expect(bool condition, const char* what) {
        if (!condition && good_) {
            good_ = false;
            std::printf("record %zu, entry %u, budget %llu: %s\n", place_, records_[place_].entry,
                        static_cast<unsigned long long>(records_[place_].id), what);
        }
    }

    Budget* find(u64 id) {
        const auto found = wiring_.budgets().find(id);
        expect(found != wiring_.budgets().end(), "no such budget is alive");
        return found == wiring_.budgets().end() ? nullptr : found->second.get();
    }

    void expect_pass(const TraceRecord& record, const char* what) {
        if (const Budget* budget = find(record.id)) {
            expect(budget->entity.pass == wide(record), what);
        }
    }

    // The place of the requeue or out that ends the deschedule which the fold at `place` begins, if it
    // does: floors and uncaps of its raise and the counts lie between.
    std::optional<std::size_t> deschedule_from(std::size_t place) const {
        const TraceRecord& fold = records_[place];
        std::optional<std::size_t> counts;
        for (std::size_t at = place + 1; at < records_.size(); ++at) {
            const TraceRecord& record = records_[at];
            switch (kind_of(record)) {
            case TraceKind::floor:
            case TraceKind::uncap: continue;
            case TraceKind::counts:
                if (counts || record.id != fold.id) return std::nullopt;
                counts = at;
                continue;
            case TraceKind::requeue:
            case TraceKind::out:
                return counts && record.id == fold.id && record.what == 0 ? std::optional(at)
                                                                          : std::nullopt;
            default: return std::nullopt;
            }
        }
        return std::nullopt;
    }

    void deschedule(const TraceRecord& record, std::size_t end) {
        Budget* budget = find(record.id);
        if (budget == nullptr) return;
        expect(wiring_.harts()[record.hart].runner == budget, "the hart does not run it");
        if (!good_) return;
        u64 waiting = 0;
        for (std::size_t at = place_; at < end; ++at) {
            if (kind_of(records_[at]) == TraceKind::counts) waiting = records_[at].x;
        }
        wiring_.deschedule(record.hart, waiting > budget->entity.waiting);
        expect(budget->entity.pass == wide(record), "another pass behind a deschedule");
        expect(budget->entity.queued() == (kind_of(records_[end]) == TraceKind::requeue),
               "requeued or out?");
        for (; place_ < end; ++place_) {
            note_floor(records_[place_ + 1]);
        }
    }

    void note_floor(const TraceRecord& record) {
        if (kind_of(record) == TraceKind::floor) {
            floor_ = wide(record);
        }
    }

    void counts(const TraceRecord& record) {
        Budget* budget = find(record.id);
        if (budget == nullptr) return;
        if (record.x > budget->entity.waiting && alteration_ == "wake" && ++altered_ == 12) {
            return;
        }
        while (budget->entity.waiting < record.x)
            wiring_.ready(*budget);
        while (budget->entity.waiting > record.x)
            wiring_.unready(*budget);
    }

    void charge(const TraceRecord& record) {
        if (record.id == 0) return;
        const auto what = static_cast<TraceCharge>(record.what);
        if (alteration_ == "pick" && what == TraceCharge::pick) return;
        Ticks ticks{record.x};
        if (alteration_ == "charge" && what == TraceCharge::user && ++altered_ == 200) {
            ticks += Ticks{1};
        }
        if (Budget* payer = find(record.id)) {
            wiring_.bill(record.hart, *payer, ticks);
        }
    }

    void reconcile() {
        if (!reconciled_) {
            reconciled_ = true;
            wiring_.reconcile();
        }
    }

    void destroy_once() {
        if (dying_ != 0) {
            if (Budget* top = find(dying_)) wiring_.destroy(*top);
            dying_ = 0;
            in_destruction_ = true;
        }
    }

    void step(const TraceRecord& record) {
        note_floor(record);
        switch (kind_of(record)) {
        case TraceKind::online:
            if (++online_ > 1) wiring_.hart_online();
            break;
        case TraceKind::enter: reconciled_ = false; break;
        case TraceKind::create:
            if (record.x == 0) {
                wiring_.create_root(record.id, static_cast<u32>(record.y), {});
            } else if (Budget* parent = find(record.x)) {
                const u32 more = alteration_ == "weight" && record.what == 1 ? 1 : 0;
                wiring_.create(record.id, *parent, static_cast<u32>(record.y) + more);
            }
            break;
        case TraceKind::entry_pass: expect_pass(record, "another entry"); break;
        case TraceKind::charge: charge(record); break;
        case TraceKind::pass:
            if (const auto end = deschedule_from(place_); end && dying_ == 0 && !in_destruction_) {
                deschedule(record, *end);
            }
            break;
        case TraceKind::counts:
            if (!in_destruction_) counts(record);
            break;
        case TraceKind::wake:
            reconcile();
            expect_pass(record, "another pass behind a wake");
            break;
        case TraceKind::out:
            if (record.what == 0) {
                reconcile();
                expect_pass(record, "another pass when it leaves");
            } else {
                destroy_once();
            }
            break;
        case TraceKind::destroy_begin: dying_ = record.id; break;
        case TraceKind::reweigh:
        case TraceKind::lift: destroy_once(); break;
        case TraceKind::reweighed:
            // Inside a destruction more may follow: its end is compared.
            if (!in_destruction_) expect_pass(record, "another pass behind a weight change");
            break;
        case TraceKind::lifted: lifted_ = record; break;
        case TraceKind::destroy_end:
            destroy_once();
            in_destruction_ = false;
            if (lifted_) expect_pass(*lifted_, "another pass behind a destruction");
            lifted_.reset();
            break;
        case TraceKind::pick: pick(record); break;
        case TraceKind::runner:
            if (record.id == 0) {
                reconcile();
                expect(wiring_.pick(record.hart) == nullptr, "something to run after all");
            }
            break;
        case TraceKind::leave:
            reconcile();
            expect(wiring_.queue().floor() == floor_, "another floor");
            break;
        default: break;
        }
    }

    void pick(const TraceRecord& record) {
        reconcile();
        const Budget* picked = wiring_.pick(record.hart);
        expect(picked != nullptr, "nothing is picked");
        if (picked == nullptr) return;
        expect(picked->entity.id == record.id, "another budget is picked");
        expect(picked->entity.pass == wide(record), "it is picked at another pass");
        ++picks_;
    }

    const std::vector<TraceRecord>& records_;
    std::string_view alteration_;
    Wiring wiring_{1};
    U128 floor_;
    std::size_t place_ = 0;
    std::size_t picks_ = 0;
    std::size_t altered_ = 0;
    unsigned online_ = 0;
    u64 dying_ = 0;                ///< a destruction has begun and is not made yet
    bool in_destruction_ = false;  ///< it is made, and its records follow
    bool reconciled_ = true;
    bool good_ = true;
    std::optional<TraceRecord> lifted_;
};

}  // namespace

}  // namespace ravelin::differential

// A trace that was altered may break what the queue relies on: that is noticed, too.
void ravelin::assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::printf("assertion failed: %s at %s:%d\n", expression, file, line);
    std::exit(1);
}

int main(int count, char** words) {
    using namespace ravelin;
    if (count < 2) {
        std::fprintf(stderr, "usage: replay_trace FILE [charge|wake|weight|pick]\n");
        return 2;
    }
    const oracle::TraceResult read = oracle::read_trace(words[1]);
    if (!read.trace) {
        std::fprintf(stderr, "%s: %s\n", words[1], read.refusal.c_str());
        return 2;
    }
    differential::Replay replay(*read.trace, count > 2 ? words[2] : "");
    const bool good = replay.run();
    std::printf("%zu picks compared\n", replay.picks());
    return good ? 0 : 1;
}
