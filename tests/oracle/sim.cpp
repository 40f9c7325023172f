#include "tests/oracle/sim.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>

#include "core/abi/calls.h"

namespace ravelin::sim {

namespace {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;
using U128 = unsigned __int128;
using I64 = std::int64_t;
using U64 = std::uint64_t;

constexpr U64 kTimebase = 10'000'000;
constexpr U64 kNever = ~U64{0};
constexpr U64 kSource = 11;
constexpr auto kReceive = static_cast<std::uint16_t>(abi::Call::receive);
constexpr int kSystem = 1;  ///< the budget that owns the device

struct Budget {
    U64 id = 0;
    int parent = -1;
    U64 limit = 0;
    U64 weight = 0;
    U128 pass = 0;
    U128 entry = 0;
    U128 rem = 0;
    I64 tie = 0;
    bool queued = false;
    bool alive = true;
    U64 waiting = 0;
    U64 running = 0;
    bool capped = false;
    U128 lag = 0;
    U64 deadline = kNever;
    std::uint16_t account = 0;
    std::uint64_t cursor = 0;

    U64 threads() const { return waiting + running; }
};

struct Thread {
    U64 pid = 0;
    U64 tid = 0;
    int budget = 0;
    Behaviour behaviour;
    bool launcher = false;
    bool ready = false;
    bool alive = true;
    int hart = -1;
    U64 left = 0;  ///< user ticks to its next call
    U64 wakes_at = kNever;

    U64 key() const { return pid << 32 | tid; }
};

struct HartState {
    int thread = -1;  ///< runs it
    U64 pending = 0;
    U64 left_at = 0;
    U64 charged_at = 0;  ///< its time is charged up to here
    U64 slice_end = 0;
    bool online = false;
    bool signalled = false;  ///< a device's interrupt is to be taken
    U64 signalled_at = kNever;
    bool kicked = false;
    U64 kicked_at = kNever;
};

class Machine {
  public:
    explicit Machine(const Plan& plan)
        : plan_(plan), random_(plan.seed * 2 + 1), device_at_(plan.device_every) {}

    std::vector<abi::TraceRecord> go() {
        harts_.resize(plan_.harts);
        emit(TraceKind::start, 0, 0, kTimebase, static_cast<std::uint16_t>(plan_.harts));
        hart_ = 0;
        for (unsigned h = 0; h < plan_.harts; ++h) {
            boot(h);
        }
        while (!ended_) {
            next();
        }
        return std::move(records_);
    }

  private:
    const Plan& plan_;
    U64 random_;
    std::vector<abi::TraceRecord> records_;
    std::vector<Budget> budgets_;
    std::map<std::string, int> names_;
    std::vector<Thread> threads_;
    std::vector<HartState> harts_;
    U128 floor_ = 0;
    I64 front_ = 0;
    I64 back_ = 0;
    U64 next_id_ = 1;
    U64 next_pid_ = 2;
    U64 online_ = 0;
    U64 now_ = 0;    ///< within an entry
    U64 since_ = 0;  ///< start of the open interval
    std::uint32_t entry_ = 0;
    unsigned hart_ = 0;
    U64 lock_free_ = 0;
    std::vector<std::pair<U64, unsigned>> sections_;  ///< end and hart of the last ones
    std::size_t step_ = 0;
    bool ended_ = false;
    std::vector<int> gained_;
    bool counts_changed_ = false;
    bool preempted_ = false;
    U64 device_at_;                ///< when the device's next interrupt comes
    bool device_pending_ = false;  ///< it came and was not claimed
    bool device_masked_ = false;   ///< it fired, and no call has unmasked it

    // --- records, time, chance ---

    void emit(TraceKind kind, U64 id, U64 x, U64 y, std::uint16_t what = 0) {
        records_.push_back({.x = x,
                            .y = y,
                            .id = id,
                            .entry = entry_,
                            .kind = static_cast<std::uint8_t>(kind),
                            .hart = static_cast<std::uint8_t>(hart_),
                            .what = what});
    }

    void emit_wide(TraceKind kind, U64 id, U128 value, std::uint16_t what = 0) {
        emit(kind, id, static_cast<U64>(value), static_cast<U64>(value >> 64), what);
    }

