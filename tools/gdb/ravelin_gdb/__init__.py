# The helpers, by what they know:
#
#   find       where the Kernel is
#   model      the kernel's objects, read as they are: budgets, threads, the queue, the trace
#   stacks     which port's stacks are read: fibers (hosted) or machine (RISC-V in an emulator)
#   elsewhere  backtraces of stacks that do not run
#   order      the scheduler's order, computed from what the objects hold
#   printers   how values of the kernel's types are shown
#   stops      which signals stop the program, and its first stop
#   commands   `ravelin ...`
#
# Only `fibers` and `machine` know a port. The rest asks for nothing but the core's types.
