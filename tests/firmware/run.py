#!/usr/bin/env python3
"""Runs the firmware conformance image in QEMU and judges what it prints.

rv64 runs under Debian's OpenSBI and under our firmware, rv32 under ours; at 1 and 4 harts, with and
without S-mode's own compare register, harts really at once. Every run must end by itself with every
check good, and on rv64 the two firmwares must have printed the same lines, but for the debug console
("dbcn") that OpenSBI 1.1 does not have and what ours promises beyond the specification ("own").
"""

import argparse
import pathlib
import re
import subprocess
import sys
import threading

# Fewer lines than this at a hart count mean that the image did not run its checks.
LEAST_CHECKS = {1: 95, 4: 115}
# A firmware that lets harts run before it has counted them miscounts one boot of six or so.
BOOT_HARTS, BOOTS = 8, 40
# Debian's OpenSBI, in QEMU's own search path.
OPENSBI = "default"


class Failed(Exception):
    """What a run did wrong, in one line."""


def boot(width, features, firmware, image, harts):
    """Starts QEMU with the image; its console is the process's input and output."""
    command = [
        f"qemu-system-riscv{width}", "-M", "virt", "-cpu", f"rv{width},{features}",
        "-smp", str(harts), "-m", "128M",
        "-accel", "tcg,thread=multi", "-display", "none", "-monitor", "none", "-serial", "stdio",
        "-no-reboot", "-bios", str(firmware), "-kernel", str(image),
    ]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def count_harts(width, firmware, image, harts, seconds):
    """Boots the image as far as the line that counts its harts, and returns that line."""
    process = boot(width, "sstc=on", firmware, image, harts)
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        for raw in process.stdout:
            line = raw.decode("ascii", "replace").rstrip("\r\n")
            if line.startswith("harts: "):
                return line
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    return "no line"


def run(width, features, firmware, image, harts, seconds):
    """Boots the image once and returns its lines; answers its requests for input."""
    process = boot(width, features, firmware, image, harts)
    timed_out = threading.Event()

    def end():
        timed_out.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    lines = []
    try:
        for raw in process.stdout:
            line = raw.decode("ascii", "replace").rstrip("\r\n")
            lines.append(line)
            asked = re.fullmatch(r"send (.)", line)
            if asked:
                process.stdin.write(asked.group(1).encode())
                process.stdin.flush()
        process.wait()
    finally:
        timer.cancel()
        process.kill()
    if timed_out.is_set():
        raise Failed(f"did not end within {seconds} s; last line: {lines[-1] if lines else '-'!r}")
    return lines


def judge(lines, harts):
    """Raises Failed unless the run is complete and good; returns the lines that must agree."""
    if "conformance begins" not in lines:
        raise Failed("never began: " + " / ".join(lines[-3:]))
    body = lines[lines.index("conformance begins") + 1:]
    bad = [line for line in body if "FAIL" in line]
    if bad:
        raise Failed("; ".join(bad))
    if f"harts: {harts}" not in body:
        raise Failed(f"did not find {harts} harts")
    end = re.fullmatch(r"conformance ends: (\d+) checks, 0 failures", body[-1] if body else "")
    if not end:
        raise Failed(f"ended early: {body[-1] if body else '-'!r}")
    if int(end.group(1)) < LEAST_CHECKS[harts]:
        raise Failed(f"only {end.group(1)} checks")
    return [line for line in body[:-1] if line.startswith(("ok   ", "harts"))
            and not line.startswith(("ok   dbcn.", "ok   own."))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path,
                        help="folder with rv64-release/ and rv32-release/")
    parser.add_argument("--suffix", default="-release", help="ending of the two folders' names")
    parser.add_argument("--only", choices=("opensbi", "ours"), help="only this firmware")
    parser.add_argument("--seconds", type=int, default=150, help="how long one run may take")
    options = parser.parse_args()

    failures = 0
    for harts in (1, 4):
        for sstc in (True, False):
            agreed = {}
            for width, name in ((64, "opensbi"), (64, "ours"), (32, "ours")):
                if options.only not in (None, name):
                    continue
                folder = options.build / f"rv{width}{options.suffix}"
                firmware = folder / "ravelin-sbi.elf" if name == "ours" else OPENSBI
                title = f"rv{width} {name:7} harts={harts} sstc={'on ' if sstc else 'off'}"
                try:
                    lines = run(width, f"sstc={'on' if sstc else 'off'}", firmware,
                                folder / "firmware-conformance.bin", harts, options.seconds)
                    agreed[width, name] = judge(lines, harts)
                    print(f"pass {title}: {lines[-1]}", flush=True)
                except Failed as reason:
                    failures += 1
                    print(f"FAIL {title}: {reason}", flush=True)
            if (64, "opensbi") in agreed and (64, "ours") in agreed:
                one, other = agreed[64, "opensbi"], agreed[64, "ours"]
                if one != other:
                    failures += 1
                    differing = sorted(set(one) ^ set(other))
                    print(f"FAIL rv64 firmwares differ, harts={harts}: {differing}", flush=True)
    # Harts that come out of reset early or late are all counted, whichever of them boots.
    for width in (64, 32):
        folder = options.build / f"rv{width}{options.suffix}"
        counts = [count_harts(width, folder / "ravelin-sbi.elf",
                              folder / "firmware-conformance.bin", BOOT_HARTS, options.seconds)
                  for _ in range(BOOTS)]
        wrong = sorted({count for count in counts if count != f"harts: {BOOT_HARTS}"})
        failures += bool(wrong)
        print(f"{'FAIL' if wrong else 'pass'} rv{width} ours    {BOOTS} boots of {BOOT_HARTS} harts"
              f"{': ' + ', '.join(wrong) if wrong else ''}", flush=True)
    # A machine that cannot run S-mode ends at once, and says why.
    for width in (64, 32):
        folder = options.build / f"rv{width}{options.suffix}"
        try:
            lines = run(width, "s=off,h=off,sstc=off", folder / "ravelin-sbi.elf",
                        folder / "firmware-conformance.bin", 1, options.seconds)
            if lines != ["ravelin-sbi: the boot hart has no S-mode"]:
                raise Failed(f"printed {lines}")
            print(f"pass rv{width} ours    without S-mode: {lines[0]}", flush=True)
        except Failed as reason:
            failures += 1
            print(f"FAIL rv{width} ours    without S-mode: {reason}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
