# How values of the kernel's types are shown. `print/r` shows one as the compiler laid it out.

import gdb
import gdb.printing
import gdb.types

from ravelin_gdb import model


class _Text:
    """A value that is one word or line."""

    def __init__(self, text):
        self.text = text

    def to_string(self):
        return self.text


class _Object:
    """A line that says which object it is, and its members below."""

    def __init__(self, value, text):
        self.value = value
        self.text = text

    def to_string(self):
        return self.text

    def children(self):
        for field in self.value.type.fields():
            if not hasattr(field, "bitpos"):
                continue  # a static member
            yield field.name, self.value[field]


def _counted(unit, never=None):
    def printer(value):
        number = int(value["value"])
        if never is not None and number == model.NEVER:
            return _Text(never)
        return _Text("%d %s" % (number, unit))
    return printer


def _named(word):
    return lambda value: _Text("%s %d" % (word, int(value["value"])))


def _mask(value):
    bits = int(value["bits"])
    return _Text("harts {%s}" % ", ".join(str(bit) for bit in range(32) if bits >> bit & 1))


def budget_text(value):
    account = int(value["account"])
    return "budget %d%s" % (int(value["head"]["id"]), ", account %d" % account if account else "")


def thread_text(value):
    process = value["process"]
    if int(process) == 0:
        return "no thread yet"
    return "thread %d.%d, %s" % (int(process["pid"]), int(value["tid"]),
                                 model.enum_name(value["state"]))


def process_text(value):
    return "process %d, %s" % (int(value["pid"]), model.enum_name(value["state"]))


def endpoint_text(value):
    counts = []
    for field, kind in (("receivers", "Thread"), ("groups", "Thread"), ("open", "OpenCall"),
                        ("notices", "Process")):
        count = sum(1 for _ in model.listed(value[field], kind))
        if count:
            counts.append("%s %d" % (field, count))
    return "endpoint %d, %s" % (int(value["head"]["id"]), ", ".join(counts) or "nothing waits")


def object_text(head):
    """An object by its head."""
    kinds = {"budget": ("Budget", budget_text), "endpoint": ("Endpoint", endpoint_text),
             "process": ("Process", process_text), "thread": ("Thread", thread_text)}
    kind = model.enum_name(head["kind"])
    if kind not in kinds:
        return "%s %d" % (kind, int(head["id"]))
    name, text = kinds[kind]
    pointer = gdb.lookup_type("ravelin::" + name)
    place = next(field.bitpos // 8 for field in pointer.fields() if field.name == "head")
    whole = gdb.Value(int(head.address) - place).cast(pointer.pointer()).dereference()
    return text(whole)


def handle_text(value):
    if int(value["object"]) == 0:
        return "free handle"
    text = "handle %d of process %d: %s" % (int(value["index"]), int(value["pid"]),
                                            object_text(value["object"].dereference()))
    if model.enum_name(value["object"]["kind"]) == "endpoint":
        badge = int(value["badge"])
        text += ", to receive" if badge == 0 else ", badge %d" % badge
    if int(value["stamp"]) != 0:
        text += ", stamped by budget %d" % int(value["stamp"]["head"]["id"])
    return text


def entity_text(value):
    entity = model.Entity(value)
    return "entity %d, %s, pass %d, remainder %d, tie %d, weight %d, waiting %d, running %d" % (
        entity.id, entity.place + (", capped" if entity.capped else ""), entity.passed,
        entity.remainder, entity.tie, entity.weight, entity.waiting, entity.running)


def hart_text(value):
    if not bool(value["online"]):
        return "a hart that is not online"
    thread = value["thread"]
    what = "idle" if int(thread) == 0 else thread_text(thread.dereference())
    return "hart %d, %s" % (int(value["index"]["value"]), what)


def kernel_text(value):
    return "kernel with %d of %d harts online and %d processes" % (
        int(value["online"]), int(value["hart_count"]), int(value["process_count"]))


def _object(text):
    return lambda value: _Object(value, text(value))


_PRINTERS = {
    "ravelin::U128": lambda value: _Text(str(model.u128(value))),
    "ravelin::Ticks": _counted("ticks", "never"),
    "ravelin::Micros": _counted("us", "forever"),
    "ravelin::Weight": _counted("of weight"),
    "ravelin::HartIndex": _named("hart"),
    "ravelin::FrameNumber": _named("frame"),
    "ravelin::HartMask": _mask,
    "ravelin::Budget": _object(budget_text),
    "ravelin::Thread": _object(thread_text),
    "ravelin::Process": _object(process_text),
    "ravelin::Endpoint": _object(endpoint_text),
    "ravelin::HandleSlot": lambda value: _Text(handle_text(value)),
    "ravelin::Hart": _object(hart_text),
    "ravelin::Kernel": _object(kernel_text),
    "ravelin::stride::Entity": lambda value: _Text(entity_text(value)),
}


class _Lookup(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("ravelin")

    def __call__(self, value):
        name = gdb.types.get_basic_type(value.type).name if value.type.name else None
        make = _PRINTERS.get(name)
        if make is None:
            return None
        try:
            return make(value)
        except (gdb.error, StopIteration):
            return None  # memory that holds no such object: as the compiler laid it out


def register():
    gdb.printing.register_pretty_printer(None, _Lookup(), replace=True)
