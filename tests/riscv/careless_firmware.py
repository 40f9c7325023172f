#!/usr/bin/env python3
"""Boots the kernel under a firmware that starts harts badly (tests/riscv/careless.cpp).

Harts that are refused or come too late must be told of and run nothing, whenever they come. Those that
come with the wrong address or argument must be found by their id and run user code. The machine must end
by itself as a sound one. The boot hart is not the first one.
"""

import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

RAM_BASE = 0x80000000
MEBIBYTES = 128
HEAD, RECORD = struct.Struct("<8sIIQ40x"), struct.Struct("<QQQIBBH")  # core/abi/trace.h
PICK = 7

SAID = [
    "ravelin: hart id 1 refused by the firmware",
    "ravelin: hart id 2 refused by the firmware",
    "ravelin: hart id 3 did not start in time",
    "careless: late in boot",
    "ravelin: hart id 6 did not start in time",
    "careless: late in the run",
    "RAVELIN-OFF off",
]
RAN = {0, 1, 5, 6}  # by index: hart 7, which boots, then 0, 4 and 5


def boot(folder, width, ram):
    return subprocess.run(
        [f"qemu-system-riscv{width}", "-M", "virt,memory-backend=ram", "-m", f"{MEBIBYTES}M",
         "-object", f"memory-backend-file,id=ram,size={MEBIBYTES}M,mem-path={ram},share=on",
         "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot", "-seed", "1",
         "-icount", "shift=3,sleep=off", "-smp", "8", "-bios", str(folder / "ravelin-sbi-careless.elf"),
         "-kernel", str(folder / "ravelin-kernel.elf"),
         "-initrd", str(folder / "programs" / "smp-boot.img")],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False, text=True)


def harts_that_picked(ram, line):
    address = int(line.split()[1], 0)
    with open(ram, "rb") as memory:
        memory.seek(address - RAM_BASE)
        count = HEAD.unpack(memory.read(HEAD.size))[3]
        records = memory.read(count * RECORD.size)
    return {hart for _, _, _, _, kind, hart, _ in RECORD.iter_unpack(records) if kind == PICK}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path,
                        help="folder with rv64-checked/ and rv32-checked/")
    options = parser.parse_args()
    failures = 0
    for width in (64, 32):
        with tempfile.TemporaryDirectory() as scratch:
            ram = pathlib.Path(scratch) / "ram"
            run = boot(options.build / f"rv{width}-checked", width, ram)
            lines = run.stdout.splitlines()
            told = [line for line in lines if line in SAID or re.search("refused|panic|late", line)]
            trace = [line for line in lines if line.startswith("RAVELIN-TRACE ")]
            ran = harts_that_picked(ram, trace[0]) if trace else set()
        if told == SAID and ran == RAN and not run.stderr:
            print(f"pass rv{width}")
            continue
        failures += 1
        print(f"FAIL rv{width}: harts {sorted(ran)} ran; the machine said:", *lines, run.stderr, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
