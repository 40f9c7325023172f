// One function a call: arguments into registers, a trap, results out. See calls.h.

#include "user/rt/calls.h"

#include "user/rt/trap.h"

namespace ravelin::rt {

namespace {

// Places in the page of Records.
constexpr Word kHandlesPlace = 0;
constexpr Word kSpecPlace = kHandlesPlace + abi::kMaxStartHandles * sizeof(u64);
constexpr Word kUsagePlace = kSpecPlace + sizeof(abi::BudgetSpec);
constexpr Word kBodyPlace = kUsagePlace + sizeof(abi::BudgetUsage);
constexpr Word kArrivalPlace = kBodyPlace + sizeof(abi::Body);
static_assert(kArrivalPlace + sizeof(abi::Arrival) <= kPageSize);

Registers arguments(abi::Call call) {
    Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(call);
    return registers;
}

Status enter(Registers& registers) {
    trap(registers);
    return static_cast<Status>(registers.at[0]);
}

void put_words(Registers& registers, const Words& words) {
    for (unsigned i = 0; i < abi::kMessageWords; ++i) {
        registers.put64(abi::kWordRegister + 2 * i, words.at[i]);
    }
}

Words get_words(const Registers& registers) {
    Words words;
    for (unsigned i = 0; i < abi::kMessageWords; ++i) {
        words.at[i] = registers.get64(abi::kWordRegister + 2 * i);
    }
    return words;
}

Message get_message(const Registers& registers) {
    return {.kind = static_cast<abi::Received>(registers.at[1]),
            .id = registers.get64(abi::kMessageRegister),
            .badge = registers.get64(abi::kBadgeRegister),
            .account = registers.get64(abi::kAccountRegister),
            .words = get_words(registers)};
}

// The body record of a message with these handles. More than fit are cut: the kernel says so.
Word put_body(Word page, std::span<const u32> handles) {
    abi::Body& body = *user_object<abi::Body>(page + kBodyPlace);
    body = {.handle_count = handles.size(), .handles = {}};
    for (std::size_t i = 0; i < handles.size() && i < abi::kMaxMessageHandles; ++i) {
        body.handles[i] = handles[i];
    }
    return page + kBodyPlace;
}

HandleSet get_handles(u64 count, const u64* handles) {
    HandleSet set;
    set.count = static_cast<u32>(count);
    for (u32 i = 0; i < set.count && i < abi::kMaxMessageHandles; ++i) {
        set.at[i] = Handle{static_cast<u32>(handles[i])};
    }
    return set;
}

Delivery get_delivery(const Registers& registers, Word page) {
    Delivery delivery;
    delivery.message = get_message(registers);
    if (registers.at[2] == 0) {
        return delivery;
    }
    const abi::Arrival& arrival = *user_object<abi::Arrival>(page + kArrivalPlace);
    delivery.handles = get_handles(arrival.handle_count, arrival.handles);
    delivery.address = static_cast<Word>(arrival.address);
    delivery.pages = static_cast<u32>(arrival.pages);
    delivery.label_count = static_cast<u32>(arrival.label_count);
    for (u32 i = 0; i < delivery.label_count && i < abi::kMaxLabels; ++i) {
        delivery.labels[i] = arrival.labels[i];
    }
    return delivery;
}

void put_message(Registers& registers, const Endpoint& endpoint, const Words& words,
                 const Cargo& cargo, Word body, Micros timeout) {
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    registers.at[4] = body;
    registers.at[5] = cargo.address;
    registers.at[6] = cargo.pages;
    put_words(registers, words);
}

// The handle in register 1 of a call that made one.
template <class H>
Result<H> made(Registers& registers) {
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return H{static_cast<u32>(registers.at[1])};
}

[[noreturn]] void leave(Registers& registers) {
    for (;;) {
        trap(registers);
    }
}

}  // namespace

Records::~Records() {
    if (page_ != 0) {
        static_cast<void>(unmap(page_, kPageSize));
    }
}

Word Records::page() {
    if (page_ == 0) {
        Result<Word> mapped = map_anon(kPageSize, abi::kRead | abi::kWrite);
        page_ = mapped.value();
    }
    return page_;
}

void close_handle(u32 index) {
    Registers registers = arguments(abi::Call::handle_close);
    registers.at[1] = index;
    trap(registers);
}

Result<Word> map_anon(Word length, u32 rights) {
    Registers registers = arguments(abi::Call::map_anon);
    registers.at[1] = length;
    registers.at[2] = rights;
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return registers.at[1];
}

Outcome map_fixed(Word address, Word length, u32 rights) {
    Registers registers = arguments(abi::Call::map_fixed);
    registers.at[1] = address;
    registers.at[2] = length;
    registers.at[3] = rights;
    return enter(registers);
}

Outcome unmap(Word address, Word length) {
    Registers registers = arguments(abi::Call::unmap);
    registers.at[1] = address;
    registers.at[2] = length;
    return enter(registers);
}

Outcome set_flags(Word address, Word length, u32 rights) {
    Registers registers = arguments(abi::Call::set_flags);
    registers.at[1] = address;
    registers.at[2] = length;
    registers.at[3] = rights;
    return enter(registers);
}

Result<u32> thread_create(Word entry, Word stack, Word argument) {
    Registers registers = arguments(abi::Call::thread_create);
    registers.at[1] = entry;
    registers.at[2] = stack;
    registers.at[3] = argument;
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return static_cast<u32>(registers.at[1]);
}

void thread_exit() {
    Registers registers = arguments(abi::Call::thread_exit);
    leave(registers);
}

void process_exit(Word code) {
    Registers registers = arguments(abi::Call::process_exit);
    registers.at[1] = code;
    leave(registers);
}

Result<Process> process_create(const Budget& budget, const Endpoint* exits) {
    Registers registers = arguments(abi::Call::process_create);
    registers.at[1] = budget.index();
    registers.at[2] = exits == nullptr ? 0 : exits->index();
    return made<Process>(registers);
}

Outcome process_map(const Process& process, Word source, Word destination, Word length,
                    u32 rights) {
    Registers registers = arguments(abi::Call::process_map);
    registers.at[1] = process.index();
    registers.at[2] = source;
    registers.at[3] = destination;
    registers.at[4] = length;
    registers.at[5] = rights;
    return enter(registers);
}

Outcome process_start(Records& records, const Process& process, Word entry, Word stack,
                      Word argument, std::span<const u32> handles) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    if (handles.size() > abi::kMaxStartHandles) {
        return Status::too_large;
    }
    u64* slots = user_object<u64>(page + kHandlesPlace);
    for (std::size_t i = 0; i < handles.size(); ++i) {
        slots[i] = handles[i];
    }
    Registers registers = arguments(abi::Call::process_start);
    registers.at[1] = process.index();
    registers.at[2] = entry;
    registers.at[3] = stack;
    registers.at[4] = argument;
    registers.at[5] = page + kHandlesPlace;
    registers.at[6] = handles.size();
    return enter(registers);
}

