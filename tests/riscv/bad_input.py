#!/usr/bin/env python3
"""Boots the kernel with images, programs, trees and machines that it must refuse.

Each run must print exactly one line of refusal, the expected one, say that the machine ended as failed,
and end by itself. A run on what is sound must do none of this, so that a kernel that refuses everything
fails too.
"""

import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

IMAGE_HEAD = struct.Struct("<8sIIQII")
IMAGE_ENTRY = struct.Struct("<32sQQ")
LOAD, EXECUTE, WRITE, READ = 1, 1, 2, 4
PROGRAM = "sched-share"
CONSTANTS = 0x30000


def sums(data):
    plain, running = 1, 0
    for (word,) in struct.iter_unpack("<I", data):
        plain = (plain + word) & 0xFFFFFFFF
        running = (running + plain) & 0xFFFFFFFF
    return plain, running


def image_of(elf):
    """The image that tools/image makes of one program; what it holds may be wrong."""
    at = IMAGE_HEAD.size + IMAGE_ENTRY.size
    body = IMAGE_ENTRY.pack(b"tested", at, len(elf)) + elf
    body += bytes(-(IMAGE_HEAD.size + len(body)) % 16)
    return IMAGE_HEAD.pack(b"RAVIMAGE", 1, 1, IMAGE_HEAD.size + len(body), *sums(body)) + body


class Elf:
    """A program's file whose head and program heads can be changed."""

    def __init__(self, data, width):
        self.data = bytearray(data)
        self.wide = width == 64
        self.head = struct.Struct("<QQQ" if self.wide else "<III")  # entry, program heads, sections
        self.part = struct.Struct("<IIQQQQQQ" if self.wide else "<IIIIIIII")
        self.names = (["type", "flags", "offset", "address", "physical", "file", "memory", "align"]
                      if self.wide else
                      ["type", "offset", "address", "physical", "file", "memory", "flags", "align"])
        self.first = self.head.unpack_from(self.data, 24)[1]
        count = struct.unpack_from("<H", self.data, 56 if self.wide else 44)[0]
        self.loads = [i for i in range(count) if self.get(i)["type"] == LOAD]
        # Programs have no constants where there are none: the attributes become a segment of them.
        spare = [i for i in range(count) if i not in self.loads]
        self.loads = [self.loads[0], spare[0]]
        self.change(1, type=LOAD, flags=READ, offset=0x1000, address=CONSTANTS, physical=CONSTANTS,
                    file=0x100, memory=0x1100, align=0x1000)

    def get(self, index):
        values = self.part.unpack_from(self.data, self.first + index * self.part.size)
        return dict(zip(self.names, values))

    def change(self, load, **changes):
        values = self.get(self.loads[load]) | changes
        self.part.pack_into(self.data, self.first + self.loads[load] * self.part.size,
                            *(values[name] for name in self.names))
        return self

    def enter_at(self, address):
        _, heads, sections = self.head.unpack_from(self.data, 24)
        self.head.pack_into(self.data, 24, address, heads, sections)
        return self


def program_cases(sound, width, other):
    """(name, program file, refusal)"""

    def elf():
        return Elf(sound, width)

    foreign = bytearray(sound)
    foreign[18] = 62
    dynamic = elf()
    dynamic.change(1, type=2)
    return [
        ("write and execute", elf().change(0, flags=READ | WRITE | EXECUTE).data, "writable and exec"),
        ("overlapping segments", elf().change(1, address=elf().get(elf().loads[0])["address"]).data,
         "segments overlap"),
        ("segment over the stack", elf().change(1, address=0x20000000).data, "segments overlap"),
        ("segment at page 0", elf().change(1, address=0).data, "no pages of their own"),
        ("segment in the anonymous area", elf().change(1, address=0x10000000).data,
         "no pages of their own"),
        ("segment that wraps around", elf().change(1, memory=(1 << width) - 1).data,
         "outside of user space"),
        ("segment of the kernel's", elf().change(1, address=(1 << width) - (1 << 20)).data,
         "outside of user space"),
        ("segment beyond the file", elf().change(1, offset=len(sound)).data, "outside the file"),
        ("segment larger in the file", elf().change(1, memory=0xff).data,
         "file part is larger"),
        ("segment larger than the memory", elf().change(1, memory=1 << 30, address=0x21000000).data,
         "larger than the memory"),
        ("entry in constants", elf().enter_at(CONSTANTS).data, "entry is not in code"),
        ("entry at an odd address", elf().enter_at(0x10001).data, "entry is not in code"),
        ("dynamic linking", dynamic.data, "linked dynamically"),
        ("program of another machine", foreign, "no static ELF file"),
        ("program of the other width", other, "no static ELF file"),
        ("program cut short", sound[:20], "shorter than an ELF head"),
    ]


