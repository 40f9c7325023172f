# The hosted port's stacks. A guest thread and a hart's loop each have their own; an OS thread stands on
# one of them, and the others are stopped. A stopped one is read without touching the program: gdb is
# given, for a moment, an unwinder that says who called the innermost frame: the stopped stack.

import gdb
import gdb.unwinder

_SPACE = "ravelin::hosted::"
_HART = "'ravelin::hosted::(anonymous namespace)::this_hart'"

# What Boost.Context's jump_fcontext leaves at a stopped fiber's stack pointer, on x86-64: bytes from it.
_SAVED = {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30, "rip": 0x38}
_SAVED_SIZE = 0x40

# glibc's order of general registers in a ucontext_t (REG_R8 and on).
_GENERAL = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx",
            "rax", "rcx", "rsp", "rip")


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


class _Registers:
    """Registers of a stack that does not run."""

    def __init__(self, values):
        self.values = values

    @staticmethod
    def of_fiber(fiber):
        stopped = int(fiber["stopped"])
        word = gdb.lookup_type("unsigned long").pointer()
        values = {name: int(gdb.Value(stopped + place).cast(word).dereference())
                  for name, place in _SAVED.items()}
        values["rsp"] = stopped + _SAVED_SIZE
        return _Registers(values)

    @staticmethod
    def of_signal(guest):
        """Where a signal found the guest's code."""
        context = guest["general"].address.cast(gdb.lookup_type("ucontext_t").pointer())
        general = context["uc_mcontext"]["gregs"]
        return _Registers({name: int(general[place]) for place, name in enumerate(_GENERAL)})


class _FrameId:
    """The innermost frame's, told apart from every real one, and inside all of them."""

    def __init__(self, pc):
        self.sp = gdb.Value(0).cast(pc.type)
        self.pc = pc


class _Elsewhere(gdb.unwinder.Unwinder):
    """While `registers` is set, the innermost frame's caller is the stack that they belong to."""

    def __init__(self):
        super().__init__("ravelin-fiber")
        self.registers = None
        self.at = None

    def __call__(self, pending):
        if self.registers is None or int(pending.read_register("rsp")) != self.at:
            return None
        info = pending.create_unwind_info(_FrameId(pending.read_register("rip")))
        word = gdb.lookup_type("unsigned long")
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(word))
        return info


_elsewhere = _Elsewhere()
gdb.unwinder.register_unwinder(None, _elsewhere, replace=True)


def _backtrace_here():
    # From the innermost frame, whichever is selected.
    selected = gdb.selected_frame()
    gdb.newest_frame().select()
    try:
        return gdb.execute("backtrace", to_string=True).splitlines()
    finally:
        if selected.is_valid():
            selected.select()


def _backtrace_of(registers):
    level = gdb.selected_frame().level()
    own = 0
    frame = gdb.newest_frame()
    while frame.type() == gdb.INLINE_FRAME:
        own += 1
        frame = frame.older()
    _elsewhere.at = int(gdb.newest_frame().read_register("rsp"))
    _elsewhere.registers = registers.values
    gdb.invalidate_cached_frames()
    try:
        lines = gdb.execute("backtrace", to_string=True).splitlines()
    finally:
        _elsewhere.registers = None
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        for _ in range(level):
            frame = frame.older()
        frame.select()
    # The innermost frame is the running stack's (and what is inlined there): only its callers are asked for.
    first = "#%d " % (own + 1)
    start = next((place for place, line in enumerate(lines) if line.startswith(first)), len(lines))
    return lines[start:]


def _renumbered(lines, first):
    out = []
    for line in lines:
        if line.startswith("#"):
            number, rest = line[1:].split(" ", 1)
            line = "#%-2d %s" % (first + len([l for l in out if l.startswith("#")]), rest.lstrip())
        out.append(line)
    return out


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
        return _renumbered(_backtrace_of(_Registers.of_fiber(fiber)), 0)
    selected = gdb.selected_thread()
    frame = gdb.selected_frame()
    try:
        thread.switch()
        return _backtrace_here()
    finally:
        selected.switch()
        frame.select()


def _on_fault_stack(lines):
    return any("ravelin::hosted::(anonymous namespace)::trampoline" in line for line in lines)


def thread_backtrace(context):
    """A guest thread's stack as lines, innermost first; None if it has not run yet."""
    guest = context["thread"]
    if int(guest) == 0:
        return None
    # The fiber's stack has the thread's fault stack in it, at its top.
    lines = _lines(guest["fiber"])
    if _on_fault_stack(lines):
        lines.append("a signal took it to the kernel from here:")
        lines += _renumbered(_backtrace_of(_Registers.of_signal(guest)),
                             len([line for line in lines if line.startswith("#")]))
    return lines


def entry_name(context):
    """Where a thread that has not run begins."""
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
