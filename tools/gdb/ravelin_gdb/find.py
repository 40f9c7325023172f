# Where the Kernel is. The core has no globals, so it is found from what is at hand: the stack of the
# selected thread, then the port's note of the hart that an OS thread runs, then what was found before.

import gdb

from ravelin_gdb import stacks


class Trouble(gdb.GdbError):
    """What a helper cannot do: gdb prints it as one line."""


_KERNEL = "ravelin::Kernel"
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)

_found = None


def _forget(_event=None):
    global _found
    _found = None


gdb.events.exited.connect(_forget)


def kernel():
    """The Kernel nearest to where the program stopped."""
    global _found
    try:
        selected = gdb.selected_thread()
    except gdb.error:
        selected = None
    if selected is None or not selected.is_valid():
        raise Trouble("the program does not run: there is no kernel to look at (ravelin start)")
    pointer = _from_stack() or stacks.port().kernel_of_this_thread() or _found or _from_other_threads(selected)
    if pointer is None:
        raise Trouble("no kernel runs in this process now")
    _found = pointer
    return pointer.dereference()


def _from_other_threads(selected):
    frame = gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            pointer = _from_stack() or stacks.port().kernel_of_this_thread()
            if pointer is not None:
                return pointer
    finally:
        selected.switch()
        frame.select()
    return None


def _from_stack():
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        pointer = _from_frame(frame)
        if pointer is not None:
            return pointer
        frame = frame.older()
    return None


def _from_frame(frame):
    try:
        block = frame.block()
    except RuntimeError:
        return None  # no debug information here
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if not (symbol.is_argument or symbol.is_variable):
                continue
            kind = symbol.type.strip_typedefs()
            if kind.code not in _POINTERS:
                continue
            target = kind.target().unqualified().strip_typedefs()
            if target.name != _KERNEL:
                continue
            pointer = _readable(symbol, frame, kind)
            if pointer is not None:
                return pointer
        block = block.superblock
    return None


def _readable(symbol, frame, kind):
    try:
        value = symbol.value(frame)
        pointer = value if kind.code == gdb.TYPE_CODE_PTR else value.referenced_value().address
        if value.is_optimized_out or int(pointer) == 0:
            return None
        # A register that was reused would not lead to a kernel: it has one to eight harts.
        harts = int(pointer.dereference()["hart_count"])
        return pointer if 1 <= harts <= 8 else None
    except gdb.error:
        return None
