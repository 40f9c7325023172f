// THE port interface: everything the kernel asks of a machine, and everything a machine tells the
// kernel.
//
// A port is a class `ravelin::Port` in a header named ravelin_port.h on the include path; this file
// includes it and checks it against the concepts below. One Port object serves one Kernel; nothing
// in it is global. All downcalls are noexcept and, unless stated, are made by hart `hart` with the
// kernel lock held. Each takes the calling hart's index first, so that a port needs no
// thread-local. The upcalls are the functions of core/entry/enter.h: boot, hart_online, enter.
//
// Downcalls (who calls, when):
//   time      now, arm, disarm
//   harts     start, kick, wait
//   context   make_context, drop_context; on a context: reg, set_reg, retake
//   memory    frame_pointer, frame_number, activate, flush, release_space, sync_code
//   interrupts claim, complete, set_enabled
//   system    console, entropy, reset, facts, work
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "core/abi/calls.h"
#include "core/types.h"

namespace ravelin {

/// Why a hart enters the kernel.
enum class TrapKind : u8 { call, fault, timer, external, kick };

/// What a faulting access was for; `illegal` is every other exception of user code.
enum class FaultKind : u8 { fetch, load, store, illegal };

/// One entry into the kernel. A call's registers are in the context that trapped.
struct Trap {
    TrapKind kind = TrapKind::kick;
    FaultKind fault = FaultKind::illegal;  ///< of a fault
    Word address = 0;                      ///< of a fault: the user address that was accessed
};

/// How a machine ends.
enum class ResetKind : u8 { off, reboot, off_failed };

/// Work the kernel has just done, told to the port in units, so that a port whose clock does not
/// run by itself can move it by a stated cost. A port with a real clock does nothing, inline.
enum class Work : u8 {
    entry,
    call,
    expiry,
    bill,
    deschedule,
    pick,
    switched,
    destroy_step,
    frame,
    idle,
    leave
};
inline constexpr unsigned kWorkKinds = 11;

/// A run of RAM frames that the kernel may use for anything.
struct RamRun {
    FrameNumber first;
    u32 count = 0;
};

using abi::DeviceKind;
using abi::DeviceModel;

/// The highest interrupt source: a board that names a higher one is refused at boot.
inline constexpr u32 kMaxSource = 1023;

/// A device the board has and the kernel makes an object for. The kernel refuses a board whose
/// windows are empty, not on page boundaries, wrap, or overlap each other or RAM, and one with an
/// interrupt of source 0, above kMaxSource or named twice (R18). A port sees to what only it knows:
/// no window holds RAM that is not the kernel's or the registers of an interrupt controller.
struct DeviceFact {
    DeviceKind kind = DeviceKind::mmio;
    DeviceModel model = DeviceModel::other;
    u64 address = 0;  ///< of an mmio window: physical address
    u32 pages = 0;    ///< of an mmio window
    u32 source = 0;   ///< of an interrupt: its number at the controller, 1 to kMaxSource
};

/// What the machine is, fixed before boot.
struct BoardFacts {
    u64 timebase = 0;  ///< ticks a second, not 0
    u32 harts = 1;     ///< harts that may be started, the boot hart included; at most kMaxHarts
    std::span<const RamRun> ram;          ///< disjoint, sorted, none of it holding the kernel
    std::span<const DeviceFact> devices;  ///< one of them the reset
    RamRun trace;  ///< RAM kept for the trace ring of test builds, at the top; count 0: none
};

/// What make_context needs to know of a new thread.
struct ContextStart {
    Word entry = 0;
    Word stack = 0;
    Word argument = 0;
    u32 space = 0;  ///< the address space's number (its PID)
};

/// The user state of one thread, kept inside the thread's own page. All-zero bytes are a context
/// that was never made. `retake()` undoes an entry: when the context is resumed, the trap that
/// brought it in is taken again as if it had just come (a call with the same registers, a fault at
/// the same address); a device or timer interrupt simply is or is not pending then. Without retake,
/// a context that entered by a call resumes behind the call, one that faulted at the faulting
/// instruction.
template <class C>
concept UserContext = std::is_trivially_destructible_v<C> &&
                      requires(C& context, const C& constant, unsigned place, Word value) {
                          { constant.reg(place) } noexcept -> std::same_as<Word>;
                          { context.set_reg(place, value) } noexcept -> std::same_as<void>;
                          { context.retake() } noexcept -> std::same_as<void>;
                      };

/// The shape of a page table: kLevels levels of 2^kIndexBits entries of type Entry. Rights are the
/// bits of abi::kRead and so on. An entry of 0 maps nothing. The format keeps one software bit,
/// `lent`, and may be asked for a leaf that is not valid but keeps its frame (a lent page).
template <class F>
concept PageFormat =
    std::unsigned_integral<typename F::Entry> &&
    requires(typename F::Entry entry, FrameNumber frame, u32 rights, bool flag) {
        { F::kLevels } -> std::convertible_to<unsigned>;
        { F::kIndexBits } -> std::convertible_to<unsigned>;
        { F::kUserEnd } -> std::convertible_to<u64>;  // first address past user space; page-aligned
        { F::leaf(frame, rights) } noexcept -> std::same_as<typename F::Entry>;
        { F::table(frame) } noexcept -> std::same_as<typename F::Entry>;
        { F::is_valid(entry) } noexcept -> std::same_as<bool>;
        { F::is_leaf(entry) } noexcept -> std::same_as<bool>;  // of a valid entry
        { F::frame(entry) } noexcept -> std::same_as<FrameNumber>;
        { F::rights(entry) } noexcept -> std::same_as<u32>;
        { F::is_lent(entry) } noexcept -> std::same_as<bool>;
        { F::with_lent(entry, flag) } noexcept -> std::same_as<typename F::Entry>;
        { F::with_valid(entry, flag) } noexcept -> std::same_as<typename F::Entry>;
    };

/// Time.
///  now      ticks; never goes back on one hart, and what one hart reads before another is told of
///           it the other does not read less.
///  arm      the hart's timer interrupt comes at `when` or, if that has passed, at once. Far points
///           may be clamped: an interrupt may
/// come early, never late or lost. Called at most once an entry, last, after the lock was released.
/// No lock held.
///  disarm   no timer interrupt comes until the next arm. No lock held.
template <class P>
concept TimePort = requires(P& port, HartIndex hart, Ticks when) {
    { port.now(hart) } noexcept -> std::same_as<Ticks>;
    { port.arm(hart, when) } noexcept -> std::same_as<void>;
    { port.disarm(hart) } noexcept -> std::same_as<void>;
};

/// Harts.
///  start    begins another hart, which calls hart_online on its own stack; false if it cannot.
///           Called by the boot hart, no lock held.
///  kick     makes a software interrupt pending on each hart of the set.
///  wait     halts the calling hart until a kick is pending, then clears it; does not halt if one
///           is pending already; may return
/// without one. Timer and device interrupts stay pending meanwhile. The caller has no lock, or
/// holds it and waits for other
///           harts' acknowledgements.
template <class P>
concept HartPort = requires(P& port, HartIndex hart, HartMask harts) {
    { port.start(hart, hart) } noexcept -> std::same_as<bool>;
    { port.kick(hart, harts) } noexcept -> std::same_as<void>;
    { port.wait(hart) } noexcept -> std::same_as<void>;
};

/// Context.
///  make_context  a thread that has never run; false: the port has no room for it (a stated limit),
///                nothing was made.
///  drop_context  the thread is gone and will not be resumed; it runs on no hart, but may be the
///                one that trapped on the calling hart.
template <class P>
concept ContextPort =
    UserContext<typename P::Context> &&
    requires(P& port, HartIndex hart, typename P::Context& context, const ContextStart& start) {
        { port.make_context(hart, context, start) } noexcept -> std::same_as<bool>;
        { port.drop_context(hart, context) } noexcept -> std::same_as<void>;
    };

/// Memory.
///  frame_pointer / frame_number  a RAM frame as the kernel reaches it, and back; the frames of one
///                                run lie one after another.
///  activate       user accesses of this hart go through the table tree rooted at `root`, under
///                 number `space`; a null root: none.
///  flush          after this, the calling hart uses nothing it may have cached of `count` pages
///                 from `address` of `space`, tables on
/// the way included. A long range may be done as the whole space. Other harts are asked by the
/// kernel's shootdown.
///  release_space  nothing of `space` is cached on the calling hart; its number may be used for
///                 another space afterwards.
///  sync_code      instructions written to memory before are fetched by this hart from now on.
template <class P>
concept MemoryPort = PageFormat<typename P::Format> &&
                     requires(P& port, HartIndex hart, FrameNumber frame, const void* pointer,
                              u32 space, Word address, u32 count) {
                         { port.frame_pointer(frame) } noexcept -> std::same_as<void*>;
                         { port.frame_number(pointer) } noexcept -> std::same_as<FrameNumber>;
                         { port.activate(hart, frame, space) } noexcept -> std::same_as<void>;
                         { port.flush(hart, space, address, count) } noexcept -> std::same_as<void>;
                         { port.release_space(hart, space) } noexcept -> std::same_as<void>;
                         { port.sync_code(hart) } noexcept -> std::same_as<void>;
                     };

/// Interrupts. Sources are 1 to kMaxSource, all of one priority, and disabled when the kernel boots.
/// A pending enabled source interrupts every hart that runs user code or idles, until one claims it.
///  claim        a pending enabled source, which does not interrupt again before complete; 0: none
///               (another hart took it). Claims are made under the lock, so no two harts get one
///               interrupt, and each ends in the section that made it.
///  complete     ends the claim. A controller may ignore it while the source is disabled: complete
///               first, then disable. A source whose line is still high is pending again at once.
///  set_enabled  whether the source may interrupt, on every hart. One that became pending while it was
///               disabled interrupts when it is enabled.
template <class P>
concept InterruptPort = requires(P& port, HartIndex hart, u32 source, bool on) {
    { port.claim(hart) } noexcept -> std::same_as<u32>;
    { port.complete(hart, source) } noexcept -> std::same_as<void>;
    { port.set_enabled(hart, source, on) } noexcept -> std::same_as<void>;
};

/// System.
///  console  bytes for a person, as they are; may wait. Not under the lock but in a panic.
///  entropy  32 bytes that nobody can predict, or that the run's seed decides.
///  reset    ends the machine; does not return.
///  facts    the board; the same every time.
///  work     see Work.
template <class P>
concept SystemPort = requires(P& port, HartIndex hart, std::span<const char> bytes,
                              std::span<std::byte, 32> seed, ResetKind kind, Work done, u32 count) {
    { port.console(hart, bytes) } noexcept -> std::same_as<void>;
    { port.entropy(seed) } noexcept -> std::same_as<void>;
    { port.reset(hart, kind) } noexcept -> std::same_as<void>;
    { port.facts() } noexcept -> std::same_as<const BoardFacts&>;
    { port.work(hart, done, count) } noexcept -> std::same_as<void>;
};

template <class P>
concept IsPort = TimePort<P> && HartPort<P> && ContextPort<P> && MemoryPort<P> &&
                 InterruptPort<P> && SystemPort<P>;

}  // namespace ravelin

#include "ravelin_port.h"

namespace ravelin {
static_assert(IsPort<Port>, "ravelin_port.h must define ravelin::Port as core/port.h states it");
}  // namespace ravelin
