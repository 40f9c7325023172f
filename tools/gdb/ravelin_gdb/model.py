# The kernel's objects as Python values. Every walk is bounded by what the kernel says it holds, so that
# memory that was overwritten ends in a line and not in a walk without end.

import gdb

from ravelin_gdb import stacks
from ravelin_gdb.find import Trouble

MOST_BUDGETS = 100000
NEVER = 2**64 - 1


def u128(value):
    return int(value["high"]) << 64 | int(value["low"])


def enum_name(value):
    """`queued` of ravelin::stride::Place::queued; the number of a value that has no name."""
    return str(value).rsplit("::", 1)[-1]


def listed(list_value, kind, bound=MOST_BUDGETS):
    """Members of a List, oldest first, as pointers to `kind`."""
    first = list_value["first_"]
    pointer = gdb.lookup_type("ravelin::" + kind).pointer()
    link = first
    while int(link) != 0:
        if bound == 0:
            raise Trouble("a list of %ss does not end: its memory was overwritten" % kind.lower())
        bound -= 1
        yield link["owner"].cast(pointer)
        link = link["next"]
        if int(link) == int(first):
            return


class Entity:
    """A budget's place in time."""

    def __init__(self, value):
        self.at = int(value.address)
        self.passed = u128(value["pass"])
        self.remainder = int(value["remainder"])
        self.tie = int(value["tie"])
        self.id = int(value["id"])
        self.weight = int(value["weight"])
        self.waiting = int(value["waiting"])
        self.running = int(value["running"])
        self.capped = bool(value["capped"])
        self.place = enum_name(value["place"])
        if self.place == "queued":
            self.place = "side" if self.capped or self.running != 0 else "tree"

    @property
    def rank(self):
        return (self.passed, self.tie, self.id)


class Budget:
    def __init__(self, value):
        self.value = value
        self.at = int(value.address)
        self.id = int(value["head"]["id"])
        self.account = int(value["account"])
        self.dying = bool(value["dying"])
        self.entity = Entity(value["entity"])
        self.weight_limit = int(value["weight_limit"])
        self.free_weight = self.weight_limit - int(value["weight_carved"])
        self.pages = (int(value["pages_used"]), int(value["page_limit"]))
        self.processes = (int(value["processes_used"]), int(value["process_limit"]))

    def children(self):
        return [Budget(child.dereference()) for child in listed(self.value["children"], "Budget")]


class Model:
    """What a Kernel holds now."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.queue = kernel["queue"]
        self.floor = u128(self.queue["base_"]) + int(self.queue["floor_key_"])
        self.hart_count = int(kernel["hart_count"])

    def special(self, address):
        """`root`, `system` or `users`, for these three; else None."""
        for name in ("root", "system", "users"):
            if int(self.kernel[name]) == address:
                return name
        return None

    def budget_name(self, value):
        """How a budget is called in every output."""
        name = self.special(int(value.address))
        account = int(value["account"])
        more = name if name is not None else "account %d" % account if account != 0 else None
        return "budget %d%s" % (int(value["head"]["id"]), " (%s)" % more if more else "")

    def budget_tree(self):
        """Every budget with its depth, parents first."""
        root = self.kernel["root"]
        if int(root) == 0:
            raise Trouble("this kernel has not booted: it has no budgets yet")
        rows = []

        def visit(budget, depth):
            if len(rows) > MOST_BUDGETS:
                raise Trouble("the tree of budgets does not end: its memory was overwritten")
            rows.append((depth, budget))
            for child in budget.children():
                visit(child, depth + 1)

        visit(Budget(root.dereference()), 0)
        return rows

    def budget_of_id(self, number):
        for _, budget in self.budget_tree():
            if budget.id == number:
                return budget
        raise Trouble("no budget has the id %d (ravelin budgets lists them)" % number)

    def queued(self):
        """Every queued budget, best rank first."""
        queue = self.queue
        leaves = int(queue["leaves_"])
        entities = [queue["matches_"][node // 2]["side"][node % 2] for node in range(leaves, 2 * leaves)]
        entities += [queue["side_"][place] for place in range(int(queue["side_count_"]))]
        dormant = queue["dormant_"]
        while int(dormant) != 0 and len(entities) <= MOST_BUDGETS:
            entities.append(dormant)
            dormant = dormant["next"]
        return sorted((self.budget_around(entity) for entity in entities),
                      key=lambda budget: budget.entity.rank)

    def budget_around(self, entity):
        kind = gdb.lookup_type("ravelin::Budget")
        place = next(field.bitpos // 8 for field in kind.fields() if field.name == "entity")
        return Budget(gdb.Value(int(entity) - place).cast(kind.pointer()).dereference())

    def processes(self):
        table = self.kernel["processes"]
        low, high = table.type.range()
        word = gdb.lookup_type("unsigned long").sizeof
        # One read instead of one a place: most are empty.
        bytes_of = gdb.selected_inferior().read_memory(int(table.address), (high - low + 1) * word)
        for place in range(low, high + 1):
            if any(byte != b"\0" for byte in bytes_of[place * word:(place + 1) * word]):
                yield table[place].dereference()

    def threads(self, process=None):
        """Every thread in order of pid and tid."""
        for each in self.processes() if process is None else [process]:
            left = int(each["thread_count"])
            table = each["threads"]
            for tid in range(table.type.range()[1] + 1):
                if left == 0:
                    break
                if int(table[tid]) != 0:
                    left -= 1
                    yield table[tid].dereference()

    def thread(self, pid, tid):
        table = self.kernel["processes"]
        if not 0 < pid <= table.type.range()[1] or int(table[pid]) == 0:
            raise Trouble("no process has the pid %d (ravelin threads lists them)" % pid)
        threads = table[pid].dereference()["threads"]
        if not 0 < tid <= threads.type.range()[1] or int(threads[tid]) == 0:
            raise Trouble("process %d has no thread %d (ravelin threads lists them)" % (pid, tid))
        return threads[tid].dereference()

    def hart(self, index):
        if not 0 <= index < self.hart_count:
            raise Trouble("no hart %d: this kernel has %s" % (
                index, "hart 0" if self.hart_count == 1 else "harts 0 to %d" % (self.hart_count - 1)))
        return self.kernel["harts"][index]

    def current_hart(self):
        """The hart that the selected OS thread runs; the boot hart if it runs none."""
        return stacks.port().current_hart_index() or 0

    def micros_from_now(self, ticks):
        """`in 1000 us` of a point of the clock; the point where the clock is the host's."""
        now = stacks.port().clock(self.kernel, self.current_hart())
        rate = int(self.kernel["ticks_per_second"])
        if now is None or rate == 0:
            return "at tick %d" % ticks
        length = abs(ticks - now) * 1000000 // rate
        return "in %d us" % length if ticks >= now else "%d us ago" % length

    def last_records(self, hart):
        """The hart's trace records, newest first; none in a build that has no trace."""
        try:
            trace = self.kernel["trace"]
            count = int(trace["count_"])
            records = trace["head_"] + 1
        except gdb.error:
            return
        records = records.cast(gdb.lookup_type("ravelin::abi::TraceRecord").pointer())
        for place in range(count - 1, -1, -1):
            record = records[place]
            if int(record["hart"]) == hart:
                yield place, record
