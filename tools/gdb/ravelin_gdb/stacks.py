# The stacks of the port that is debugged: the hosted port's (fibers) or a RISC-V machine's (machine).

import gdb

from ravelin_gdb import fibers, machine


def port():
    """The module that knows the program's stacks."""
    return machine if gdb.lookup_global_symbol("ravelin_stacks") is not None else fibers
