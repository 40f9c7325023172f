// A device's registers are read and written and nothing else (R18, I9): no call makes them executable, and none
// gives them on, to a child's memory, in a lend or in a transfer. Who runs into them faults. The launcher makes the
// calls on its own mapping, which stays as it was; a child that executes its own ends by the kernel's fault.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u32 kData = abi::kRead | abi::kWrite;
constexpr u32 kExecutable[] = {abi::kExecute, abi::kRead | abi::kExecute,
                               abi::kWrite | abi::kExecute,
                               abi::kRead | abi::kWrite | abi::kExecute};
constexpr Word kPlace = 0x3000'0000;
constexpr u64 kPages = 32;
constexpr u32 kGiven = 1;  // the child's only handle

// Was given the registers: asks for them executable, then runs them all the same.
void execute(rt::Env& env) {
    const rt::RegisterWindow window = env.start_handle<rt::RegisterWindow>(kGiven);
    rt::Result<Word> registers = rt::map_device(window);
    rt::Result<rt::Stack> stack = rt::Stack::make();
    if (!registers.ok() || !stack.ok()) {
        rt::process_exit(1);
    }
    for (u32 rights : kExecutable) {
        static_cast<void>(rt::set_flags(registers.value(), rt::kPageSize, rights));
    }
    if (!rt::thread_create(registers.value(), stack.value().top(), 0).ok()) {
        rt::process_exit(2);
    }
    rt::sleep(rt::milliseconds(20));
    rt::process_exit(3);
}

bool ticks(const workload::Alarm& clock) {
    const u64 before = clock.now();
    rt::sleep(rt::milliseconds(1));
    return clock.now() > before;
}

void refusals(Launcher& launcher, const rt::Budget& budget, u32 clock) {
    const rt::RegisterWindow window{clock};
    const rt::DeviceInfo info = launcher.must(rt::device_info(clock));
    const Word registers = launcher.must(rt::map_device(window));
    const workload::Alarm alarm{registers};
    launcher.expect(ticks(alarm));
    const rt::Process child = launcher.must(rt::process_create(budget));
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    rt::Records& records = launcher.env().records();
    const u64 pages = launcher.usage(budget).pages_used;
    for (u32 rights : kExecutable) {
        launcher.expect(rt::set_flags(registers, rt::kPageSize, rights).status() ==
                        abi::Status::invalid_argument);
        launcher.expect(rt::process_map(child, registers, kPlace, rt::kPageSize, rights).status() ==
                        abi::Status::invalid_argument);
    }
    launcher.expect(rt::process_map(child, registers, kPlace, rt::kPageSize, kData).status() ==
                    abi::Status::invalid_argument);
    const rt::Cargo cargo{.address = registers, .pages = 1};
    launcher.expect(rt::call(records, endpoint, {}, cargo, {0}).status ==
                    abi::Status::invalid_argument);
    launcher.expect(rt::send(records, endpoint, {}, cargo, {0}).status() ==
                    abi::Status::invalid_argument);
    launcher.expect(launcher.usage(budget).pages_used == pages);
    // Nothing of it happened: the registers answer as before, and are where the board has them.
    launcher.expect(ticks(alarm));
    launcher.expect(launcher.must(rt::device_info(clock)).place == info.place);
    launcher.must(rt::unmap(registers, info.pages * rt::kPageSize));
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const u32 clock = launcher.device(abi::DeviceKind::mmio, abi::DeviceModel::goldfish_rtc);
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 2, kPages);
    rt::Process child = launcher.must(
        rt::start_copy<execute>(env.records(), budget, 0, std::span<const u32>{&clock, 1}, &exits));
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(500)));
    launcher.expect(end.kind == abi::Received::exit);
    launcher.expect(end.words.at[1] == static_cast<u64>(abi::ExitCause::faulted));
    launcher.expect(end.words.at[2] == static_cast<u64>(abi::FaultCode::fetch));
    child.forget();
    refusals(launcher, budget, clock);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
