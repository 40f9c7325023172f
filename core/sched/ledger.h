// The conservation law of time as counters, for checked builds; in release builds nothing, not a
// byte.
//
// Rule: every tick of every hart is charged once (R12). Each term is counted where it arises, and
// at the end of every entry they must agree:
//
//     charged + pending + nobody's (by reason) + open - topped up + cut = ticks passed, of all harts
//
// charged    ticks that folds took into passes, measured by what the pass and the remainder moved
// pending    billed to harts' own runners and not folded yet
// nobody's   idle time, waits behind audits and all else without a payer
// open       what ran on other harts since their last entry, billed at their next
// topped up  added by a deschedule to reach MIN_CHARGE
// cut        beyond RUNTIME_CAP in one fold
//
// Invariant: a fold stands between begin_fold and end_fold. Bound: 64 bits of ticks, all harts
// together.
#pragma once

#include "core/abi/trace.h"
#include "core/assert.h"
#include "core/stride/entity.h"

namespace ravelin {

#if RAVELIN_CHECKED

struct Ledger {
    static constexpr u32 kReasons = static_cast<u32>(abi::TraceCharge::audit_wait) + 1;

    u64 charged = 0;
    u64 pending = 0;
    u64 nobody[kReasons] = {};  ///< by TraceCharge
    u64 topped_up = 0;
    u64 cut = 0;
    u64 harts = 0;    ///< that came online
    u64 came_at = 0;  ///< the sum of when they did

    void hart_came(Ticks now) {
        harts += 1;
        came_at += now.value;
    }

    /// Ticks that passed until `now` on all harts since each came online.
    u64 passed(Ticks now) const { return harts * now.value - came_at; }

    /// `open`: see above.
    u64 accounted(u64 open) const {
        u64 unpaid = 0;
        for (u64 ticks : nobody)
            unpaid += ticks;
        return charged + pending + unpaid + open - topped_up + cut;
    }

    void bill_nobody(abi::TraceCharge reason, Ticks ticks) {
        nobody[static_cast<u32>(reason)] += ticks.value;
    }
    void bill_pending(Ticks ticks) { pending += ticks.value; }
    void take_pending(Ticks ticks) { pending -= ticks.value; }

    void begin_fold(const stride::Entity& entity) {
        pass_ = entity.pass;
        remainder_ = entity.remainder;
    }

    void top_up() { topped_up += stride::kMinCharge; }

    /// The entity was folded by `ticks`.
    void end_fold(const stride::Entity& entity, Ticks ticks) {
        U128 moved = entity.pass.minus(pass_).times(entity.weight).plus(entity.remainder);
        u64 took = moved.minus(U128{0, remainder_}).low / stride::kStride;
        charged += took;
        if (ticks.value > stride::kRuntimeCap) cut += ticks.value - stride::kRuntimeCap;
    }

  private:
    U128 pass_;
    u64 remainder_ = 0;
};

#else

struct Ledger {
    void hart_came(Ticks) {}
    void bill_nobody(abi::TraceCharge, Ticks) {}
    void bill_pending(Ticks) {}
    void take_pending(Ticks) {}
    void begin_fold(const stride::Entity&) {}
    void top_up() {}
    void end_fold(const stride::Entity&, Ticks) {}
};

#endif

}  // namespace ravelin