    void spend(U64 ticks) {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;
        now_ += ticks + (plan_.spread ? (random_ >> 33) % (ticks / 4 + 1) : 0);
    }

    HartState& here() { return harts_[hart_]; }
    Budget& budget_of(int thread) {
        return budgets_[static_cast<std::size_t>(
            threads_[static_cast<std::size_t>(thread)].budget)];
    }
    Budget& at(int budget) { return budgets_[static_cast<std::size_t>(budget)]; }
    int runner() {
        return here().thread < 0 ? -1 : threads_[static_cast<std::size_t>(here().thread)].budget;
    }

    // --- stride ---

    void fold(Budget& b, U64 ticks) {
        if (b.weight == 0) {
            return;
        }
        const U128 t = b.rem + (static_cast<U128>(ticks) << 20);
        b.pass += t / b.weight;
        b.rem = t % b.weight;
        emit_wide(TraceKind::pass, b.id, b.pass);
    }

    void count(Budget& b, I64 waiting, I64 running) {
        b.waiting += static_cast<U64>(waiting);
        b.running += static_cast<U64>(running);
        counts_changed_ = true;
        emit(TraceKind::counts, b.id, b.waiting, b.running);
    }

    /// The cap set by sorting, and the floor.
    void raise() {
        std::vector<Budget*> queued;
        for (Budget& b : budgets_) {
            if (b.queued) {
                queued.push_back(&b);
            }
        }
        if (queued.empty()) {
            return;
        }
        const auto by_pass = [](const Budget* a, const Budget* b) { return a->pass < b->pass; };
        std::vector<Budget*> fresh;  // newly capped
        U128 candidate = (*std::min_element(queued.begin(), queued.end(), by_pass))->pass;
        if (online_ > 1) {
            std::vector<Budget*> with_threads;
            U64 weight = 0;
            for (Budget* b : queued) {
                if (b->threads() != 0) {
                    with_threads.push_back(b);
                    weight += b->weight;
                }
            }
            std::sort(with_threads.begin(), with_threads.end(),
                      [](const Budget* a, const Budget* b) {
                          return a->weight * b->threads() > b->weight * a->threads();
                      });
            U64 harts = online_;
            std::vector<const Budget*> capped;
            for (Budget* b : with_threads) {
                if (!b->capped && b->waiting != 0) {
                    continue;
                }
                if (b->weight * harts <= b->threads() * weight) {
                    break;
                }
                harts -= b->threads();
                weight -= b->weight;
                capped.push_back(b);
            }
            for (Budget* b : with_threads) {
                const bool is = std::find(capped.begin(), capped.end(), b) != capped.end();
                if (is && !b->capped) {
                    fresh.push_back(b);
                } else if (!is && b->capped) {
                    const U128 waited = (U128{plan_.slice} * online_ << 20) / b->weight;
                    b->pass = std::max(b->pass, floor_ - std::min(b->lag, waited));
                    emit_wide(TraceKind::uncap, b->id, b->pass);
                }
                b->capped = is;
            }
            if (!with_threads.empty()) {
                if (capped.size() == with_threads.size()) {
                    candidate =
                        (*std::max_element(with_threads.begin(), with_threads.end(), by_pass))
                            ->pass;
                } else {
                    std::erase_if(with_threads, [](const Budget* b) { return b->capped; });
                    candidate =
                        (*std::min_element(with_threads.begin(), with_threads.end(), by_pass))
                            ->pass;
                }
            }
        }
        if (candidate > floor_) {
            floor_ = candidate;
            emit_wide(TraceKind::floor, 0, floor_);
        }
        for (Budget* b : fresh) {
            b->lag = floor_ - std::min(b->pass, floor_);
        }
    }

    /// Closes the open interval: its ticks go to a budget, or to nobody (-1).
    void charge(int budget, TraceCharge what) {
        const U64 ticks = now_ - since_;
        since_ = now_;
        budget = payer_of(budget);
        if (budget < 0) {
            emit(TraceKind::charge, 0, ticks, 0, static_cast<std::uint16_t>(what));
            return;
        }
        Budget& b = at(budget);
        emit(TraceKind::charge, b.id, ticks, b.weight, static_cast<std::uint16_t>(what));
        if (budget == runner()) {
            here().pending += ticks;
        } else {
            fold(b, ticks);
            if (b.queued) {
                raise();
            }
        }
    }

