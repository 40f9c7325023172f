# The commands. `help ravelin` lists them; each prints lines, or one line that says why not.

import re

import gdb

from ravelin_gdb import find, order, stacks, stops
from ravelin_gdb.model import Model, NEVER, enum_name
from ravelin_gdb.find import Trouble


def _table(columns, rows):
    """Columns as wide as they need. One whose name begins with < is of words, the others of numbers."""
    head = [column.lstrip("<") for column in columns]
    widths = [max(len(row[place]) for row in [head] + rows) for place in range(len(head))]
    for row in [head] + rows:
        cells = [cell.ljust(width) if column.startswith("<") else cell.rjust(width)
                 for column, cell, width in zip(columns, row, widths)]
        print("  ".join(cells).rstrip())


def _lead(entity, floor):
    return "%+d" % (entity.passed - floor)


def _threads(entity):
    return "%d+%d" % (entity.waiting, entity.running)


def _place(entity):
    return "%s capped" % entity.place if entity.capped else entity.place


class _Command(gdb.Command):
    looks = True  # at the program, and at nothing else

    def __init__(self, name, kind=gdb.COMMAND_DATA, **more):
        super().__init__("ravelin " + name, kind, **more)

    def invoke(self, argument, _from_tty):
        self.dont_repeat()
        try:
            if self.looks:
                with stacks.port().looking():
                    self.answer(gdb.string_to_argv(argument))
            else:
                self.answer(gdb.string_to_argv(argument))
        except gdb.GdbError:
            raise
        except (gdb.error, RuntimeError) as problem:
            # Memory or debug information that is not there.
            raise Trouble("ravelin: %s" % str(problem).splitlines()[0])


class Ravelin(gdb.Command):
    """What the kernel holds, seen from gdb.

Each command looks at the kernel nearest to where the program stopped, and changes nothing."""

    def __init__(self):
        super().__init__("ravelin", gdb.COMMAND_DATA, prefix=True)


class Start(_Command):
    """Run the program up to the first kernel entry.

usage: ravelin start"""

    looks = False

    def __init__(self):
        super().__init__("start", gdb.COMMAND_RUNNING)

    def answer(self, _words):
        stops.start()


class Program(_Command):
    """Also know the symbols of a guest program's file.

usage: ravelin program FILE

Every program of a RISC-V machine lies at the same addresses: the file is of the one that is looked at."""

    looks = False

    def __init__(self):
        super().__init__("program", gdb.COMMAND_FILES)

    def answer(self, words):
        if len(words) != 1:
            raise Trouble("ravelin program: which file?")
        confirm = gdb.parameter("confirm")
        gdb.execute("set confirm off")
        try:
            gdb.execute("add-symbol-file %s" % words[0], to_string=True)
        finally:
            gdb.execute("set confirm %s" % ("on" if confirm else "off"))


class Budgets(_Command):
    """The tree of budgets, or one budget with all below it.

usage: ravelin budgets [ID]

For each: free weight and weight limit, pass, how far that is ahead of the floor, threads that wait for
a hart + harts that run it, its place in the queue, and pages and processes used of its limits."""

    def __init__(self):
        super().__init__("budgets")

    def answer(self, words):
        model = Model(find.kernel())
        tree = model.budget_tree()
        if words:
            top = model.budget_of_id(_number(words[0], "budget"))
            place = next(place for place, (_, budget) in enumerate(tree) if budget.at == top.at)
            depth = tree[place][0]
            end = next((later for later in range(place + 1, len(tree)) if tree[later][0] <= depth),
                       len(tree))
            tree = [(level - depth, budget) for level, budget in tree[place:end]]
        print("floor %d" % model.floor)
        head = ["<budget", "free/weight", "pass", "lead", "threads", "<place", "pages", "processes"]
        _table(head, [self.row(model, depth, budget) for depth, budget in tree])

    @staticmethod
    def row(model, depth, budget):
        entity = budget.entity
        return ["  " * depth + model.budget_name(budget.value) + (" dying" if budget.dying else ""),
                "%d/%d" % (budget.free_weight, budget.weight_limit), str(entity.passed),
                _lead(entity, model.floor), _threads(entity), _place(entity), "%d/%d" % budget.pages,
                "%d/%d" % budget.processes]


