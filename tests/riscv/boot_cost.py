#!/usr/bin/env python3
"""What the release image takes: its bytes, and the instructions from the kernel's first to a user's first.

usage: boot_cost.py --build DIR --width 64|32

DIR is the preset's folder (build/rv64-release). gdb stops the machine at both instructions and reads the
machine's clock there, which counts a tick of 100 instructions under `-icount shift=0`. Fails above
128 KiB of text and data, 3 million instructions at 256 MiB of RAM, or 20 instructions more a frame of RAM.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys

IMAGE_MOST = 128 * 1024
BOOT_MOST = 3_000_000
FRAME_MOST = 20
TICK = 100  # instructions
FRAMES_A_MIB = 256
CLOCK = 0x200bff8  # mtime of virt's CLINT
FIRST = {64: 0x80200000, 32: 0x80400000}


def image_bytes(kernel):
    listed = subprocess.run(["size", kernel], capture_output=True, text=True, check=True).stdout
    text, data = listed.splitlines()[1].split()[:2]
    return int(text) + int(data)


def entry_of(program):
    head = subprocess.run(["readelf", "-h", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"Entry point address:\s+(0x[0-9a-f]+)", head)[1]


def clock_readings(folder, width, mib):
    """The machine's clock at the kernel's first instruction and at the first program's."""
    machine = (f"qemu-system-riscv{width} -M virt -m {mib}M -display none -monitor none -serial null -no-reboot "
               f"-seed 1 -icount shift=0 -smp 1 -bios {folder}/ravelin-sbi.elf "
               f"-kernel {folder}/ravelin-kernel.bin -initrd {folder}/programs/sched-share.img -S -gdb stdio")
    read = ["maintenance packet Qqemu.PhyMemMode:1", f"x/gx {CLOCK:#x}",
            "maintenance packet Qqemu.PhyMemMode:0"]
    steps = ["set confirm off", f"set arch riscv:rv{width}", f"target remote | {machine}",
             f"hbreak *{FIRST[width]:#x}", "continue", *read, "delete",
             f"hbreak *{entry_of(folder / 'user' / 'sched-share.elf')}", "continue", *read, "kill"]
    command = ["gdb-multiarch", "-nx", "-batch"]
    for step in steps:
        command += ["-ex", step]
    # A group of its own: gdb's end does not end an emulator that runs on.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said = process.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"rv{width}, {mib} MiB: the machine did not come to its first program")
    readings = [int(value, 16) for value in re.findall(rf"^{CLOCK:#x}:\s+(0x[0-9a-f]+)", said, re.MULTILINE)]
    if len(readings) != 2:
        sys.exit(f"rv{width}, {mib} MiB: two readings of the clock were awaited in\n{said}")
    return readings


def main():
    parser = argparse.ArgumentParser(description="Weighs the release image and its boot.")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--width", required=True, type=int, choices=sorted(FIRST))
    options = parser.parse_args()
    cost = {}
    for mib in (256, 1024):
        first, last = clock_readings(options.build, options.width, mib)
        cost[mib] = (last - first) * TICK
    frames = (1024 - 256) * FRAMES_A_MIB
    figures = [("bytes of text and data", image_bytes(options.build / "ravelin-kernel.elf"), IMAGE_MOST),
               ("instructions of a boot at 256 MiB", cost[256], BOOT_MOST),
               ("instructions more a frame of RAM", (cost[1024] - cost[256]) / frames, FRAME_MOST)]
    missed = 0
    for name, value, most in figures:
        bad = not 0 < value <= most
        missed += bad
        print(f"{'FAIL' if bad else 'pass'} rv{options.width} {name}: {value:.1f}, at most {most}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
