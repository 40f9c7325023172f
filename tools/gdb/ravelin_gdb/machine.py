# The stacks of a RISC-V machine under an emulator's gdb stub, where each of gdb's threads is a hart. A hart
# has one kernel stack, with its block at the top; a guest thread that does not run left its registers in
# its context, and its stack is in its own address space.
#
# An emulator reads memory as the selected hart would: a hart in user mode does not reach the kernel, one in
# the kernel not the user's pages, and neither another process. So while a helper looks, every hart is in
# supervisor mode with sstatus.SUM set, and for one backtrace has another satp. The machine stands still
# meanwhile, and all of it is set back before the helper ends.

import gdb

from ravelin_gdb import elsewhere

# gdb's names of a context's registers, by number; 0 stands for the pc.
_NAMES = ("pc ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11"
          " t3 t4 t5 t6").split()
_USER_ACCESS = 1 << 18  # sstatus.SUM
_USER, _SUPERVISOR = 0, 1  # values of the emulator's register priv


def _register(name):
    return int(gdb.parse_and_eval("$" + name)) & (2**64 - 1)


def _blocks():
    """The blocks of harts that have a kernel, by hart index."""
    stacks = gdb.parse_and_eval("ravelin_stacks")
    for place in range(stacks.type.range()[1] + 1):
        block = stacks[place]["block"]
        if int(block["kernel"]) != 0 and int(block["index"]["value"]) == place:
            yield block


def _block_of_this_thread():
    try:
        hart = _register("mhartid")
        return next((block for block in _blocks() if int(block["id"]) == hart), None)
    except gdb.error:
        return None


def kernel_of_this_thread():
    """The kernel of the selected hart, as a pointer; None before there is one."""
    block = _block_of_this_thread()
    if block is None:
        return None
    try:
        pointer = block["kernel"]
        return pointer if 1 <= int(pointer.dereference()["hart_count"]) <= 8 else None
    except gdb.error:
        return None


def current_hart_index():
    """Index of the selected hart; None before the kernel has one."""
    block = _block_of_this_thread()
    return None if block is None else int(block["index"]["value"])


def clock(_kernel, _index):
    """The machine's clock in ticks: every hart reads the same one."""
    try:
        if gdb.lookup_type("unsigned long").sizeof == 8:
            return _register("time")
        return _register("timeh") % 2**32 << 32 | _register("time") % 2**32
    except gdb.error:
        return None


def _select_frame(level):
    frame = gdb.newest_frame()
    for _ in range(level):
        frame = frame.older()
    frame.select()


class _Kept:
    """The selected thread and frame, selected again behind it."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        self.level = gdb.selected_frame().level()

    def __exit__(self, *_problem):
        self.thread.switch()
        _select_frame(self.level)


def _set(name, value):
    gdb.execute("set var $%s = %d" % (name, value), to_string=True)
    # What gdb remembers of memory is what the hart saw before.
    gdb.execute("maintenance flush dcache", to_string=True)


# While a helper looks: by the number of gdb's thread, what the hart's registers were.
_seen = {}


class looking:
    """Every hart reaches kernel and user memory while it lasts."""

    def __enter__(self):
        if gdb.selected_inferior().pid == 0:
            return
        with _Kept():
            for thread in gdb.selected_inferior().threads():
                thread.switch()
                _seen[thread.num] = {name: _register(name) for name in ("priv", "sstatus")}
                _set("priv", _SUPERVISOR)
                _set("sstatus", _seen[thread.num]["sstatus"] | _USER_ACCESS)

    def __exit__(self, *_problem):
        if not _seen:
            return
        with _Kept():
            for thread in gdb.selected_inferior().threads():
                thread.switch()
                for name in ("sstatus", "priv"):
                    _set(name, _seen[thread.num][name])
        _seen.clear()


def _in_user_mode():
    return _seen[gdb.selected_thread().num]["priv"] == _USER


def _select_hart(index):
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        if current_hart_index() == index:
            return
    raise gdb.error("the machine shows no hart %d" % index)


def thread_backtrace(thread):
    """A guest thread's stack as lines, innermost first; None if it has not run yet."""
    with _Kept():
        if str(thread["state"]).endswith("::running"):
            _select_hart(int(thread["hart"]["value"]))
            if _in_user_mode():
                return _ended(elsewhere.backtrace_here())
        saved = thread["context"]["x"]
        registers = {name: int(saved[place]) for place, name in enumerate(_NAMES)}
        if not _has_begun(registers):
            return None
        # gdb takes a caller's pc for one behind a call, and looks at the instruction before it. A call's
        # is; an interrupted thread's is the next to run.
        behind = 1 - int(thread["context"]["after_call"])
        registers["pc"] += behind
        satp = _register("satp")
        paging = 8 << 60 if gdb.lookup_type("unsigned long").sizeof == 8 else 1 << 31
        _set("satp", paging | int(thread["process"]["space"]["root"]["value"]))
        try:
            lines = _ended(elsewhere.backtrace_of(registers))
            if behind and lines:
                digits = 2 * gdb.lookup_type("unsigned long").sizeof
                lines[0] = lines[0].replace("%0*x" % (digits, registers["pc"]),
                                            "%0*x" % (digits, registers["pc"] - behind))
            return lines
        finally:
            _set("satp", satp)


def _ended(lines):
    # A thread's first function was called by nobody: its return address is 0.
    while lines and (lines[-1].startswith("Backtrace stopped: ") or lines[-1].endswith("0 in ?? ()")):
        lines.pop()
    return lines


def _has_begun(registers):
    # A thread that has not has nothing but its entry, stack and argument.
    return any(value != 0 for name, value in registers.items() if name not in ("pc", "sp", "a0"))


def entry_name(thread):
    """Where a thread that has not run begins."""
    address = int(thread["context"]["x"][0])
    block = gdb.block_for_pc(address)
    return str(block.function) if block is not None and block.function is not None else "%#x" % address


def hart_backtrace(_kernel, index):
    """A hart's kernel stack as lines; none while the hart runs user code."""
    with _Kept():
        _select_hart(index)
        if _in_user_mode():
            return ["runs user code: nothing is on its kernel stack"]
        return elsewhere.backtrace_here()
