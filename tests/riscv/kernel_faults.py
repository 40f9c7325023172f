#!/usr/bin/env python3
"""Boots a kernel that faults (kernel_faults.cpp): each fault must end the machine as failed by itself, with
the cause, the address and every register on the console."""

import argparse
import pathlib
import re
import subprocess
import sys

LOAD, STORE, FETCH = 0xd, 0xf, 0xc
UNMAPPED, USER_PAGE, PAGE = 0x10, 0x40000000, 0x1000
REGISTERS = 32

# By the number of harts, as kernel_faults.cpp has it: (name, cause, where the address must be). A place is an
# address or the name of a line that the kernel prints; a fault there is within its first page.
FAULTS = [
    ("load of nothing", LOAD, UNMAPPED),
    ("store to code", STORE, "code"),
    ("fetch from data", FETCH, "data"),
    ("load of a user's page", LOAD, USER_PAGE),
    ("stack overflow", STORE, "guard"),
    ("assertion", None, None),
    ("fault while one is told", LOAD, UNMAPPED),
]


def boot(folder, width, harts):
    firmware = "default" if width == 64 else str(folder / "ravelin-sbi.elf")
    return subprocess.run(
        [f"qemu-system-riscv{width}", "-M", "virt", "-m", "64M", "-display", "none", "-monitor", "none",
         "-serial", "stdio", "-no-reboot", "-seed", "1", "-icount", "shift=3,sleep=off",
         "-smp", str(harts), "-bios", firmware, "-kernel", str(folder / "ravelin-kernel-faults.elf"),
         "-initrd", str(folder / "programs" / "smp-boot.img")],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, text=True)


def judge(lines, name, cause, place):
    """What is wrong with what the machine said, or nothing."""
    text = "\n".join(lines)
    if lines[-1:] != ["RAVELIN-OFF failed"]:
        return "it did not end as failed"
    if "nothing came of it" in text:
        return "the kernel did what it may not"
    if cause is None:
        return "" if "assertion failed on hart 0: one is two at faults:1" in text else "no word of it"
    said = re.findall(r"ravelin: kernel fault on hart 0: cause 0x(\w+) address 0x(\w+)", text)
    if len(said) != 1:
        return f"told {len(said)} times"
    found, address = (int(number, 16) for number in said[0])
    start = place
    if isinstance(place, str):
        start = int(re.search(rf"^{place} 0x(\w+)$", text, re.MULTILINE)[1], 16)
    if found != cause or not start <= address < start + (PAGE if isinstance(place, str) else 1):
        return "the cause or the address is another"
    registers = re.findall(r" (\w+) 0x\w{8,16}\b", "\n".join(l for l in lines if l.startswith("  ")))
    if len(set(registers)) != REGISTERS:
        return f"{len(set(registers))} registers are shown"
    ended = "the kernel ends: kernel fault" in text
    if ended != (name != "fault while one is told"):
        return "the second fault is not the end" if ended else "the kernel had no say"
    if place == USER_PAGE and "the page is there" not in text:
        return "there was no page"
    return ""


def main():
    parser = argparse.ArgumentParser(description="Boots a kernel that faults.")
    parser.add_argument("--build", required=True, type=pathlib.Path,
                        help="folder with rv64-checked/ and rv32-checked/")
    options = parser.parse_args()
    failures = 0
    for width in (64, 32):
        for harts, (name, cause, place) in enumerate(FAULTS, 1):
            try:
                lines = boot(options.build / f"rv{width}-checked", width, harts).stdout.splitlines()
                first = next((i for i, line in enumerate(lines) if line.startswith("code 0x")), 0)
                wrong = judge(lines[first:], name, cause, place)
            except subprocess.TimeoutExpired as late:
                lines, wrong = [str(late.stdout or b"")], "it did not end"
            failures += bool(wrong)
            print(f"FAIL rv{width} {name}: {wrong}" if wrong else f"pass rv{width} {name}")
            if wrong:
                print(*lines, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
