# Backtraces of stacks that do not run. gdb is given, for a moment, an unwinder that says who called the
# innermost frame: the stack that is asked for. The program is not touched.

import gdb
import gdb.unwinder


class _FrameId:
    """The innermost frame's, told apart from every real one, and inside all of them."""

    def __init__(self, pc):
        self.sp = gdb.Value(0).cast(pc.type)
        self.pc = pc


class _Elsewhere(gdb.unwinder.Unwinder):
    """While `registers` is set, the innermost frame's caller is the stack that they belong to."""

    def __init__(self):
        super().__init__("ravelin-elsewhere")
        self.registers = None
        self.at = None
        self.names = ("rsp", "rip")

    def __call__(self, pending):
        if self.registers is None or int(pending.read_register(self.names[0])) != self.at:
            return None
        info = pending.create_unwind_info(_FrameId(pending.read_register(self.names[1])))
        word = gdb.lookup_type("unsigned long")
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(word))
        return info


_elsewhere = _Elsewhere()
gdb.unwinder.register_unwinder(None, _elsewhere, replace=True)


def backtrace_here():
    """The selected thread's, from its innermost frame, whichever is selected."""
    selected = gdb.selected_frame()
    gdb.newest_frame().select()
    try:
        return gdb.execute("backtrace", to_string=True).splitlines()
    finally:
        if selected.is_valid():
            selected.select()


def backtrace_of(registers):
    """Of a stack whose registers, by gdb's names, are these."""
    level = gdb.selected_frame().level()
    own = 0
    frame = gdb.newest_frame()
    while frame.type() == gdb.INLINE_FRAME:
        own += 1
        frame = frame.older()
    _elsewhere.names = ("rsp", "rip") if "rip" in registers else ("sp", "pc")
    _elsewhere.at = int(gdb.newest_frame().read_register(_elsewhere.names[0]))
    _elsewhere.registers = registers
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
    return renumbered(lines[start:], 0)


def renumbered(lines, first):
    """The lines of a backtrace, its frames numbered from `first` on."""
    out = []
    for line in lines:
        if line.startswith("#"):
            number, rest = line[1:].split(" ", 1)
            line = "#%-2d %s" % (first + len([l for l in out if l.startswith("#")]), rest.lstrip())
        out.append(line)
    return out
