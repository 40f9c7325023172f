// Shootdowns; see shootdown.h.
#include "core/object/shootdown.h"

#include "core/planted.h"

namespace ravelin {

namespace {

// What a hart does for a request, its own or another's. The hart that asks changes Hart::space of
// others only through this.
void obey(Kernel& kernel, Hart& hart) {
    const Shootdown& request = kernel.shootdown;
    if (request.space == 0) return;
    if (!request.leave) {
        kernel.port.flush(hart.index, request.space, request.address, request.pages);
        return;
    }
    if (hart.space == request.space) {
        kernel.port.activate(hart.index, FrameNumber{}, 0);
        hart.space = 0;
    }
    kernel.port.release_space(hart.index, request.space);
}

// What the answer took is time of who pays for this entry, no longer of the hart that gave it.
void take_over(Kernel& kernel, Hart& self, Hart& other) {
    kernel.trace.write(other.index, abi::TraceKind::answer, 0, other.answer.value,
                       other.answer_from.value);
    if (planted::moved(planted::Row::shootdown)) return;
    self.since = self.since - other.answer;
    other.since += other.answer;
    other.answered += other.answer;
}

void ask(Kernel& kernel, Hart& self, u32 harts, const Shootdown& request) {
    kernel.shootdown = request;
    kernel.asker = self.index;
    u32 own = HartMask::of(self.index).bits;
    if ((harts & own) != 0) obey(kernel, self);
    harts &= ~own;
    if (harts == 0) return;
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        if ((harts >> index & 1) != 0)
            kernel.harts[index].asked.store(1, std::memory_order_seq_cst);
    }
    kernel.port.kick(self.index, HartMask{harts});
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        if ((harts >> index & 1) == 0) continue;
        while (kernel.harts[index].asked.load(std::memory_order_seq_cst) != 0)
            kernel.port.wait(self.index);
        take_over(kernel, self, kernel.harts[index]);
    }
}

}  // namespace

void answer_shootdown(Kernel& kernel, Hart& hart) {
    HartIndex asker = kernel.asker;
    hart.answer_from = kernel.port.now(hart.index);
    obey(kernel, hart);
    kernel.port.work(hart.index, Work::switched, 1);
    hart.answer = kernel.port.now(hart.index) - hart.answer_from;
    hart.asked.store(0, std::memory_order_seq_cst);
    kernel.port.kick(hart.index, HartMask::of(asker));
}

void apply(Kernel& kernel, Hart& self, Process& process, const Flush& flush) {
    if (flush.empty()) return;
    u32 harts =
        flush.removed ? process.harts_seen : process.harts_seen & HartMask::of(self.index).bits;
    if (harts != 0) ask(kernel, self, harts, {flush.space, flush.address, flush.pages, false});
    if (flush.code) kernel.port.sync_code(self.index);
}

void leave_space(Kernel& kernel, Hart& self, Process& process) {
    if (process.harts_seen != 0) ask(kernel, self, process.harts_seen, {process.pid, 0, 0, true});
    process.harts_seen = 0;
}

void evict(Kernel& kernel, Hart& self, HartIndex hart) {
    ask(kernel, self, HartMask::of(hart).bits, {});
}

}  // namespace ravelin
