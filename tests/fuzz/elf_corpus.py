#!/usr/bin/env python3
"""Writes the first inputs of elf-fuzz: a sound program's file and one for each thing to refuse.

usage: elf_corpus.py FOLDER
"""

import pathlib
import struct
import sys

CODE, DATA = 0x10000, 0x20000


def elf(segments, entry=CODE, kind=2, machine=243, width=2, count=None, table=64):
    parts = b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
    head = b"\x7fELF" + bytes([width, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, entry, table, 0, 0, 64, 56,
                        len(segments) if count is None else count, 0, 0, 0)
    return head + parts


def segment(flags, offset, address, file, memory, kind=1):
    return (kind, flags, offset, address, address, file, memory, 0x1000)


def inputs():
    code = segment(5, 0, CODE, 100, 100)
    data = segment(6, 20, DATA + 8, 60, 5000)
    yield "sound", elf([code, data])
    yield "outside-file", elf([segment(5, 40, CODE, 4000, 4000)])
    yield "file-larger", elf([segment(5, 0, CODE, 100, 50)])
    yield "offset-wraps", elf([segment(5, 2**64 - 8, CODE, 100, 100)])
    yield "address-wraps", elf([code, segment(6, 0, 2**64 - 0x1000, 8, 0x2000)])
    yield "overlap", elf([code, segment(4, 0, CODE + 8, 8, 8)])
    yield "stack", elf([code, segment(6, 0, 0x20001000, 8, 8)])
    yield "message-area", elf([code, segment(6, 0, 0x4000000, 8, 8)])
    yield "page-0", elf([code, segment(6, 0, 8, 8, 8)])
    yield "write-execute", elf([segment(7, 0, CODE, 100, 100)])
    yield "no-entry", elf([code, data], entry=DATA + 8)
    yield "odd-entry", elf([code], entry=CODE + 1)
    yield "too-large", elf([code, segment(6, 0, DATA, 0, 0x40000)])
    yield "many", elf([code] + [segment(4, 0, DATA + i * 0x1000, 8, 8) for i in range(9)])
    yield "dynamic", elf([code, segment(4, 0, DATA, 8, 8, kind=2)])
    yield "empty-segment", elf([code, segment(6, 0, DATA, 0, 0)])
    yield "heads-outside", elf([code], count=60)
    yield "table-wraps", elf([code], table=2**64 - 8)
    yield "other-machine", elf([code], machine=62)
    yield "other-width", elf([code], width=1)
    yield "short", elf([code])[:40]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs():
        (folder / name).write_bytes(b"\0" + data)
    body = bytes(range(48))
    head = struct.pack("<8sIIQII", b"RAVIMAGE", 1, 1, 32 + len(body), 0, 0)
    (folder / "image-sums").write_bytes(b"\1" + head + body)


if __name__ == "__main__":
    main()