    void fold_pending(int budget) {
        for (HartState& hart : harts_) {
            if (hart.thread >= 0 &&
                threads_[static_cast<std::size_t>(hart.thread)].budget == budget &&
                hart.pending != 0) {
                fold(at(budget), hart.pending);
                hart.pending = 0;
            }
        }
    }

    int payer_of(int budget) {
        while (budget >= 0 && (!at(budget).alive || at(budget).weight == 0)) {
            budget = at(budget).parent;
        }
        return budget;
    }

    /// Charges the user time so far of other harts that the budget pays for.
    void charge_abroad(int budget) {
        const unsigned here_hart = hart_;
        for (unsigned h = 0; h < harts_.size(); ++h) {
            HartState& hart = harts_[h];
            if (h == here_hart || hart.thread < 0 || hart.charged_at >= now_) {
                continue;
            }
            const int runner_there = threads_[static_cast<std::size_t>(hart.thread)].budget;
            if (payer_of(runner_there) != budget) {
                continue;
            }
            const U64 ticks = now_ - hart.charged_at;
            hart.charged_at = now_;
            hart_ = h;
            emit(TraceKind::charge, at(budget).id, ticks, at(budget).weight,
                 static_cast<std::uint16_t>(TraceCharge::user));
            hart_ = here_hart;
            if (runner_there == budget) {
                hart.pending += ticks;
            } else {
                fold(at(budget), ticks);
            }
        }
    }

    void reweigh(int budget, U64 weight) {
        fold_pending(budget);
        Budget& b = at(budget);
        const U128 owed =
            (b.pass > floor_ ? b.pass - floor_ : 0) * std::max<U64>(b.weight, 1) + b.rem;
        emit(TraceKind::reweigh, b.id, b.weight, weight);
        b.weight = weight;
        b.pass = floor_ + owed / std::max<U64>(weight, 1);
        b.rem = owed % std::max<U64>(weight, 1);
        emit_wide(TraceKind::reweighed, b.id, b.pass);
        emit(TraceKind::rem, b.id, static_cast<U64>(b.rem), weight);
    }

    // --- the tree ---

    int create(const std::string& name, int parent, U64 weight, std::uint16_t account,
               U64 deadline) {
        Budget b;
        b.id = next_id_++;
        b.parent = parent;
        b.limit = b.weight = weight;
        b.deadline = deadline;
        if (parent >= 0 && at(parent).account != 0) {
            account = at(parent).account;
        }
        b.account = account;
        if (parent >= 0) {
            fold_pending(parent);
            b.pass = at(parent).pass;
        }
        b.pass = b.entry = std::max(b.pass, floor_);
        emit(TraceKind::create, b.id, parent >= 0 ? at(parent).id : 0, weight, account);
        emit_wide(TraceKind::entry_pass, b.id, b.pass);
        budgets_.push_back(b);
        const int index = static_cast<int>(budgets_.size()) - 1;
        names_[name] = index;
        if (parent >= 0) {
            reweigh(parent, at(parent).weight - weight);
        }
        return index;
    }

    void leave_queue(Budget& b, bool destroyed) {
        b.queued = b.capped = false;
        emit_wide(TraceKind::out, b.id, b.pass, destroyed ? 1 : 0);
        if (std::none_of(budgets_.begin(), budgets_.end(),
                         [](const Budget& o) { return o.queued; })) {
            front_ = back_ = 0;
        }
        if (!destroyed) {
            raise();
        }
    }

