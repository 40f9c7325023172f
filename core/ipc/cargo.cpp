// Handles and pages in messages; see cargo.h.
#include "core/ipc/cargo.h"

#include "core/assert.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/object/shootdown.h"

namespace ravelin::ipc {

using abi::Status;

namespace {

// Registers of the calls that carry something.
constexpr unsigned kRecordRegister = 4;
constexpr unsigned kAddressRegister = 5;
constexpr unsigned kPagesRegister = 6;
constexpr unsigned kMostPagesRegister = 5;  // of a receive

u32 live_handles(const Cargo& cargo) {
    u32 live = 0;
    for (u32 place = 0; place < cargo.handle_count; ++place)
        live += cargo.handles[place].object != nullptr ? 1u : 0u;
    return live;
}

bool one_payer(const Thread& one, const Thread& other) {
    return one.process->budget == other.process->budget;
}

}  // namespace

Status read_handles(Kernel& kernel, Hart& self, Thread& thread, Word address, bool write,
                    Handles& handles) {
    handles.count = 0;
    if (address == 0) return Status::ok;
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    abi::Body body;
    Status status = copy_in(memory, &body, address, sizeof body);
    if (status == Status::ok && write)
        status = check_record(memory, address, sizeof body, abi::kWrite);
    if (status != Status::ok) return status;
    if (body.handle_count > abi::kMaxMessageHandles) return Status::too_large;
    for (u32 place = 0; place < body.handle_count; ++place) {
        u64 handle = body.handles[place];
        HandleSlot* slot =
            handle < abi::kMaxHandles ? find_handle(process, static_cast<Word>(handle)) : nullptr;
        if (slot == nullptr) return Status::bad_handle;
        handles.slots[place] = slot;
    }
    handles.count = static_cast<u32>(body.handle_count);
    return Status::ok;
}

Status read_cargo(Kernel& kernel, Hart& self, Thread& sender, bool call, Handles& handles,
                  PageRun& run) {
    const Port::Context& context = sender.context;
    Word pages = context.reg(kPagesRegister);
    if (pages > (call ? abi::kMaxLendPages : kMessagePages)) return Status::too_large;
    run = {context.reg(kAddressRegister), static_cast<u32>(pages)};
    if ((run.address == 0) != (run.count == 0)) return Status::invalid_argument;
    Status status = read_handles(kernel, self, sender, context.reg(kRecordRegister), call, handles);
    if (status != Status::ok || run.count == 0) return status;
    return check_run(memory_of(kernel, self, *sender.process), run);
}

void load(Kernel& kernel, Hart& self, Thread& sender, const Handles& handles, const PageRun& run) {
    Cargo& cargo = sender.cargo;
    cargo.handle_count = handles.count;
    for (u32 place = 0; place < handles.count; ++place)
        copy_to_message(cargo.handles[place], *handles.slots[place]);
    cargo.run = run;
    sender.wait.cargo = true;
    if (run.count == 0) return;
    MemoryContext memory = memory_of(kernel, self, *sender.process);
    Flush flush;
    put_out_of_reach(memory, run, flush);
    apply(kernel, self, *sender.process, flush);
}

abi::Lend unload(Kernel& kernel, Hart& self, Thread& sender) {
    if (!sender.wait.cargo) return abi::Lend::none;
    sender.wait.cargo = false;
    Cargo& cargo = sender.cargo;
    for (u32 place = 0; place < cargo.handle_count; ++place) {
        if (cargo.handles[place].object != nullptr) close_handle(kernel, cargo.handles[place]);
    }
    if (cargo.run.count == 0) return abi::Lend::none;
    MemoryContext memory = memory_of(kernel, self, *sender.process);
    Flush flush;
    put_in_reach(memory, cargo.run, flush);
    apply(kernel, self, *sender.process, flush);
    return abi::Lend::returned;
}

bool record_good(Kernel& kernel, Hart& self, Thread& receiver) {
    Word record = receiver.context.reg(kRecordRegister);
    return record == 0 || check_record(memory_of(kernel, self, *receiver.process), record,
                                       sizeof(abi::Arrival), abi::kWrite) == Status::ok;
}

Take can_land(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender, Landing& landing) {
    if (!record_good(kernel, self, receiver)) return Take::bad_record;
    if (!sender.wait.cargo) return Take::can;
    const Cargo& cargo = sender.cargo;
    if (receiver.context.reg(kRecordRegister) == 0) return Take::refused;
    u32 grown = 0;
    if (!room_for_handles(*receiver.process, live_handles(cargo), grown)) return Take::refused;
    landing.pages = grown;
    if (cargo.run.count == 0) return Take::can;
    bool transfer = sender.wait.kind == WaitKind::send;
    if (transfer && cargo.run.count > receiver.context.reg(kMostPagesRegister))
        return Take::refused;
    u32 tables = 0;
    if (!find_message_room(memory_of(kernel, self, *receiver.process), cargo.run.count,
                           landing.address, tables)) {
        return Take::refused;
    }
    landing.pages += tables;
    if (!transfer || !one_payer(receiver, sender)) landing.pages += cargo.run.count;
    return Take::can;
}

Word tell_labels(Kernel& kernel, Hart& self, Thread& receiver, const LabelSet& labels) {
    if (labels.empty()) return 0;
    Word record = receiver.context.reg(kRecordRegister);
    if (record == 0) return abi::kHasLabels;
    abi::Arrival arrival{};
    arrival.label_count = labels.count;
    for (u32 place = 0; place < labels.count; ++place)
        arrival.labels[place] = labels.at[place];
    copy_out(memory_of(kernel, self, *receiver.process), record, &arrival, sizeof arrival);
    return abi::kHasLabels;
}

Word land(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender, const Landing& landing,
          OpenCall* open) {
    const LabelSet& labels = sender.process->budget->labels;
    if (!sender.wait.cargo) return tell_labels(kernel, self, receiver, labels);
    sender.wait.cargo = false;
    Process& process = *receiver.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Cargo& cargo = sender.cargo;
    abi::Arrival arrival{};
    Word brought = labels.empty() ? 0 : abi::kHasLabels;
    arrival.label_count = labels.count;
    for (u32 place = 0; place < labels.count; ++place)
        arrival.labels[place] = labels.at[place];
    if (cargo.run.count != 0) {
        bool transfer = open == nullptr;
        bool charged = !transfer || !one_payer(receiver, sender);
        MemoryContext from = memory_of(kernel, self, *sender.process);
        Flush flush;
        take_run(memory, from, cargo.run, landing.address, transfer, charged, flush);
        if (transfer) {
            Flush left;
            consume(from, cargo.run, charged, left);
            apply(kernel, self, *sender.process, left);
        } else {
            open->lent = cargo.run;
            open->borrowed = landing.address;
        }
        apply(kernel, self, process, flush);
        arrival.address = landing.address;
        arrival.pages = cargo.run.count;
        brought |= abi::kHasPages;
    }
    arrival.handle_count = cargo.handle_count;
    for (u32 place = 0; place < cargo.handle_count; ++place) {
        HandleSlot& copy = cargo.handles[place];
        if (copy.object == nullptr) continue;
        u32 handle = 0;
        Status status =
            install_handle(kernel, process, *copy.object, *copy.stamp, copy.badge, handle);
        static_cast<void>(status);
        RAVELIN_ASSERT(status == Status::ok);
        close_handle(kernel, copy);
        arrival.handles[place] = handle;
    }
    if (cargo.handle_count != 0) brought |= abi::kHasHandles;
    copy_out(memory, receiver.context.reg(kRecordRegister), &arrival, sizeof arrival);
    return brought;
}

void give_back(Kernel& kernel, Hart& self, OpenCall& call) {
    if (call.lent.count == 0) return;
    Process& server = *call.server;
    MemoryContext borrower = memory_of(kernel, self, server);
    const PageRun borrowed{call.borrowed, call.lent.count};
    if (call.caller == nullptr) {
        Flush flush;
        drop_borrowed(borrower, borrowed, true, flush);
        apply(kernel, self, server, flush);
    } else {
        // Out of the borrower's reach on every hart before the lender reaches it again.
        Process& process = *call.caller->process;
        MemoryContext lender = memory_of(kernel, self, process);
        RAVELIN_ASSERT(same_frames(lender, call.lent, borrower, call.borrowed));
        Flush left;
        drop_borrowed(borrower, borrowed, false, left);
        apply(kernel, self, server, left);
        Flush back;
        put_in_reach(lender, call.lent, back);
        apply(kernel, self, process, back);
    }
    call.lent.count = 0;
}

abi::Lend leave_behind(Kernel& kernel, Hart& self, OpenCall& call) {
    if (call.lent.count == 0) return abi::Lend::none;
    Process& process = *call.caller->process;
    MemoryContext lender = memory_of(kernel, self, process);
    Flush flush;
    consume(lender, call.lent, true, flush);
    apply(kernel, self, process, flush);
    return abi::Lend::consumed;
}

bool deliver_handles(Kernel& kernel, Hart& self, Thread& caller, const Handles& handles,
                     u32& mask) {
    Process& process = *caller.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Word record = caller.context.reg(kRecordRegister);
    if (record == 0) return true;
    if (check_record(memory, record, sizeof(abi::Body), abi::kWrite) != Status::ok) return false;
    abi::Body body{};
    body.handle_count = handles.count;
    for (u32 place = 0; place < handles.count; ++place) {
        const HandleSlot& slot = *handles.slots[place];
        u32 handle = 0;
        if (install_handle(kernel, process, *slot.object, *slot.stamp, slot.badge, handle) !=
            Status::ok) {
            continue;
        }
        body.handles[place] = handle;
        mask |= u32{1} << place;
    }
    copy_out(memory, record, &body, sizeof body);
    return true;
}

}  // namespace ravelin::ipc
