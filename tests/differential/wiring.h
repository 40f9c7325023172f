// The stride queue wired as core/sched wires it, without a kernel around it: the same calls to the
// queue in the same order, over budgets and harts that have nothing but what scheduling reads.
//
// A change of order in core/sched is made here too; the whole-kernel differential finds a difference
// between the two. Invariant: a runner's budget is queued, and an entry ends with leave().
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/stride/queue.h"

namespace ravelin::differential {

class Wiring {
  public:
    /// A slice, as far as it bounds a lag: short, for runs that are.
    static constexpr Ticks kSlice{200};

    struct Budget {
        stride::Entity entity;
        Budget* parent = nullptr;
        u32 limit = 0;
        u32 carved = 0;
        bool marked = false;

        u32 free_weight() const { return limit - carved; }
    };
    struct Hart {
        Budget* runner = nullptr;
        Ticks pending;
    };

    /// `harts`: online from the start.
    explicit Wiring(u32 harts);

    /// The budget without a parent; `pass`: where it stands.
    Budget& create_root(u64 id, u32 limit, U128 pass);
    Budget& create(u64 id, Budget& parent, u32 limit);
    void destroy(Budget& top);
    void carve(Budget& budget, u32 amount);
    void give_back(Budget& budget, u32 amount);

    void ready(Budget& budget);
    void unready(Budget& budget);

    void run(u32 hart, Ticks ticks) { harts_[hart].pending += ticks; }
    void bill(u32 hart, Budget& payer, Ticks ticks);

    /// The parts of sched::leave, in its order.
    bool turn_applies(u32 hart, bool stays_ready) const;
    void turn(u32 hart);
    void deschedule(u32 hart, bool stays_ready);
    void reconcile();
    Budget* pick(u32 hart);

    void hart_online();

    const stride::Queue& queue() const { return queue_; }
    const std::vector<Hart>& harts() const { return harts_; }
    const std::map<u64, std::unique_ptr<Budget>>& budgets() const { return budgets_; }
    Budget& budget(u64 id) { return *budgets_.at(id); }

  private:
    static Budget& of(stride::Entity& entity);
    void mark(Budget& budget);
    void charge(Budget& budget, Ticks ticks);
    void fold_pending(Budget& budget);
    void reweigh(Budget& budget);
    void lift_and_remove(Budget& dying);
    std::vector<Budget*> upwards(Budget& top);

    stride::Queue queue_;
    std::vector<Hart> harts_;
    std::map<u64, std::unique_ptr<Budget>> budgets_;
    std::vector<Budget*> marked_;
};

}  // namespace ravelin::differential