class Queue(_Command):
    """The queue in rank order: the lowest pass first, then the lowest tie, then the lowest id.

usage: ravelin queue

Places: tree, no hart runs it; side, a hart does, or the budget is capped; dormant, no thread is left, and
this entry's reconcile takes it out."""

    def __init__(self):
        super().__init__("queue")

    def answer(self, _words):
        model = Model(find.kernel())
        queued = model.queued()
        queue = model.queue
        print("floor %d, %d queued, next ties %d in front and %d at the back, harts %d" % (
            model.floor, len(queued), int(queue["front_"]) - 1, int(queue["back_"]) + 1,
            int(queue["harts_"])))
        head = ["rank", "<budget", "pass", "lead", "tie", "threads", "<place"]
        rows = [[str(rank), model.budget_name(budget.value), str(budget.entity.passed),
                 _lead(budget.entity, model.floor), str(budget.entity.tie), _threads(budget.entity),
                 _place(budget.entity)] for rank, budget in enumerate(queued, 1)]
        _table(head, rows)


class Threads(_Command):
    """Every thread as pid.tid, with its budget, its state and what it waits for.

usage: ravelin threads [PID]"""

    def __init__(self):
        super().__init__("threads")

    def answer(self, words):
        model = Model(find.kernel())
        process = None
        if words:
            pid = _number(words[0], "process")
            process = next((one for one in model.processes() if int(one["pid"]) == pid), None)
            if process is None:
                raise Trouble("no process has the pid %d (ravelin threads lists them)" % pid)
        rows = []
        for thread in model.threads(process):
            rows.append(["%d.%d" % (int(thread["process"]["pid"]), int(thread["tid"])),
                         model.budget_name(thread["process"]["budget"].dereference()),
                         self.what(model, thread)])
        _table(["<thread", "<budget", "<state"], rows)

    @staticmethod
    def what(model, thread):
        state = enum_name(thread["state"])
        if state == "running":
            return "runs on hart %d" % int(thread["hart"]["value"])
        if state == "ready":
            return "ready, waits for a hart"
        wait = thread["wait"]
        kind = enum_name(wait["kind"])
        endpoint = wait["endpoint"]
        at = " at endpoint %d" % int(endpoint["head"]["id"]) if int(endpoint) != 0 else ""
        if kind == "none":
            return "waits for nothing: its process has not started, or it is about to end"
        until = int(wait["until"]["value"])
        when = model.micros_from_now(until)
        if kind == "sleep":
            return "sleeps for ever" if until == NEVER else "sleeps, wakes %s" % when
        limit = "" if until == NEVER else ", times out %s" % when
        if kind == "reply":
            server = thread["open"]["server"]
            who = " from process %d" % int(server["pid"]) if int(server) != 0 else ""
            return "waits for a reply%s%s" % (who, limit)
        words = {"receive": "waits to receive", "send": "waits for a receiver of its message",
                 "call": "waits for a receiver of its call"}
        return words.get(kind, kind) + at + limit


class Backtrace(_Command):
    """The stack of a guest thread, or of a hart's loop with the kernel on it.

usage: ravelin bt [PID.TID]     a thread's; without a name, the one that runs on the current hart
       ravelin bt hart [N]      a hart's; without a number, the current one's

A stack that does not run now is read where it was left. The program is not touched."""

    def __init__(self):
        super().__init__("bt", gdb.COMMAND_STACK)

    def answer(self, words):
        model = Model(find.kernel())
        if words and words[0] == "hart":
            index = _number(words[1], "hart") if len(words) > 1 else model.current_hart()
            hart = model.hart(index)
            if not bool(hart["online"]):
                raise Trouble("hart %d is not online" % index)
            print("hart %d:" % index)
            lines = stacks.port().hart_backtrace(model.kernel, index)
        else:
            thread = self.named(model, words)
            name = "%d.%d" % (int(thread["process"]["pid"]), int(thread["tid"]))
            print("thread %s, %s:" % (name, Threads.what(model, thread)))
            lines = stacks.port().thread_backtrace(thread)
            if lines is None:
                print("has not run yet: it begins in %s" % stacks.port().entry_name(thread))
                return
        for line in lines:
            print(line)

    @staticmethod
    def named(model, words):
        if not words:
            index = model.current_hart()
            thread = model.hart(index)["thread"]
            if int(thread) == 0:
                raise Trouble("hart %d runs no thread now (ravelin bt hart %d shows its loop)" % (index, index))
            return thread.dereference()
        parts = re.fullmatch(r"(\d+)\.(\d+)", words[0])
        if parts is None:
            raise Trouble("'%s' names no thread: a thread is PID.TID, such as 2.1" % words[0])
        return model.thread(int(parts.group(1)), int(parts.group(2)))


