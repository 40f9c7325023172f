# Loads the helpers into gdb: `source tools/gdb/ravelin.py`. Then `help ravelin` lists the commands.
#
# Rule: a helper only reads the program that is debugged, so that a run under gdb is the same run. What
# it cannot answer it says in one line.

import os
import sys

# The source tree gets no compiled files from a debugging session.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ravelin_gdb.commands  # noqa: E402
import ravelin_gdb.printers  # noqa: E402
import ravelin_gdb.stops  # noqa: E402

ravelin_gdb.printers.register()
ravelin_gdb.stops.register()
ravelin_gdb.commands.register()