Result<Endpoint> endpoint_create() {
    Registers registers = arguments(abi::Call::endpoint_create);
    return made<Endpoint>(registers);
}

Result<Endpoint> mint(const Endpoint& source, u64 badge, const Budget* stamp) {
    Registers registers = arguments(abi::Call::mint);
    registers.at[1] = static_cast<Word>(abi::MintSource::handle);
    registers.put64(2, source.index());
    registers.put64(4, badge);
    registers.at[6] = stamp == nullptr ? 0 : stamp->index();
    return made<Endpoint>(registers);
}

Result<Endpoint> mint(u64 message, u64 badge, const Budget* stamp) {
    Registers registers = arguments(abi::Call::mint);
    registers.at[1] = static_cast<Word>(abi::MintSource::message);
    registers.put64(2, message);
    registers.put64(4, badge);
    registers.at[6] = stamp == nullptr ? 0 : stamp->index();
    return made<Endpoint>(registers);
}

Result<Words> call(const Endpoint& endpoint, const Words& words, Micros timeout) {
    Registers registers = arguments(abi::Call::call);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    put_words(registers, words);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return get_words(registers);
}

Outcome send(const Endpoint& endpoint, const Words& words, Micros timeout) {
    Registers registers = arguments(abi::Call::send);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    put_words(registers, words);
    return enter(registers);
}

Result<Message> receive(const Endpoint& endpoint, Micros timeout) {
    Registers registers = arguments(abi::Call::receive);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return get_message(registers);
}

Result<abi::Reply> reply(u64 message, const Words& words) {
    Registers registers = arguments(abi::Call::reply);
    registers.put64(abi::kMessageRegister, message);
    put_words(registers, words);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return static_cast<abi::Reply>(registers.at[1]);
}

Result<Message> reply_receive(u64 message, const Words& words, const Endpoint& endpoint,
                              Micros timeout) {
    Registers registers = arguments(abi::Call::reply_receive);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    registers.put64(abi::kMessageRegister, message);
    put_words(registers, words);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return get_message(registers);
}

CallEnd call(Records& records, const Endpoint& endpoint, const Words& words, const Cargo& cargo,
             Micros timeout) {
    const Word page = records.page();
    CallEnd end;
    if (page == 0) {
        end.status = Status::out_of_memory;
        return end;
    }
    Registers registers = arguments(abi::Call::call);
    put_message(registers, endpoint, words, cargo, put_body(page, cargo.handles), timeout);
    end.status = enter(registers);
    end.lend = static_cast<abi::Lend>(registers.at[1]);
    end.replied = registers.at[2] != 0;
    if (end.replied) {
        end.words = get_words(registers);
        end.handles =
            get_handles(registers.at[3], user_object<abi::Body>(page + kBodyPlace)->handles);
    }
    return end;
}

Outcome send(Records& records, const Endpoint& endpoint, const Words& words, const Cargo& cargo,
             Micros timeout) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    Registers registers = arguments(abi::Call::send);
    put_message(registers, endpoint, words, cargo, put_body(page, cargo.handles), timeout);
    return enter(registers);
}

