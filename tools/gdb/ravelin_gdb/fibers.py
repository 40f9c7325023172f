# The hosted port's stacks. A guest thread and a hart's loop each have their own; an OS thread stands on
# one of them, and the others are stopped. A stopped one is read where it was left (elsewhere.py).

import contextlib

import gdb

from ravelin_gdb import elsewhere

_SPACE = "ravelin::hosted::"
_HART = "'ravelin::hosted::(anonymous namespace)::this_hart'"

# What Boost.Context's jump_fcontext leaves at a stopped fiber's stack pointer, on x86-64: bytes from it.
_SAVED = {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30, "rip": 0x38}
_SAVED_SIZE = 0x40

# glibc's order of general registers in a ucontext_t (REG_R8 and on).
_GENERAL = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx",
            "rax", "rcx", "rsp", "rip")


# A process is read as it is.
looking = contextlib.nullcontext


def kernel_of_this_thread():
    """The kernel of the hart that the selected OS thread runs, as a pointer; None if it runs none."""
    hart = _this_hart()
    if hart is None:
        return None
    try:
        pointer = hart["machine"]["kernel"]
        return pointer if int(pointer) != 0 else None
    except gdb.error:
        return None


def _this_hart():
    try:
        hart = gdb.parse_and_eval(_HART)
        return hart if int(hart) != 0 else None
    except gdb.error:
        return None


def current_hart_index():
    """Index of the hart whose turn it is on the selected OS thread; None if that runs no hart."""
    hart = _this_hart()
    return None if hart is None else int(hart["index"]["value"])


def clock(kernel, index):
    """A hart's clock in ticks; None if it is the host's."""
    try:
        port = kernel["port"]
        return None if bool(port["real_"]) else int(port["turns_"][index]["time"])
    except gdb.error:
        return None


def _registers_of_fiber(fiber):
    """Those that a stopped fiber left on its stack, by name."""
    stopped = int(fiber["stopped"])
    word = gdb.lookup_type("unsigned long").pointer()
    values = {name: int(gdb.Value(stopped + place).cast(word).dereference())
              for name, place in _SAVED.items()}
    values["rsp"] = stopped + _SAVED_SIZE
    return values


def _registers_of_signal(guest):
    """Those with which a signal found the guest's code, by name."""
    context = guest["general"].address.cast(gdb.lookup_type("ucontext_t").pointer())
    general = context["uc_mcontext"]["gregs"]
    return {name: int(general[place]) for place, name in enumerate(_GENERAL)}


def _standing_in(low, high):
    """The OS thread that stands on the stack from low to high now; None: it is stopped."""
    selected = gdb.selected_thread()
    frame = gdb.selected_frame()
    try:
        threads = sorted(gdb.selected_inferior().threads(), key=lambda thread: thread is not selected)
        for thread in threads:
            thread.switch()
            if low <= int(gdb.newest_frame().read_register("rsp")) <= high:
                return thread
    finally:
        selected.switch()
        frame.select()
    return None


def _lines(fiber):
    low = int(fiber["bottom"])
    thread = _standing_in(low, low + int(fiber["size"]))
    if thread is None:
        return elsewhere.backtrace_of(_registers_of_fiber(fiber))
    selected = gdb.selected_thread()
    frame = gdb.selected_frame()
    try:
        thread.switch()
        return elsewhere.backtrace_here()
    finally:
        selected.switch()
        frame.select()


def _on_fault_stack(lines):
    return any("ravelin::hosted::(anonymous namespace)::trampoline" in line for line in lines)


def thread_backtrace(thread):
    """A guest thread's stack as lines, innermost first; None if it has not run yet."""
    guest = thread["context"]["thread"]
    if int(guest) == 0:
        return None
    # The fiber's stack has the thread's fault stack in it, at its top.
    lines = _lines(guest["fiber"])
    if _on_fault_stack(lines):
        lines.append("a signal took it to the kernel from here:")
        lines += elsewhere.renumbered(elsewhere.backtrace_of(_registers_of_signal(guest)),
                             len([line for line in lines if line.startswith("#")]))
    return lines


def entry_name(thread):
    """Where a thread that has not run begins."""
    context = thread["context"]
    try:
        base = int(gdb.parse_and_eval("'ravelin::hosted::image()::found'.base"))
    except gdb.error:
        return "entry %#x" % int(context["entry"])
    address = base + int(context["entry"])
    function = gdb.decode_line("*%d" % address)[1][0].symtab and gdb.block_for_pc(address).function
    return str(function) if function is not None else "%#x" % address


def hart_backtrace(kernel, index):
    """The stack of a hart's loop, with the kernel on it, as lines."""
    owner = kernel["port"]["machine_"]["harts"][index]
    # A std::unique_ptr is its pointer.
    hart_pointer = gdb.lookup_type(_SPACE + "Hart").pointer()
    hart = owner.address.cast(hart_pointer.pointer()).dereference()
    return _lines(hart["loop"])
