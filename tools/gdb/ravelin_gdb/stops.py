# What stops the program. The hosted port works with signals: a page that a guest's window does not show
# yet is a SIGSEGV, a preemption in threads mode is the port's own signal. None of them stops gdb. A
# fault that is none of the port's does: the port then gives its handlers up and lets the fault come
# again, and gdb is told to stop at that one. So do a broken assertion and a panic, before they end the
# run.

import os

import gdb

# The environment names the emulator's command if a machine is debugged.
_MACHINE = "RAVELIN_MACHINE"

# As kPreemptSignal of port-hosted; SIGFPE and SIGILL of guest code are faults for the kernel.
_PREEMPT = "SIG50"
_FAULTS = "SIGSEGV SIGBUS SIGFPE SIGILL"


class _Inside(gdb.Breakpoint):
    """A breakpoint of the helpers' own, which no list of breakpoints shows."""

    def __init__(self, place):
        super().__init__(place, internal=True)
        self.silent = True


class _GaveUp(_Inside):
    def stop(self):
        _fatal(True)
        return False


class _Broken(_Inside):
    def __init__(self, place, line):
        super().__init__(place)
        self.silent = False
        self.line = line

    def stop(self):
        print(self.line)
        return True


def _fatal(stop):
    gdb.execute("handle %s %s pass" % (_FAULTS, "stop print" if stop else "nostop noprint"),
                to_string=True)


def register():
    _fatal(False)
    gdb.execute("handle %s nostop noprint pass" % _PREEMPT, to_string=True)
    gdb.execute("set print thread-events off", to_string=True)
    gdb.execute("set breakpoint pending on", to_string=True)
    try:
        if _MACHINE not in os.environ:
            _GaveUp("-qualified ravelin::hosted::(anonymous namespace)::give_up")
        _Broken("-qualified ravelin::assertion_failed", "The kernel broke its own rule:")
        _Broken("-qualified ravelin::panic", "The kernel panics:")
    finally:
        gdb.execute("set breakpoint pending auto", to_string=True)
    gdb.events.exited.connect(lambda _event: _fatal(False))


def start():
    """Runs the program up to the first kernel entry; RAVELIN_MACHINE: the emulator's command for a machine."""
    if gdb.selected_inferior().pid != 0:
        raise gdb.GdbError("the program runs already (kill it first to start again)")
    emulator = os.environ.get(_MACHINE)
    if emulator is None:
        gdb.execute("tbreak -qualified ravelin::enter", to_string=True)
        gdb.execute("run")
        return
    # The emulator is gdb's child and speaks with it through a pipe. It stands at its first instruction,
    # where paging is off and only a breakpoint that writes no memory can be set.
    gdb.execute("target remote | exec %s" % emulator, to_string=True)
    gdb.execute("thbreak -qualified ravelin::enter", to_string=True)
    gdb.execute("continue")
