// The conformance suite: a kernel of its own that drives a port through core/port.h alone, checks
// every promise of that file, and prints one line a check.
//
// It defines the upcalls itself. The boot hart goes through the checks one after another; each is a
// function that is called again at every entry of that hart, with `step` counting the calls. Other
// harts idle, and enter the function that a check gives them. It includes nothing of a host and
// takes user code from the boot program, so any port can run it. Bound: one hart drives; no lock.
#pragma once

#include <atomic>

#include "core/abi/calls.h"
#include "core/entry/enter.h"
#include "tests/conformance/guest.h"
#include "tests/conformance/tested_port.h"

namespace ravelin {

namespace conformance {

struct Check;

/// A time that one hart tells another; machines of 32 bits have no atomic of 64. One that is read while it
/// is written is right as long as both are within 2^32 ticks of one high half.
class SharedTime {
  public:
    void store(u64 time) {
        high_.store(static_cast<u32>(time >> 32));
        low_.store(static_cast<u32>(time));
    }
    u64 load() const { return u64{high_.load()} << 32 | low_.load(); }

  private:
    std::atomic<u32> high_{0}, low_{0};
};

/// What a check is: gives what the boot hart does next (null: idle). `trap` is null at step 0.
using Run = Port::Context* (*)(Kernel& kernel, const Trap* trap);
/// What another hart does at an entry.
using Role = Port::Context* (*)(Kernel& kernel, HartIndex hart, const Trap& trap);

struct Check {
    const char* name;
    u32 harts;  ///< it needs at least so many
    Run run;
    bool device = false;  ///< it needs a TestDevice
};

/// A device whose interrupt line the checks can raise and lower: either by writes of 32 bits to its
/// registers, which the guest makes, or by a function.
struct TestDevice {
    struct Write {
        u32 offset;
        u32 value;
    };
    u32 source = 0;   ///< 0: there is none
    u64 address = 0;  ///< of its registers
    std::span<const Write> raise;
    std::span<const Write> lower;
    void (*set_line)(Kernel& kernel, bool high) = nullptr;
};

/// The board's; given by who runs the suite on it.
TestDevice test_device(Kernel& kernel);

std::span<const Check> time_checks();
std::span<const Check> context_checks();
std::span<const Check> memory_checks();
std::span<const Check> hart_checks();
std::span<const Check> system_checks();
std::span<const Check> interrupt_checks();
/// Of what only this machine has, maybe none; given by who runs the suite on it.
std::span<const Check> machine_checks();

/// An address space of the suite's own making. The boot program's segments are in it.
struct Space {
    FrameNumber root;
    u32 number = 0;
};

inline constexpr HartIndex kBootHart{0};

/// User addresses that the checks use; the program and its stacks are elsewhere.
inline constexpr Word kTestPage = 0x2800'0000;
inline constexpr Word kDevicePage = 0x2f00'0000;

}  // namespace conformance

struct Kernel {
    explicit Kernel(Port& machine) : port(machine) {}

    // For checks.

    /// Notes a failure, printed with the check's name, if `good` is false.
    void expect(bool good, const char* what);
    /// Ends the check.
    Port::Context* done() {
        finished = true;
        return nullptr;
    }
    Ticks now() { return port.now(conformance::kBootHart); }

    /// Makes thread `slot` (0 to 3) in `space`; it runs the guest, whose first call's result is
    /// `argument`.
    Port::Context* make_thread(unsigned slot, const conformance::Space& in, Word argument);
    /// The same from any entry value.
    Port::Context* make_thread_at(unsigned slot, const conformance::Space& in, Word entry,
                                  Word argument);
    void drop_thread(unsigned slot) { port.drop_context(conformance::kBootHart, *threads[slot]); }

    /// Answers the thread's call with an order.
    static Port::Context* order(Port::Context* thread, conformance::Order what, Word first = 0,
                                Word second = 0);
    /// Orders what raises or lowers the test device's line; the result is 0.
    Port::Context* set_line(Port::Context* thread, bool high);
    /// Whether the trap is a call of the thread with `result`.
    static bool answered(const Trap& trap, const Port::Context* thread, Word result);

    FrameNumber take_frame();  ///< zeroed
    Word* words(FrameNumber of) { return static_cast<Word*>(port.frame_pointer(of)); }
    conformance::Space make_space(u32 number);
    /// The table entry of a page of user space, its tables made if need be.
    Port::Format::Entry& table_entry(const conformance::Space& in, Word address);
    void map(const conformance::Space& in, Word address, FrameNumber what, u32 rights) {
        table_entry(in, address) = Port::Format::leaf(what, rights);
    }
    void activate(const conformance::Space& which) {
        port.activate(conformance::kBootHart, which.root, which.number);
    }

    void print(const char* text);
    void print(u64 number);

    // The driver.
    Port::Context* drive(const Trap* trap);

    conformance::TestedPort port;
    BootProgram program;
    std::span<const conformance::Check> group;
    unsigned groups_done = 0;
    const conformance::Check* check = nullptr;
    unsigned step = 0;
    bool finished = false;
    bool settling = false;
    bool check_failed = false;
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned skipped = 0;

    conformance::TestDevice device;
    conformance::Space space;  ///< the one that checks use unless they are about spaces
    Port::Context* threads[4] = {};
    FrameNumber next_frame;
    FrameNumber end_frame;

    std::atomic<conformance::Role> role{nullptr};
    std::atomic<u32> online{1};  ///< harts that came online, one bit an index
    // For the check that runs.
    Ticks mark;
    u64 counter = 0;
    FrameNumber frame;
    FrameNumber other_frame;
    conformance::Space other_space;
    std::atomic<u32> flag{0};
    std::atomic<u32> other_flag{0};
    conformance::SharedTime shared_time;
};

}  // namespace ravelin