def image_cases(image):
    """(name, image or None, refusal)"""
    flipped = bytearray(image)
    flipped[len(image) // 2] ^= 0x10
    outside = bytearray(image)
    struct.pack_into("<Q", outside, IMAGE_HEAD.size + 32, len(image) * 2)
    struct.pack_into("<II", outside, 24, *sums(outside[IMAGE_HEAD.size:]))
    empty = IMAGE_HEAD.pack(b"RAVIMAGE", 1, 0, 32, *sums(b""))
    return [
        ("no image", None, "no ramdisk"),
        ("image of 8 bytes", image[:8], "shorter than its head"),
        ("image cut in half", image[:len(image) // 2], "image: truncated"),
        ("image with a flipped bit", flipped, "image: corrupt"),
        ("image of something else", b"x" * 4096, "not an image"),
        ("image of version 2", image[:8] + b"\2" + image[9:], "not an image"),
        ("image without programs", empty, "no programs"),
        ("entry outside the image", outside, "outside the image"),
    ]


# Edits of the machine's own tree, as source: (name, pattern, replacement, refusal).
TREES = [
    ("no timebase", r"timebase-frequency = .*?;", "", "device tree: "),
    ("timebase of 0", r"timebase-frequency = .*?;", "timebase-frequency = <0>;", "device tree: "),
    ("no interrupt context", r"interrupts-extended = <[^;]*?0x0?9 [^;]*;|"
     r"interrupts-extended = <[^;]*0x0?9>;", "", "no interrupt context"),
    ("more sources than there can be", r"riscv,ndev = <.*?>;", "riscv,ndev = <1024>;",
     "device tree: "),
    ("a device in RAM", r"(rtc@101000 \{[^}]*?reg = )<.*?>;", r"\1<0x00 0x80400000 0x00 0x1000>;",
     "registers overlap RAM"),
    ("a device over the interrupt controller", r"(rtc@101000 \{[^}]*?reg = )<.*?>;",
     r"\1<0x00 0xc201000 0x00 0x1000>;", "registers overlap RAM or the interrupt controller"),
    ("a device of half a page", r"(rtc@101000 \{[^}]*?reg = )<.*?>;",
     r"\1<0x00 0x101000 0x00 0x800>;", "not whole pages"),
    ("a source that the controller lacks", r"(rtc@101000 \{[^}]*?interrupts = )<.*?>;",
     r"\1<0x400>;", "none of the interrupt controller's"),
    ("no memory", r"device_type = \"memory\";", "", "device tree: "),
    ("memory below the kernel only", r"(memory@80000000 \{[^}]*?reg = )<.*?>;",
     r"\1<0x00 0x80000000 0x00 0x200000>;", "the kernel is not in RAM"),
]


class Failed(Exception):
    pass


class Machine:
    def __init__(self, build, width, seconds):
        self.width = width
        self.folder = build / f"rv{width}-release"
        self.firmware = self.folder / "ravelin-sbi.elf"
        self.ours = False  # Debian's OpenSBI never reaches a kernel on some broken trees
        self.seconds = seconds

    def command(self, extra, memory="128M", kernel=None):
        firmware = "default" if self.width == 64 and not self.ours else str(self.firmware)
        return [f"qemu-system-riscv{self.width}", "-M", "virt", "-m", memory, "-display", "none",
                "-monitor", "none", "-serial", "stdio", "-no-reboot", "-seed", "1",
                "-icount", "shift=3,sleep=off", "-bios", firmware, "-kernel",
                str(kernel or self.folder / "ravelin-kernel.elf"), *extra]

    def run(self, extra, memory="128M", kernel=None):
        try:
            done = subprocess.run(self.command(extra, memory, kernel), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=self.seconds, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"did not end: {(late.stdout or b'')[-200:]!r}") from late
        lines = done.stdout.decode("ascii", "replace").splitlines()
        if done.stderr:
            raise Failed(f"the emulator says {done.stderr[-200:]!r}")
        return lines

    def refuses(self, refusal, extra, memory="128M", kernel=None):
        lines = self.run(extra, memory, kernel)
        said = [line for line in lines if re.match(r"ravelin: (refused|panic): ", line)]
        if len(said) != 1 or refusal not in said[0]:
            raise Failed(f"expected one refusal with '{refusal}', got {said or lines[-3:]}")
        if "RAVELIN-OFF failed" not in lines:
            raise Failed(f"did not end as failed: {lines[-3:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path,
                        help="folder with rv64-release/ and rv32-release/")
    parser.add_argument("--width", required=True, type=int, choices=(32, 64))
    parser.add_argument("--seconds", type=int, default=30, help="how long one run may take")
    options = parser.parse_args()
    machine = Machine(options.build, options.width, options.seconds)
    other = options.build / f"rv{96 - options.width}-release" / "programs" / f"{PROGRAM}.img"
    image = (machine.folder / "programs" / f"{PROGRAM}.img").read_bytes()
    failures = 0

    def elf_in(data):
        _, offset, size = IMAGE_ENTRY.unpack_from(data, IMAGE_HEAD.size)
        return data[offset:offset + size]

    def check(name, run):
        nonlocal failures
        try:
            run()
            print(f"pass rv{options.width} {name}", flush=True)
        except Failed as reason:
            failures += 1
            print(f"FAIL rv{options.width} {name}: {reason}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)

        def with_image(data):
            if data is None:
                return []
            (place / "image").write_bytes(data)
            return ["-initrd", str(place / "image")]

        def sound(data):
            lines = machine.run(with_image(data))
            if "RAVELIN-OFF off" not in lines or any("refused" in line for line in lines):
                raise Failed(f"a sound machine ended with {lines[-3:]}")

        elf = elf_in(image)
        check("sound", lambda: sound(image))
        check("sound with constants",
              lambda: sound(image_of(bytes(Elf(elf, options.width).data))))
        for name, data, refusal in image_cases(image):
            check(name, lambda: machine.refuses(refusal, with_image(data)))
        for name, file, refusal in program_cases(elf, options.width, elf_in(other.read_bytes())):
            check(name, lambda: machine.refuses(refusal, with_image(image_of(bytes(file)))))
        check("no paging", lambda: machine.refuses(
            f"no Sv{39 if options.width == 64 else 32}",
            with_image(image) + ["-cpu", f"rv{options.width},mmu=off"]))
        # On rv32 the emulator puts the ramdisk behind so little memory.
        small = ("6M", "RAM too small") if options.width == 64 else ("8M", "ramdisk is not in RAM")
        check("little RAM", lambda: machine.refuses(small[1], with_image(image), small[0]))

        # The emulator puts a seed into every tree, so a kernel that looks for another name sees a tree
        # without one.
        kernel = (machine.folder / "ravelin-kernel.bin").read_bytes()
        (place / "kernel").write_bytes(kernel.replace(b"rng-seed", b"rng-none"))
        check("no random seed in the tree", lambda: machine.refuses(
            "device tree: no rng-none of 32 bytes", with_image(image), kernel=place / "kernel"))

        machine.ours = True
        dump = place / "dump.dtb"

        def dump_tree(harts):
            subprocess.run([*machine.command(with_image(image)), "-smp", str(harts), "-machine",
                            f"dumpdtb={dump}"], check=True, capture_output=True,
                           stdin=subprocess.DEVNULL)

        def goes_on_alone():
            lines = machine.run(with_image(image) + ["-dtb", str(dump)])
            said = ("RAVELIN-OFF off", "ravelin: hart id 1 refused by the firmware",
                    "ravelin: no other hart started: going on with one")
            if any(line not in lines for line in said):
                raise Failed(f"a machine whose second hart does not start ended with {lines[-3:]}")

        dump_tree(2)
        check("a second hart that is not there", goes_on_alone)
        dump_tree(1)
        source = subprocess.run(["dtc", "-q", "-I", "dtb", "-O", "dts", str(dump)], check=True,
                                capture_output=True, text=True).stdout
        for name, pattern, replacement, refusal in TREES:
            edited, changes = re.subn(pattern, replacement, source, flags=re.DOTALL)
            if changes == 0:
                check(name, lambda: (_ for _ in ()).throw(Failed("the tree has nothing to edit")))
                continue
            tree = place / "tree.dtb"
            subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(tree)], input=edited,
                           text=True, check=True)
            check(name, lambda: machine.refuses(refusal, with_image(image) + ["-dtb", str(tree)]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
