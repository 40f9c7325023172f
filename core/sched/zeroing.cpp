// Zeroing outside of the lock; see zeroing.h.
#include "core/sched/zeroing.h"

#include "core/planted.h"
#include "core/sched/sched.h"

namespace ravelin::sched {

using abi::TraceCharge;
using abi::TraceKind;

void owe_freed(Kernel& kernel, Hart& hart, Budget* payer) {
    const u32 frames = kernel.frames.freed();
    if (frames == 0) return;
    payer = payer_for(payer);
    kernel.frames.owe(payer == nullptr ? nullptr : &payer->unclean);
    kernel.trace.write(hart.index, TraceKind::freed, payer == nullptr ? 0 : payer->head.id, frames,
                       0);
}

void zeroing_lifts(Kernel& kernel, Budget& dying, Budget* payer) {
    kernel.frames.move(dying.unclean, payer == nullptr ? nullptr : &payer->unclean);
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        Hart& hart = kernel.harts[index];
        if (hart.zeroed_for == &dying) hart.zeroed_for = payer;
    }
}

Budget* begin_zeroing(Kernel& kernel, Hart& hart) {
    Unclean* owing = kernel.frames.owing();
    if (owing == nullptr) return nullptr;
    Budget& owner = *reinterpret_cast<Budget*>(reinterpret_cast<char*>(owing) -
                                               __builtin_offsetof(Budget, unclean));
    Budget* payer = payer_for(&owner);
    if (payer == nullptr) {
        kernel.frames.move(*owing, nullptr);
        return nullptr;
    }
    hart.zeroing = kernel.frames.take_out(*owing);
    kernel.trace.write(hart.index, TraceKind::zero, payer->head.id, owner.head.id, 0);
    return payer;
}

void zero_frame(Kernel& kernel, Hart& hart) {
    Frames::zero(kernel.port, hart.zeroing);
    kernel.port.work(hart.index, Work::frame, 1);
    hart.zeroed = kernel.port.now(hart.index);
}

void end_zeroing(Kernel& kernel, Hart& hart) {
    kernel.frames.put_clean(hart.zeroing);
    hart.zeroing = {};
    hart.zeroed_for = hart.payer;
    Budget* nobody = nullptr;
    bill(kernel, hart, hart.zeroed, nobody, TraceCharge::idle);
}

}  // namespace ravelin::sched