    void bury(int budget, int top) {
        for (std::size_t c = 0; c < budgets_.size(); ++c) {
            if (budgets_[c].alive && budgets_[c].parent == budget) {
                bury(static_cast<int>(c), top);
            }
        }
        charge_abroad(budget);
        fold_pending(budget);
        const int parent = at(budget).parent;
        if (budget != top) {
            reweigh(parent, at(parent).weight + at(budget).limit);
        }
        Budget& b = at(budget);
        if (b.queued) {
            leave_queue(b, true);
        }
        Budget& p = at(parent);
        const U128 start = std::max(b.entry, floor_);
        const U128 work = (b.pass > start ? b.pass - start : 0) * b.weight + b.rem;
        emit(TraceKind::lift, b.id, p.id, b.weight);
        emit_wide(TraceKind::lift_work, b.id, work);
        b.alive = false;
        if (p.weight != 0) {
            if (p.pass < floor_) {
                p.pass = floor_;
                p.rem = 0;
            }
            const U128 t = work + p.rem;
            p.pass += t / p.weight;
            p.rem = t % p.weight;
            emit_wide(TraceKind::lifted, p.id, p.pass);
            emit(TraceKind::rem, p.id, static_cast<U64>(p.rem), p.weight);
        }
    }

    bool below(int budget, int top) {
        for (; budget >= 0; budget = at(budget).parent) {
            if (budget == top) {
                return true;
            }
        }
        return false;
    }

    void destroy(int top, bool by_deadline) {
        emit(TraceKind::destroy_begin, at(top).id, now_, 0, by_deadline ? 1 : 0);
        const int parent = at(top).parent;
        reweigh(parent, at(parent).weight + at(top).limit);
        if (by_deadline) {
            int payer = parent;
            while (at(payer).weight == 0) {
                payer = at(payer).parent;
            }
            emit(TraceKind::expire, at(payer).id, at(top).deadline, now_,
                 static_cast<std::uint16_t>(TraceExpiry::deadline));
        }
        for (Thread& t : threads_) {
            if (t.alive && below(t.budget, top)) {
                if (t.ready && t.hart < 0) {
                    count(at(t.budget), -1, 0);
                }
                t.alive = t.ready = false;
                t.wakes_at = kNever;
                emit(TraceKind::thread_end, at(t.budget).id, t.pid, t.tid);
                if (t.hart >= 0 && t.hart != static_cast<int>(hart_)) {
                    harts_[static_cast<std::size_t>(t.hart)].kicked = true;
                    harts_[static_cast<std::size_t>(t.hart)].kicked_at = now_;
                }
            }
        }
        bury(top, top);
        spend(40);
        raise();
        emit(TraceKind::destroy_end, at(top).id, now_, 0);
        if (by_deadline) {
            charge(parent, TraceCharge::destruction);
            preempted_ = true;
        }
    }

    // --- threads and the queue ---

    void make_ready(int thread) {
        Thread& t = threads_[static_cast<std::size_t>(thread)];
        t.ready = true;
        t.wakes_at = kNever;
        gained_.push_back(t.budget);
    }

    /// Counts settle, then the wakes in descending id, then the raise.
    void reconcile() {
        std::sort(gained_.begin(), gained_.end(), std::greater<>());
        std::vector<int> wakers;
        for (const int budget : gained_) {
            if (at(budget).alive) {
                if (!at(budget).queued && (wakers.empty() || wakers.back() != budget)) {
                    wakers.push_back(budget);
                }
                count(at(budget), 1, 0);
            }
        }
        gained_.clear();
        for (const int budget : wakers) {
            Budget& b = at(budget);
            b.pass = std::max(b.pass, floor_);
            b.queued = true;
            b.tie = --front_;
            emit_wide(TraceKind::wake, b.id, b.pass);
        }
        if (counts_changed_) {
            raise();
        }
    }

    void deschedule(bool ready) {
        HartState& hart = here();
        Thread& t = threads_[static_cast<std::size_t>(hart.thread)];
        Budget& b = at(t.budget);
        t.hart = -1;
        if (!b.alive) {
            hart.thread = -1;
            hart.pending = 0;
            return;
        }
        if (hart.pending == 0) {
            emit(TraceKind::top_up, b.id, 1, 0);
            hart.pending = 1;
        }
        fold(b, hart.pending);
        hart.pending = 0;
        raise();
        t.ready = ready;
        count(b, ready ? 1 : 0, -1);
        hart.thread = -1;
        if (b.threads() != 0) {
            b.tie = ++back_;
            emit_wide(TraceKind::requeue, b.id, b.pass);
        } else {
            leave_queue(b, false);
        }
    }

