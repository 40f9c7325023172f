#!/usr/bin/env python3
"""Exports real traces as CTF, reads them with babeltrace2 and compares every event with the trace file:
kinds, harts, entries, budgets, times and the fields that count ticks.

usage: babeltrace.py --testbench FILE --kernel FILE
"""

import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

HEAD = struct.Struct("<8sIIQQQQIIQ")
RECORD = struct.Struct("<QQQIBBH")
ENTER, LEAVE, PICK, CHARGE, ONLINE, END = 1, 2, 7, 12, 29, 30
KINDS = {1: "enter", 2: "leave", 3: "wake", 4: "requeue", 5: "out", 6: "pass", 7: "pick", 8: "uncap",
         9: "floor", 10: "counts", 11: "runner", 12: "charge", 13: "top_up", 14: "create",
         15: "entry_pass", 16: "reweigh", 17: "reweighed", 18: "rem", 19: "lift", 20: "lift_work",
         21: "lifted", 22: "destroy_begin", 23: "destroy_end", 24: "expire", 25: "arm",
         26: "lock_wait", 27: "thread_end", 28: "start", 29: "online", 30: "end", 31: "claim",
         32: "answer", 33: "freed", 34: "zero"}
LINE = re.compile(r"\[(\d+)\] \([^)]*\) (\w+): (.*)")
FIELD = re.compile(r"(\w+) = (?:\( \"\w+\" : container = (\d+) \)|(\d+))")


def records_of(file):
    """The records of a trace file, each with the time it stands at."""
    data = file.read_bytes()
    records = []
    now = None
    for place in range(HEAD.unpack_from(data)[3]):
        record = RECORD.unpack_from(data, HEAD.size + place * RECORD.size)
        x, y, _, _, kind, _, _ = record
        if now is None:
            now = x
        if kind == ENTER:
            now = max(now, y)
        elif kind in (LEAVE, ONLINE, END):
            now = max(now, x)
        records.append((now, record))
    return records


def check(place, line, time, record):
    """What is wrong with one event, or nothing."""
    x, y, budget, entry, kind, hart, what = record
    event = LINE.fullmatch(line)
    if not event:
        return f"it is no event: {line}"
    stamp, name, text = event.groups()
    fields = {key: int(number or plain) for key, number, plain in FIELD.findall(text)}
    wanted = {"record": place, "entry": entry, "hart": hart, "budget": budget}
    if kind == CHARGE:
        wanted |= {"ticks": x, "weight": y, "of": what}
    elif kind == ENTER:
        wanted |= {"trapped": x, "locked": y, "cause": what & 0xFF, "call": what >> 8}
    elif kind == LEAVE:
        wanted |= {"returned": x, "slice_end": y, "how": what}
    elif kind == PICK:
        wanted |= {"pass_low": x, "pass_high": y}
    wrong = [f"{key} is {fields.get(key)}, not {value}" for key, value in wanted.items()
             if fields.get(key) != value]
    if name != KINDS[kind]:
        wrong.append(f"it is named {name}, not {KINDS[kind]}")
    if int(stamp) != time:
        wrong.append(f"it is at {int(stamp)}, not at tick {time}")
    return ", ".join(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--testbench", required=True, type=pathlib.Path)
    parser.add_argument("--kernel", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    for case, harts in (("sched-irq-wake", 1), ("sched-ties", 2)):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([arguments.kernel, "--program", case, "--harts", str(harts), "--seed", "1",
                            "--trace", folder / "trace"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([arguments.testbench, "trace", folder / "trace", "--ctf", folder / "ctf"],
                           check=True)
            read = subprocess.run(["babeltrace2", "--clock-cycles", folder / "ctf"],
                                  capture_output=True, text=True, check=False)
            records = records_of(folder / "trace")
        lines = read.stdout.splitlines()
        if read.returncode or len(lines) != len(records):
            print(f"{case}: {len(lines)} events for {len(records)} records; {read.stderr}")
            return 1
        for place, (line, (time, record)) in enumerate(zip(lines, records)):
            wrong = check(place, line, time, record)
            if wrong:
                print(f"{case}, record {place}: {wrong}")
                return 1
        print(f"{case}: {len(records)} records and their times are read back")
    return 0


if __name__ == "__main__":
    sys.exit(main())
