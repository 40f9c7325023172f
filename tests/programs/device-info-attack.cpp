// Devices are told of and used through their handles alone (R18): every call about devices with every number,
// with handles of other objects and of the wrong kind of device is refused and changes nothing; a process that was
// given none ends no machine and maps nothing. What the launcher is told stays the same throughout, and the same to a
// child that was given the handle.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr abi::Call kCalls[] = {abi::Call::device_info, abi::Call::map_device, abi::Call::dma_alloc,
                                abi::Call::system_reset};
constexpr Word kHostile[] = {4'095, 4'096, 65'536, ~Word{0} >> 1, ~Word{0} - 1, ~Word{0}};

abi::Status enter(abi::Call call, Word handle, Word argument) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(call);
    registers.at[1] = handle;
    registers.at[2] = argument;
    rt::trap(registers);
    return static_cast<abi::Status>(registers.at[0]);
}

// Has no device, and ends if it gets at one all the same.
void attacker(Child& child) {
    child.begin();
    for (abi::Call call : kCalls) {
        for (Word argument : {Word{0}, Word{1}, Word{2}, Word{3}, ~Word{0}}) {
            for (Word handle = 0; handle < 300; ++handle) {
                static_cast<void>(enter(call, handle, argument));
            }
            for (Word handle : kHostile) {
                static_cast<void>(enter(call, handle, argument));
            }
        }
    }
    child.report(0);
    rt::sleep(rt::kForever);
}

// Was given a device at role handle 0: tells what it is told of it.
void holder(Child& child) {
    const rt::DeviceInfo info = child.must(rt::device_info(workload::kFirstRoleHandle));
    child.report(static_cast<u64>(info.kind), info.place, info.pages);
}

bool same(const rt::DeviceInfo& one, const rt::DeviceInfo& other) {
    return one.kind == other.kind && one.model == other.model && one.place == other.place &&
           one.pages == other.pages;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const u32 clock = launcher.device(abi::DeviceKind::mmio, abi::DeviceModel::goldfish_rtc);
    const u32 line = launcher.device(abi::DeviceKind::interrupt, abi::DeviceModel::goldfish_rtc);
    const rt::DeviceInfo window = launcher.must(rt::device_info(clock));
    const rt::DeviceInfo source = launcher.must(rt::device_info(line));
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    // The launcher's own refusals, by handles that it has.
    const auto refused = [&](abi::Call call, Word handle, abi::Status by) {
        launcher.expect(enter(call, handle, 1) == by);
    };
    for (abi::Call call : kCalls) {
        refused(call, endpoint.index(), abi::Status::wrong_object);
        refused(call, launcher.users().index(), abi::Status::wrong_object);
        refused(call, 0, abi::Status::bad_handle);
        for (Word handle : kHostile) {
            refused(call, handle, abi::Status::bad_handle);
        }
    }
    refused(abi::Call::map_device, line, abi::Status::wrong_object);
    refused(abi::Call::map_device, abi::kBootReset, abi::Status::wrong_object);
    refused(abi::Call::system_reset, line, abi::Status::wrong_object);
    refused(abi::Call::system_reset, clock, abi::Status::wrong_object);
    launcher.expect(enter(abi::Call::system_reset, abi::kBootReset, 0) ==
                    abi::Status::invalid_argument);
    launcher.expect(enter(abi::Call::system_reset, abi::kBootReset, ~Word{0}) ==
                    abi::Status::invalid_argument);

    const rt::Budget hostile = launcher.budget(launcher.users(), 100, 1, 1, 8);
    launcher.start<attacker>(hostile);
    const u64 pages = launcher.usage(hostile).pages_used;
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    static_cast<void>(launcher.next_report());
    // It has mapped nothing: a window would have its tables charged.
    launcher.expect(launcher.usage(hostile).pages_used <= pages);
    const rt::Budget driver = launcher.budget(launcher.users(), 100, 2);
    launcher.start<holder>(driver, {}, {clock});
    const workload::ChildReport told = launcher.next_report();
    launcher.expect(told.values[0] == static_cast<u64>(window.kind) &&
                    told.values[1] == window.place && told.values[2] == window.pages);
    launcher.expect(same(launcher.must(rt::device_info(clock)), window));
    launcher.expect(same(launcher.must(rt::device_info(line)), source));
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