    void pick() {
        int best = -1;
        for (std::size_t i = 0; i < budgets_.size(); ++i) {
            const Budget& b = budgets_[i];
            if (!b.queued || b.waiting == 0) {
                continue;
            }
            const Budget* o = best < 0 ? nullptr : &at(best);
            if (o == nullptr || b.pass < o->pass ||
                (b.pass == o->pass && (b.tie < o->tie || (b.tie == o->tie && b.id < o->id)))) {
                best = static_cast<int>(i);
            }
        }
        HartState& hart = here();
        if (best < 0) {
            emit(TraceKind::runner, 0, 0, 0);
            return;
        }
        Budget& b = at(best);
        int first = -1;
        int after = -1;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            const Thread& t = threads_[i];
            const auto lower = [&](int o) {
                return o < 0 || t.key() < threads_[static_cast<std::size_t>(o)].key();
            };
            if (t.ready && t.hart < 0 && t.budget == best) {
                if (lower(first)) {
                    first = static_cast<int>(i);
                }
                if (t.key() > b.cursor && lower(after)) {
                    after = static_cast<int>(i);
                }
            }
        }
        hart.thread = after >= 0 ? after : first;
        Thread& t = threads_[static_cast<std::size_t>(hart.thread)];
        b.cursor = t.key();
        t.hart = static_cast<int>(hart_);
        emit_wide(TraceKind::pick, b.id, b.pass);
        count(b, -1, 1);
        emit(TraceKind::runner, b.id, b.weight, t.key());
        spend(12);
        charge(best, TraceCharge::pick);
    }

    // --- entries ---

    void begin(TraceCause cause, U64 trapped, std::uint16_t call = 0) {
        ++entry_;
        HartState& hart = here();
        const U64 locked = std::max(trapped, lock_free_);
        const U64 id = hart.thread >= 0 ? budget_of(hart.thread).id : 0;
        emit(TraceKind::enter, id, trapped, locked,
             static_cast<std::uint16_t>(static_cast<unsigned>(cause) | static_cast<unsigned>(call)
                                                                           << 8));
        since_ = cause == TraceCause::boot ? trapped : hart.charged_at;
        now_ = trapped;
        if (cause != TraceCause::boot && trapped >= since_) {
            charge(runner(), runner() >= 0 ? TraceCharge::user : TraceCharge::idle);
            if (hart.thread >= 0) {
                Thread& t = threads_[static_cast<std::size_t>(hart.thread)];
                t.left -= std::min(t.left, trapped - hart.left_at);
            }
        }
        if (locked > trapped) {
            const auto ahead = std::count_if(sections_.begin(), sections_.end(),
                                             [&](const auto& s) { return s.first > trapped; });
            emit(TraceKind::lock_wait, id, locked - trapped, static_cast<U64>(ahead));
            now_ = locked;
            if (since_ < locked) {
                charge(runner(), TraceCharge::lock_wait);
            }
        }
        gained_.clear();
        counts_changed_ = false;
        preempted_ = false;
        spend(20);
    }

    /// Timeouts and deadlines that are due; the payer of the last one, or -1.
    int expire() {
        int last = -1;
        for (;;) {
            int found = -1;
            for (std::size_t i = 0; i < threads_.size(); ++i) {
                if (threads_[i].wakes_at <= now_ &&
                    (found < 0 ||
                     threads_[i].wakes_at < threads_[static_cast<std::size_t>(found)].wakes_at)) {
                    found = static_cast<int>(i);
                }
            }
            if (found < 0) {
                break;
            }
            const Thread& t = threads_[static_cast<std::size_t>(found)];
            emit(TraceKind::expire, at(t.budget).id, t.wakes_at, now_,
                 static_cast<std::uint16_t>(TraceExpiry::timeout));
            spend(15);
            charge(t.budget, TraceCharge::expiry);
            last = t.budget;
            make_ready(found);
        }
        for (std::size_t i = 0; i < budgets_.size(); ++i) {
            if (budgets_[i].alive && budgets_[i].deadline <= now_) {
                last = budgets_[i].parent;
                budgets_[i].deadline = std::min(budgets_[i].deadline, now_);
                destroy(static_cast<int>(i), true);
            }
        }
        return last;
    }

