#include "tools/oracle/describe.h"

#include <algorithm>

#include <fmt/format.h>

namespace ravelin::oracle {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;

U128 wide(const abi::TraceRecord& record) {
    return static_cast<U128>(record.y) << 64 | record.x;
}

std::string to_text(U128 value) {
    std::string text;
    do {
        text.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    std::reverse(text.begin(), text.end());
    return text;
}

std::string_view name_of(TraceKind kind) {
    switch (kind) {
    case TraceKind::enter: return "enter";
    case TraceKind::leave: return "leave";
    case TraceKind::wake: return "wake";
    case TraceKind::requeue: return "requeue";
    case TraceKind::out: return "out";
    case TraceKind::pass: return "pass";
    case TraceKind::pick: return "pick";
    case TraceKind::uncap: return "uncap";
    case TraceKind::floor: return "floor";
    case TraceKind::counts: return "counts";
    case TraceKind::runner: return "runner";
    case TraceKind::charge: return "charge";
    case TraceKind::top_up: return "top_up";
    case TraceKind::create: return "create";
    case TraceKind::entry_pass: return "entry_pass";
    case TraceKind::reweigh: return "reweigh";
    case TraceKind::reweighed: return "reweighed";
    case TraceKind::rem: return "rem";
    case TraceKind::lift: return "lift";
    case TraceKind::lift_work: return "lift_work";
    case TraceKind::lifted: return "lifted";
    case TraceKind::destroy_begin: return "destroy_begin";
    case TraceKind::destroy_end: return "destroy_end";
    case TraceKind::expire: return "expire";
    case TraceKind::arm: return "arm";
    case TraceKind::lock_wait: return "lock_wait";
    case TraceKind::thread_end: return "thread_end";
    case TraceKind::start: return "start";
    case TraceKind::online: return "online";
    case TraceKind::claim: return "claim";
    case TraceKind::answer: return "answer";
    case TraceKind::freed: return "freed";
    case TraceKind::zero: return "zero";
    case TraceKind::end: return "end";
    }
    return "?";
}

std::string_view name_of(TraceCause cause) {
    switch (cause) {
    case TraceCause::call: return "call";
    case TraceCause::fault: return "fault";
    case TraceCause::timer: return "timer";
    case TraceCause::external: return "external";
    case TraceCause::kick: return "kick";
    case TraceCause::boot: return "boot";
    }
    return "?";
}

std::string_view name_of(TraceLeave leave) {
    switch (leave) {
    case TraceLeave::resumed: return "resumed";
    case TraceLeave::slice_end: return "slice_end";
    case TraceLeave::gave_up: return "gave_up";
    case TraceLeave::preempted: return "preempted";
    case TraceLeave::from_idle: return "from_idle";
    }
    return "?";
}

std::string_view name_of(TraceCharge charge) {
    switch (charge) {
    case TraceCharge::user: return "user";
    case TraceCharge::call: return "call";
    case TraceCharge::fault: return "fault";
    case TraceCharge::timer: return "timer";
    case TraceCharge::interrupt: return "interrupt";
    case TraceCharge::expiry: return "expiry";
    case TraceCharge::destruction: return "destruction";
    case TraceCharge::pick: return "pick";
    case TraceCharge::lock_wait: return "lock_wait";
    case TraceCharge::idle: return "idle";
    case TraceCharge::kick: return "kick";
    case TraceCharge::nothing: return "nothing";
    case TraceCharge::no_pick: return "no_pick";
    case TraceCharge::boot: return "boot";
    case TraceCharge::zeroing: return "zeroing";
    case TraceCharge::audit: return "audit";
    case TraceCharge::audit_wait: return "audit_wait";
    }
    return "?";
}

std::string_view name_of(TraceExpiry expiry) {
    switch (expiry) {
    case TraceExpiry::timeout: return "timeout";
    case TraceExpiry::stale: return "stale";
    case TraceExpiry::deadline: return "deadline";
    }
    return "?";
}

namespace {

/// What a record says besides its place, entry, hart, kind and budget.
std::string details(const abi::TraceRecord& r) {
    switch (static_cast<TraceKind>(r.kind)) {
    case TraceKind::enter: {
        const auto cause = static_cast<TraceCause>(r.what & 0xff);
        return fmt::format("{}{} trapped {} locked {}", name_of(cause),
                           cause == TraceCause::call ? fmt::format(" {}", r.what >> 8) : "", r.x,
                           r.y);
    }
    case TraceKind::leave:
        return fmt::format("{} at {} slice end {}", name_of(static_cast<TraceLeave>(r.what)), r.x,
                           r.y);
    case TraceKind::wake:
    case TraceKind::requeue:
    case TraceKind::pass:
    case TraceKind::pick:
    case TraceKind::uncap:
    case TraceKind::entry_pass:
    case TraceKind::reweighed:
    case TraceKind::lifted: return "pass " + to_text(wide(r));
    case TraceKind::out:
        return fmt::format("pass {}{}", to_text(wide(r)), r.what == 1 ? " destroyed" : "");
    case TraceKind::floor: return to_text(wide(r));
    case TraceKind::counts: return fmt::format("waiting {} running {}", r.x, r.y);
    case TraceKind::runner:
        return fmt::format("weight {} thread {}.{}", r.x, r.y >> 32, r.y & 0xffff'ffff);
    case TraceKind::charge:
        return fmt::format("{} {} ticks at weight {}", name_of(static_cast<TraceCharge>(r.what)),
                           r.x, r.y);
    case TraceKind::top_up: return fmt::format("{} ticks", r.x);
    case TraceKind::create: return fmt::format("in b{} weight {} account {}", r.x, r.y, r.what);
    case TraceKind::reweigh: return fmt::format("weight {} to {}", r.x, r.y);
    case TraceKind::rem: return fmt::format("{} at weight {}", r.x, r.y);
    case TraceKind::lift: return fmt::format("onto b{} weight {}", r.x, r.y);
    case TraceKind::lift_work: return to_text(wide(r));
    case TraceKind::destroy_begin:
        return fmt::format("at {}{}", r.x, r.what == 1 ? " by deadline" : "");
    case TraceKind::destroy_end: return fmt::format("at {}", r.x);
    case TraceKind::expire:
        return fmt::format("{} due {} found {}", name_of(static_cast<TraceExpiry>(r.what)), r.x,
                           r.y);
    case TraceKind::arm: return fmt::format("for {}", r.x);
    case TraceKind::lock_wait: return fmt::format("{} ticks behind {} sections", r.x, r.y);
    case TraceKind::thread_end: return fmt::format("thread {}.{}", r.x, r.y);
    case TraceKind::claim: return r.x == 0 ? std::string("lost") : fmt::format("source {}", r.x);
    case TraceKind::answer: return fmt::format("{} ticks from {}", r.x, r.y);
    case TraceKind::freed: return fmt::format("{} frames", r.x);
    case TraceKind::zero: return fmt::format("owed by b{}", r.x);
    case TraceKind::start: return fmt::format("at {} timebase {} harts {}", r.x, r.y, r.what);
    case TraceKind::online: return fmt::format("at {}", r.x);
    case TraceKind::end: return fmt::format("at {} behind {} records kind {}", r.x, r.y, r.what);
    }
    return fmt::format("x {:#x} y {:#x} what {}", r.x, r.y, r.what);
}

}  // namespace

std::string describe(std::uint64_t place, const abi::TraceRecord& record) {
    const std::string_view kind = name_of(static_cast<TraceKind>(record.kind));
    return fmt::format("#{} e{} h{} {}{} {}", place, record.entry, record.hart,
                       kind == "?" ? fmt::format("kind {}", record.kind) : std::string(kind),
                       record.id != 0 ? fmt::format(" b{}", record.id) : "", details(record));
}

}  // namespace ravelin::oracle
