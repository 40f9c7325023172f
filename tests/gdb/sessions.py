"""Runs gdb in batch mode on a kernel, and compares sessions with pages that show them.

A page is a text with gdb's prompts in it. In a Markdown page only the blocks that begin with ```gdb
count; the whole of any other. A line `$ ./ravelin debug CASE ARGUMENTS` begins a new gdb, a line
`(gdb) COMMAND` is given to it, and what follows is what it must answer.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELPERS = os.path.join(ROOT, "tools", "gdb", "ravelin.py")
PROMPT = "(gdb) "
SHELL = "$ ./ravelin debug "
SECONDS = 100

# What gdb says of the host, or of a source edited since the build, and not of the kernel.
_HOST = re.compile(r"\[Thread debugging using |Using host libthread_db|warning: Error disabling address|"
                   r"warning: Source file is more recent|qemu-system-riscv\d+: warning: ")


class Failure(Exception):
    pass


def _machine(program, arguments, console):
    """What gdb is given for a case's machine: the files of the kernel and the program, the emulator."""
    bench = os.path.join(os.path.dirname(os.path.dirname(program)), "tools", "testbench", "testbench")
    done = subprocess.run([bench, "machine", "--root", ROOT, "--console", console, *arguments],
                          stdout=subprocess.PIPE, timeout=SECONDS, check=True)
    return done.stdout.decode().splitlines()


def debug(program, arguments, commands, console=os.devnull):
    """Answers to the commands, the first being that to `ravelin start`. Arguments with --on are of a
    machine, whose console goes to a file."""
    environment = dict(os.environ, LC_ALL="C", COLUMNS="1000")
    environment.pop("DEBUGINFOD_URLS", None)
    words = ["gdb", "-nx", "-q", "-batch", "-x", HELPERS]
    last = ["--args", program, "--program"] + arguments
    if "--on" in arguments:
        kernel, guest, environment["RAVELIN_MACHINE"] = _machine(program, arguments, console)
        words[0] = "gdb-multiarch"
        words += ["-ex", "ravelin program " + guest]
        last = [kernel]
    for place, command in enumerate(["ravelin start"] + commands):
        words += ["-ex", "echo @@@%d\\n" % place, "-ex", command]
    words += last
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment, cwd=ROOT, timeout=SECONDS,
                          check=False)
    text = done.stdout.decode(errors="replace").replace(ROOT + "/", "")
    answers = []
    for line in text.splitlines():
        mark = re.search(r"@@@(\d+)$", line)
        if mark is not None:
            answers.append([])
            line = line[:mark.start()]
            if not line:
                continue
            answers[-2:-1][0].append(line)
        elif answers and not _HOST.match(line):
            answers[-1].append(line)
    if len(answers) != len(commands) + 1:
        raise Failure("gdb answered %d of %d commands:\n%s" % (len(answers), len(commands) + 1, text))
    return ["\n".join(answer).strip("\n") for answer in answers]


def comparable(line):
    """A line without what may vary: addresses, lines of sources, and figures of time and pass, which
    follow from what each kind of work costs. Their widths go with them."""
    line = re.sub(r"0x[0-9a-f]{4,}", "ADDRESS", line)
    line = re.sub(r"^\d+\t.*", "SOURCE", line)
    line = re.sub(r"(\.\./)+(?=\w)", "", line)  # a compiler cache may have made a source's path relative
    line = re.sub(r"(\.(?:h|cpp)):\d+", r"\1:LINE", line)
    line = re.sub(r"\bline \d+", "line LINE", line)
    line = re.sub(r"\b(process|record|entry|charged|in) \d+\b", r"\1 N", line)
    line = re.sub(r"\bvalue=\d+", "value=N", line)
    line = re.sub(r"[-+]?\b\d{4,}\b", "N", line)
    return re.sub(r"\s+", " ", line).strip()


def _blocks(text, markdown):
    """Line numbers that count, of a page."""
    lines = text.splitlines()
    inside = not markdown
    for number, line in enumerate(lines):
        if markdown and line.startswith("```"):
            inside = line == "```gdb"
            continue
        if inside and not line.startswith("#!"):
            yield number


class Page:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.lines = self.text.splitlines()
        self.steps = []  # [what is typed, first line of the answer, one past its last]
        last = None
        for number in _blocks(self.text, path.endswith(".md")):
            line = self.lines[number]
            if line.startswith((PROMPT, SHELL)):
                self.steps.append([line, number + 1, number + 1])
            elif not self.steps or number != last + 1:
                raise Failure("%s:%d: an answer to nothing" % (path, number + 1))
            else:
                self.steps[-1][2] = number + 1
            last = number
        if not self.steps or not self.steps[0][0].startswith(SHELL):
            raise Failure("%s: no session begins" % path)

    def answers(self, program):
        """What gdb says to each step."""
        out = []
        place = 0
        while place < len(self.steps):
            end = place + 1
            while end < len(self.steps) and self.steps[end][0].startswith(PROMPT):
                end += 1
            arguments = self.steps[place][0][len(SHELL):].split()
            commands = [step[0][len(PROMPT):] for step in self.steps[place + 1:end]]
            out += debug(program, arguments, commands)
            place = end
        return out

    def compare(self, program):
        for step, answer in zip(self.steps, self.answers(program)):
            shown = [comparable(line) for line in self.lines[step[1]:step[2]]]
            said = [comparable(line) for line in answer.splitlines()]
            if [line for line in shown if line] != [line for line in said if line]:
                raise Failure("%s: '%s' answered\n%s\nand not\n%s\n(if it should, run %s --accept)" % (
                    self.path, step[0], answer, "\n".join(self.lines[step[1]:step[2]]),
                    os.path.relpath(sys.argv[0], ROOT)))

    def accept(self, program):
        """Rewrites the page with what gdb says."""
        lines = list(self.lines)
        for step, answer in reversed(list(zip(self.steps, self.answers(program)))):
            lines[step[1]:step[2]] = answer.splitlines()
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