    void finish(TraceLeave how, int rest_payer, TraceCharge rest) {
        spend(5);
        HartState& hart = here();
        charge(rest_payer, rest);
        reconcile();
        if (hart.thread < 0) {
            pick();
        }
        if (now_ != since_) {
            charge(-1, TraceCharge::no_pick);
        }
        emit(TraceKind::arm, 0, now_, 0);
        if (how != TraceLeave::resumed) {
            hart.slice_end = hart.thread >= 0 ? now_ + plan_.slice : 0;
        }
        emit(TraceKind::leave, hart.thread >= 0 ? budget_of(hart.thread).id : 0, now_,
             hart.slice_end, static_cast<std::uint16_t>(how));
        hart.left_at = now_;
        hart.charged_at = now_;
        lock_free_ = now_;
        sections_.emplace_back(now_, hart_);
        if (sections_.size() > 16) {
            sections_.erase(sections_.begin());
        }
        kick_idle();
    }

    void kick_idle() {
        const auto waits = [](const Budget& b) { return b.queued && b.waiting != 0; };
        if (std::none_of(budgets_.begin(), budgets_.end(), waits)) {
            return;
        }
        for (HartState& hart : harts_) {
            if (hart.online && hart.thread < 0 && !hart.kicked) {
                hart.kicked = true;
                hart.kicked_at = now_;
                return;
            }
        }
    }