class WhyPicked(_Command):
    """The comparison of ranks that decided what a hart runs, and the one that decides what is next.

usage: ravelin why-picked [HART]

The pick is told from the queue as it stands; if it has changed since, that is said. What is next
assumes that the thread's slice ends now, and that it stays ready."""

    def __init__(self):
        super().__init__("why-picked")

    def answer(self, words):
        model = Model(find.kernel())
        index = _number(words[0], "hart") if words else model.current_hart()
        hart = model.hart(index)
        waiting = [budget for budget in model.queued() if budget.entity.waiting > 0]
        runner = hart["runner"]
        if int(runner) == 0:
            print("hart %d runs nothing" % index)
            self.next(model, [(budget.entity.rank, budget) for budget in waiting])
            return
        self.last(model, index, hart, waiting)
        self.next(model, self.after(model, index, hart, waiting))

    @staticmethod
    def last(model, index, hart, waiting):
        runner = model.budget_around(hart["runner"]["entity"].address)
        thread = hart["thread"]
        print("hart %d runs %s%s" % (
            index, model.budget_name(runner.value),
            "" if int(thread) == 0 else ", thread %d.%d" % (
                int(thread["process"]["pid"]), int(thread["tid"]))))
        rivals = [budget for budget in waiting if budget.at != runner.at]
        if not rivals:
            print("  no other budget has a thread that waits")
            return
        rival = rivals[0]
        if runner.entity.rank < rival.entity.rank:
            print("  before %s by %s" % (model.budget_name(rival.value),
                                         order.comparison(runner.entity.rank, rival.entity.rank)))
        else:
            print("  %s is before it now by %s: the queue has changed since the pick" % (
                model.budget_name(rival.value),
                order.comparison(rival.entity.rank, runner.entity.rank)))
        for budget in (runner, rival):
            print("  %s: pass %d, tie %d" % (model.budget_name(budget.value), budget.entity.passed,
                                             budget.entity.tie))
        WhyPicked.recorded(model, index, runner)

    @staticmethod
    def recorded(model, index, runner):
        for place, record in model.last_records(index):
            if enum_name(gdb.Value(int(record["kind"])).cast(
                    gdb.lookup_type("ravelin::abi::TraceKind"))) != "pick":
                continue
            passed = int(record["y"]) << 64 | int(record["x"])
            same = passed == runner.entity.passed and int(record["id"]) == runner.id
            print("  picked in kernel entry %d (trace record %d), at pass %d%s" % (
                int(record["entry"]), place, passed, "" if same else ": it has been charged since"))
            return

    @staticmethod
    def after(model, index, hart, waiting):
        """The ranks if the hart's slice ended now."""
        runner = model.budget_around(hart["runner"]["entity"].address)
        ticks = order.pending(model, hart, stacks.port().clock(model.kernel, index))
        passed = order.charged(runner.entity, max(ticks, order.LEAST_CHARGE))
        rank = (passed, int(model.queue["back_"]) + 1, runner.id)
        print("if its slice ended now: charged %d ticks at weight %d, its pass is %d" % (
            max(ticks, order.LEAST_CHARGE), runner.entity.weight, passed))
        ranks = [(budget.entity.rank, budget) for budget in waiting if budget.at != runner.at]
        return sorted(ranks + [(rank, runner)], key=lambda pair: pair[0])

    @staticmethod
    def next(model, ranks):
        if not ranks:
            print("next: nothing, no thread waits for a hart")
            return
        name = model.budget_name(ranks[0][1].value)
        if len(ranks) == 1:
            print("next: %s, the only one with a thread that waits" % name)
            return
        print("next: %s, before %s by %s" % (name, model.budget_name(ranks[1][1].value),
                                             order.comparison(ranks[0][0], ranks[1][0])))


def _number(word, what):
    if not word.isdigit():
        raise Trouble("'%s' is no number of a %s" % (word, what))
    return int(word)


def register():
    for command in (Ravelin, Start, Program, Budgets, Queue, Threads, Backtrace, WhyPicked):
        command()
