#!/usr/bin/env python3
"""A production image carries no channel to a trace (R23): none of a traced build's markers is in its bytes,
and no function of the trace or of a planted fault among its symbols.

usage: trace_scan.py FILE...           fails on any marker; FILE is an image, an ELF file or an archive
       trace_scan.py --catches CHECKED RELEASE
                                       fails unless the scan refuses the checked build, and the release
                                       with each marker planted in it
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# What only a traced build has: the file's magic, the line that tells the host where it lies, the counters
# printed with it, the choice of a planted fault.
MARKERS = [b"RAVTRACE", b"RAVELIN-TRACE", b": interrupts ", b"RAVELIN_PLANT"]
SYMBOL = re.compile(r"ravelin::(trace::|plan\b|hosted::write_trace)")


def has_symbols(file):
    return file.read_bytes()[:8].startswith((b"\x7fELF", b"!<arch>\n"))


def ran(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def scan(file):
    """What speaks against a file, a line each."""
    data = file.read_bytes()
    found = [] if data else [f"{file.name}: there is nothing in it"]
    if has_symbols(file):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / file.name
            stripped = ran("llvm-objcopy-19", "--strip-debug", file, copy)
            listed = ran("llvm-nm-19", "--demangle", "--defined-only", "--quiet", file)
            if stripped.returncode or listed.returncode:
                found.append(f"{file.name}: it cannot be read: {stripped.stderr}{listed.stderr}")
            else:
                data = copy.read_bytes()
        # A name that only mentions a type of the trace is no function of it.
        names = [line.split(" ", 2)[-1] for line in listed.stdout.splitlines() if " " in line]
        found += [f"{file.name}: the symbol {name}" for name in names if SYMBOL.match(name)]
    return found + [f"{file.name}: {marker.decode()} at byte {data.find(marker)}"
                    for marker in MARKERS if marker in data]


def catches(checked, release):
    """What the scan misses."""
    missed = []
    if scan(release):
        missed.append(f"the release itself is refused: {scan(release)[0]}")
    if not scan(checked):
        missed.append(f"{checked.name} of a checked build passes")
    with tempfile.TemporaryDirectory() as folder:
        planted = pathlib.Path(folder) / release.name
        data = release.read_bytes()
        for marker in MARKERS:
            for at in (0x1000, len(data) // 2, len(data)):
                planted.write_bytes(data[:at] + marker + data[at:])
                if not any(marker.decode() in line for line in scan(planted)):
                    missed.append(f"{marker.decode()} planted at byte {at} passes")
    return missed


def main(words):
    if words[:1] == ["--catches"]:
        wrong = catches(*map(pathlib.Path, words[1:]))
    else:
        wrong = [line for word in words for line in scan(pathlib.Path(word))]
    for line in wrong:
        print(line)
    return 1 if wrong or not words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
