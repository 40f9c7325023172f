# The helpers, by what they know:
#
#   find       where the Kernel is
#   model      the kernel's objects, read as they are: budgets, threads, the queue, the trace
#   fibers     the hosted port's stacks, and how to read one that is not running
#   order      the scheduler's order, computed from what the objects hold
#   printers   how values of the kernel's types are shown
#   stops      which signals stop the program, and its first stop
#   commands   `ravelin ...`
#
# Only `fibers` knows a port. The rest asks for nothing but the core's types.