Result<Delivery> receive(Records& records, const Endpoint& endpoint, u32 most_pages,
                         Micros timeout) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    Registers registers = arguments(abi::Call::receive);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    registers.at[4] = page + kArrivalPlace;
    registers.at[5] = most_pages;
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return get_delivery(registers, page);
}

Result<ReplyEnd> reply(Records& records, u64 message, const Words& words,
                       std::span<const u32> handles) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    Registers registers = arguments(abi::Call::reply);
    registers.at[1] = put_body(page, handles);
    registers.put64(abi::kMessageRegister, message);
    put_words(registers, words);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return ReplyEnd{static_cast<abi::Reply>(registers.at[1]), static_cast<u32>(registers.at[2])};
}

Result<Delivery> reply_receive(Records& records, u64 message, const Words& words,
                               std::span<const u32> handles, const Endpoint& endpoint,
                               u32 most_pages, ReplyEnd& replied, Micros timeout) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    Registers registers = arguments(abi::Call::reply_receive);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout.value);
    registers.at[4] = page + kArrivalPlace;
    registers.at[5] = most_pages;
    registers.at[6] = put_body(page, handles);
    registers.put64(abi::kMessageRegister, message);
    put_words(registers, words);
    const Status status = enter(registers);
    const Word end = registers.at[3];
    if (end != 0) {
        replied = {static_cast<abi::Reply>(end & ((1u << abi::kReplyMaskShift) - 1)),
                   static_cast<u32>(end >> abi::kReplyMaskShift)};
    }
    if (status != Status::ok) {
        return status;
    }
    return get_delivery(registers, page);
}

Outcome serve(u64 message) {
    Registers registers = arguments(abi::Call::serve);
    registers.put64(abi::kMessageRegister, message);
    return enter(registers);
}

void sleep(Micros length) {
    Registers registers = arguments(abi::Call::receive);
    registers.put64(2, length.value);
    trap(registers);
}

Result<Budget> budget_create(Records& records, const Budget& parent, const BudgetLimits& limits) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    abi::BudgetSpec& spec = *user_object<abi::BudgetSpec>(page + kSpecPlace);
    spec = {.pages = limits.pages,
            .processes = limits.processes,
            .weight = limits.weight,
            .label_count = limits.labels.size(),
            .labels = {},
            .account = limits.account,
            .deadline = limits.deadline.value};
    for (std::size_t i = 0; i < limits.labels.size() && i < abi::kMaxLabels; ++i) {
        spec.labels[i] = limits.labels[i];
    }
    Registers registers = arguments(abi::Call::budget_create);
    registers.at[1] = parent.index();
    registers.at[2] = page + kSpecPlace;
    return made<Budget>(registers);
}

Outcome budget_destroy(Budget& budget) {
    Registers registers = arguments(abi::Call::budget_destroy);
    registers.at[1] = budget.index();
    const Status status = enter(registers);
    if (status == Status::ok) {
        budget.forget();
    }
    return status;
}

Result<abi::BudgetUsage> budget_usage(Records& records, const Budget& budget) {
    const Word page = records.page();
    if (page == 0) {
        return Status::out_of_memory;
    }
    Registers registers = arguments(abi::Call::budget_usage);
    registers.at[1] = budget.index();
    registers.at[2] = page + kUsagePlace;
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return *user_object<abi::BudgetUsage>(page + kUsagePlace);
}

Result<Word> budget_reap(const Budget& budget) {
    Registers registers = arguments(abi::Call::budget_reap);
    registers.at[1] = budget.index();
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return registers.at[1];
}

Result<DeviceInfo> device_info(u32 index) {
    Registers registers = arguments(abi::Call::device_info);
    registers.at[1] = index;
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return DeviceInfo{.kind = static_cast<abi::DeviceKind>(registers.at[1]),
                      .model = static_cast<abi::DeviceModel>(registers.at[2]),
                      .place = registers.get64(3),
                      .pages = static_cast<u32>(registers.at[5])};
}

Result<Word> map_device(const RegisterWindow& window) {
    Registers registers = arguments(abi::Call::map_device);
    registers.at[1] = window.index();
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return registers.at[1];
}

Outcome receive(const Interrupt& interrupt, Micros timeout) {
    Registers registers = arguments(abi::Call::receive);
    registers.at[1] = interrupt.index();
    registers.put64(2, timeout.value);
    return enter(registers);
}

Micros time_now() {
    Registers registers = arguments(abi::Call::time_now);
    trap(registers);
    return {registers.get64(1)};
}

Result<u64> random() {
    Registers registers = arguments(abi::Call::random);
    const Status status = enter(registers);
    if (status != Status::ok) {
        return status;
    }
    return registers.get64(1);
}

Outcome system_reset(const ResetDevice& device, abi::Reset kind) {
    Registers registers = arguments(abi::Call::system_reset);
    registers.at[1] = device.index();
    registers.at[2] = static_cast<Word>(kind);
    return enter(registers);
}

}  // namespace ravelin::rt
