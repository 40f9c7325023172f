#!/usr/bin/env python3
"""Runs tests/riscv/queue on QEMU, which counts instructions, and judges what it says.

At n queued budgets and 1, 2 and 4 harts a slice's end of rv64 costs the queue at most 50 + 16 * ceil(log2 n)
instructions, and never more than a flat array of ranks. What else is counted has the ceilings below, a little
above what was measured (docs/LIMITS.md), and costs less than the flat array from nine budgets on.
"""

import argparse
import math
import pathlib
import subprocess
import sys

SIZES = (2, 3, 9, 17, 64, 510)
HARTS = (1, 2, 4)
# By width and event: instructions, and those more for each doubling of the budgets.
LIMITS = {
    64: {"slice": (50, 16), "judged": (580, 0), "wake": (510, 0), "block": (900, 0)},
    32: {"slice": (82, 25), "judged": (775, 0), "wake": (720, 0), "block": (1175, 0)},
}
FLAT_FROM = {"slice": 2, "judged": 9, "wake": 9, "block": 9}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", required=True, type=pathlib.Path)
    parser.add_argument("--width", required=True, type=int, choices=LIMITS)
    options = parser.parse_args()
    # One instruction is one unit of the emulator's clock.
    run = subprocess.run(
        [f"qemu-system-riscv{options.width}", "-M", "virt", "-m", "64M", "-display", "none",
         "-monitor", "none", "-serial", "stdio", "-bios", "none", "-kernel", options.image,
         "-icount", "shift=0"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, check=False)
    lines = run.stdout.splitlines()
    if not lines or lines[-1] != "done":
        sys.exit(f"the program ended with: {lines[-1] if lines else run.stderr}")
    faults = []
    seen = set()
    for words in (line.split() for line in lines[:-1]):
        event, (harts, count), weights = words[1], map(int, words[2:4]), words[4]
        most, mean, flat, flat_mean = map(int, words[5:])
        seen.add((event, harts, count, weights))
        base, slope = LIMITS[options.width].get(event, (math.inf, 0))
        limit = base + slope * math.ceil(math.log2(count))
        line = (f"{event:7} {harts} harts {count:4} {weights} most {most} of {limit}, mean {mean / 100}; "
                f"flat array {flat}, {flat_mean / 100}")
        print(line)
        if most > limit or (count >= FLAT_FROM.get(event, math.inf) and most > flat):
            faults.append(line)
    # A slice's end without a cap set is what the bound is about; with as many harts as budgets, or
    # more, there may be none.
    wanted = {("slice", harts, count, "equal") for harts in HARTS for count in SIZES
              if harts == 1 or count > harts}
    wanted |= {(event, harts, count, weights) for event in ("wake", "block") for harts in HARTS
               for count in SIZES for weights in ("equal", "mixed")}
    missing = wanted - seen
    for fault in faults:
        print("over:", fault)
    if missing:
        print("not measured:", *sorted(missing), sep="\n  ")
    print(f"{len(lines) - 1} figures, {len(faults)} over")
    return 1 if faults or missing else 0


if __name__ == "__main__":
    sys.exit(main())