    void boot(unsigned h) {
        hart_ = h;
        const U64 start = lock_free_;
        begin(TraceCause::boot, start);
        emit(TraceKind::online, 0, start, 0);
        ++online_;
        harts_[h].online = true;
        if (h == 0) {
            create("root", -1, 1'000'000, 0, kNever);
            create("system", 0, 250'000, 0, kNever);
            create("users", 0, 749'000, 0, kNever);
            Thread launcher;
            launcher.pid = next_pid_++;
            launcher.tid = 1;
            launcher.launcher = true;
            threads_.push_back(launcher);
            make_ready(0);
        }
        finish(TraceLeave::from_idle, -1, TraceCharge::boot);
    }

    /// The next trap of any hart: its call, its slice's end, a timeout (on the lowest idle hart, else
    /// hart 0), a kick.
    void next() {
        U64 item = kNever;
        for (const Thread& t : threads_) {
            item = std::min(item, t.wakes_at);
        }
        for (const Budget& b : budgets_) {
            item = std::min(item, b.alive ? b.deadline : kNever);
        }
        unsigned timer_hart = 0;
        for (unsigned h = plan_.harts; h-- > 0;) {
            if (harts_[h].thread < 0) {
                timer_hart = h;
            }
        }
        U64 when = kNever;
        TraceCause cause = TraceCause::timer;
        unsigned who = 0;
        for (unsigned h = 0; h < plan_.harts; ++h) {
            const HartState& hart = harts_[h];
            const auto offer = [&](U64 time, TraceCause why) {
                time = std::max(time, hart.left_at);
                if (time < when) {
                    when = time;
                    cause = why;
                    who = h;
                }
            };
            if (hart.kicked) {
                offer(hart.kicked_at, TraceCause::kick);
            }
            const bool comes = plan_.device_every != 0 && !device_pending_ && !device_masked_;
            if (hart.signalled || comes) {
                offer(hart.signalled ? hart.signalled_at : device_at_, TraceCause::external);
            }
            if (hart.thread >= 0) {
                const Thread& t = threads_[static_cast<std::size_t>(hart.thread)];
                offer(hart.slice_end, TraceCause::timer);
                if (t.launcher || t.behaviour.burst != 0) {
                    offer(hart.left_at + t.left, TraceCause::call);
                }
            }
            if (h == timer_hart && item != kNever) {
                offer(item, TraceCause::timer);
            }
        }
        if (when == kNever) {
            throw std::logic_error("nothing will happen any more");
        }
        hart_ = who;
        enter(cause, when);
    }

    void raise_device() {
        device_pending_ = true;
        for (HartState& hart : harts_) {
            hart.signalled = true;
            hart.signalled_at = device_at_;
        }
    }

    /// The first hart claims what all were told of. False: another one had.
    bool claim() {
        const bool mine = device_pending_;
        emit(TraceKind::claim, mine ? budgets_[kSystem].id : 0, mine ? kSource : 0, 0);
        if (mine) {
            device_pending_ = false;
            device_masked_ = true;
            device_at_ = now_ + plan_.device_every;
            spend(10);
        }
        return mine;
    }

    void enter(TraceCause cause, U64 when) {
        HartState& hart = here();
        if (cause == TraceCause::external) {
            if (!hart.signalled) {
                raise_device();
            }
            hart.signalled = false;
        } else {
            hart.kicked = false;
        }
        const int thread = hart.thread;
        const std::uint16_t call = cause == TraceCause::call ? call_of(thread) : 0;
        begin(cause, when, call);
        if (device_masked_ && call == kReceive) {
            device_masked_ = false;
            device_at_ = std::max(device_at_, now_);
        }
        const int last = expire();
        const bool alive = thread >= 0 && threads_[static_cast<std::size_t>(thread)].alive;
        TraceLeave how = thread < 0 ? TraceLeave::from_idle : TraceLeave::resumed;
        int payer = last;
        TraceCharge rest = TraceCharge::timer;
        if (thread >= 0 && !alive) {
            how = TraceLeave::gave_up;
            payer = last >= 0 ? last : threads_[static_cast<std::size_t>(thread)].budget;
            rest = TraceCharge::call;
            deschedule(false);
            if (cause == TraceCause::kick || cause == TraceCause::timer) {
                payer = last;
                rest = last >= 0                   ? TraceCharge::timer
                       : cause == TraceCause::kick ? TraceCharge::kick
                                                   : TraceCharge::nothing;
            }
        } else if (preempted_ && thread >= 0) {
            how = TraceLeave::preempted;
            deschedule(true);
        } else if (cause == TraceCause::call) {
            payer = threads_[static_cast<std::size_t>(thread)].budget;
            rest = TraceCharge::call;
            spend(30);
            how = perform(thread);
            if (ended_) {
                return;
            }
        } else if (cause == TraceCause::timer) {
            if (thread >= 0 && now_ >= hart.slice_end) {
                how = TraceLeave::slice_end;
                payer = last >= 0 ? last : threads_[static_cast<std::size_t>(thread)].budget;
                spend(8);
                charge(payer, TraceCharge::timer);
                deschedule(true);
            } else if (last < 0) {
                rest = TraceCharge::nothing;
            }
        } else if (last < 0) {
            rest = TraceCharge::kick;
        }
        if (cause == TraceCause::external) {
            const bool owned = !preempted_ && claim();
            payer = owned ? kSystem : last;
            rest = owned || last < 0 ? TraceCharge::interrupt
                   : preempted_      ? TraceCharge::destruction
                                     : TraceCharge::expiry;
        }
        finish(how, payer, rest);
    }

    /// The number of the call that perform() makes: all that destroy nothing are receives.
    std::uint16_t call_of(int thread) const {
        const bool destroys = threads_[static_cast<std::size_t>(thread)].launcher &&
                              step_ < plan_.script.size() &&
                              std::holds_alternative<Destroy>(plan_.script[step_]);
        return destroys ? static_cast<std::uint16_t>(abi::Call::budget_destroy) : kReceive;
    }

    /// The call the thread makes: a sleep, or the launcher's next step.
    TraceLeave perform(int thread) {
        Thread& t = threads_[static_cast<std::size_t>(thread)];
        if (!t.launcher) {
            t.wakes_at = now_ + t.behaviour.nap;
            t.left = t.behaviour.burst;
            block(thread);
            return TraceLeave::gave_up;
        }
        t.left = 25;
        if (step_ == plan_.script.size()) {
            emit(TraceKind::end, 0, now_, records_.size(), plan_.end);
            ended_ = true;
            return TraceLeave::resumed;
        }
        const Step& step = plan_.script[step_++];
        if (const auto* made = std::get_if<Create>(&step)) {
            create(made->name, names_.at(made->parent), made->weight, made->account,
                   made->deadline == 0 ? kNever : now_ + made->deadline);
        } else if (const auto* gone = std::get_if<Destroy>(&step)) {
            if (at(names_.at(gone->name)).alive) {
                destroy(names_.at(gone->name), false);
            }
        } else if (const auto* spawned = std::get_if<Spawn>(&step)) {
            start_process(*spawned, spawned->budget);
            for (const std::string& name : spawned->also) {
                start_process(*spawned, name);
            }
        } else {
            t.wakes_at = now_ + std::get<Sleep>(step).ticks;
            block(thread);
            return TraceLeave::gave_up;
        }
        return TraceLeave::resumed;
    }

    void start_process(const Spawn& spawn, const std::string& budget) {
        const U64 pid = next_pid_++;
        for (std::uint32_t i = 0; i < spawn.threads; ++i) {
            Thread thread;
            thread.pid = pid;
            thread.tid = i + 1;
            thread.budget = names_.at(budget);
            thread.behaviour = spawn.behaviour;
            thread.left = spawn.behaviour.burst;
            threads_.push_back(thread);
            make_ready(static_cast<int>(threads_.size()) - 1);
        }
    }

    /// The caller blocks: its call's time is charged and its thread leaves the hart.
    void block(int thread) {
        charge(threads_[static_cast<std::size_t>(thread)].budget, TraceCharge::call);
        deschedule(false);
    }
};

}  // namespace

std::vector<abi::TraceRecord> run(const Plan& plan) {
    return Machine(plan).go();
}

void open_window(std::vector<Step>& script) {
    script.push_back(Create{.name = "mark", .parent = "users", .account = 1000});
    script.push_back(Destroy{.name = "mark"});
}

void close_window(std::vector<Step>& script) {
    script.push_back(Create{.name = "mark", .parent = "users", .account = 1001});
    script.push_back(Destroy{.name = "mark"});
}

std::uint64_t digest_of(std::vector<std::byte> file) {
    std::memset(file.data() + offsetof(abi::TraceHead, digest), 0, sizeof(U64));
    U64 hash = 14695981039346656037U;
    for (const std::byte byte : file) {
        hash = (hash ^ static_cast<U64>(byte)) * 1099511628211U;
    }
    return hash;
}

std::vector<std::byte> file_of(const std::vector<abi::TraceRecord>& records, const Plan& plan) {
    abi::TraceHead head{};
    std::memcpy(head.magic, "RAVTRACE", sizeof(head.magic));
    head.version = abi::kTraceVersion;
    head.record_size = sizeof(abi::TraceRecord);
    head.records = records.size();
    head.timebase = kTimebase;
    head.harts = plan.harts;
    head.slice_ticks = static_cast<std::uint32_t>(plan.slice);
    head.seed = plan.seed;
    std::vector<abi::TraceSums> blocks((records.size() + 127) / 128);
    U64 a = 0;
    U64 b = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        U64 words[4];
        std::memcpy(words, &records[i], sizeof(words));
        for (const U64 word : words) {
            a += word;
            b += a;
        }
        blocks[i / 128].a = a;
        blocks[i / 128].b = b;
    }
    const std::size_t of_records = records.size() * sizeof(abi::TraceRecord);
    std::vector<std::byte> file(sizeof(head) + of_records + blocks.size() * sizeof(abi::TraceSums));
    std::memcpy(file.data(), &head, sizeof(head));
    if (!records.empty()) {
        std::memcpy(file.data() + sizeof(head), records.data(), of_records);
        std::memcpy(file.data() + sizeof(head) + of_records, blocks.data(),
                    blocks.size() * sizeof(abi::TraceSums));
    }
    head.digest = digest_of(file);
    std::memcpy(file.data(), &head, sizeof(head));
    return file;
}

Plan spinners(std::uint32_t harts, const std::vector<std::uint64_t>& weights,
              std::uint64_t window_slices) {
    Plan plan;
    plan.harts = harts;
    std::uint16_t account = 1;
    for (const std::uint64_t weight : weights) {
        const std::string name = "spinner " + std::to_string(account);
        plan.script.push_back(
            Create{.name = name, .parent = "users", .weight = weight, .account = account++});
        plan.script.push_back(Spawn{.budget = name, .behaviour = {}});
    }
    plan.script.push_back(Sleep{.ticks = 20 * plan.slice});
    open_window(plan.script);
    plan.script.push_back(Sleep{.ticks = window_slices * plan.slice});
    close_window(plan.script);
    return plan;
}

}  // namespace ravelin::sim
