#!/usr/bin/env python3
"""Holds docs/claims.md to the cases, and runs its negatives.

usage: claims.py --root DIR --testbench FILE --planted FILE

Every case of a scheduling name stands in a table of docs/claims.md, every row names a case that exists,
the ports that its file gives and a check that its file asks for, and every negative is rejected by the
check it names. The last line is `negatives rejected N of N`.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import tomllib

import plant

PREFIXES = ("sched-", "smp-", "irq-", "deadline-", "idle-", "asid-", "all-together")
ALL_PORTS = ["hosted", "rv64", "rv32"]
NEGATIVE = re.compile(r"(\d+) harts?, `(\w+)`: (\w+)")


def rows(text):
    """The rows of all tables: claim, case, check, negative, ports."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "claim" and set(cells[0]) != {"-"}:
            yield number, cells


# Checks of every trace, whatever its case asks for.
EVERY_TRACE = {"wake_bound", "idle"}


def asked(case):
    """The checks that a case file asks for, and those that every trace is held to; without one, how it ends."""
    found = {word for word in ("share", "figure") if word in case}
    if not case.get("checked", True):
        return {"run"}
    return found | EVERY_TRACE | set(case.get("checks", {}))


def faults_of(row, case):
    """What is wrong with a row, negatives aside."""
    _, name, check, negative, ports = row
    if case is None:
        return [f"no case '{name}'"]
    wrong = []
    if check not in asked(case):
        wrong.append(f"{name} asks for no {check}")
    if ports.split(", ") != case.get("ports", ALL_PORTS):
        wrong.append(f"{name} runs on {', '.join(case.get('ports', ALL_PORTS))}")
    if not NEGATIVE.fullmatch(negative) and not negative.startswith("none: "):
        wrong.append(f"'{negative}' is neither a negative nor a reason for none")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "testbench", "planted"):
        parser.add_argument("--" + name, required=True, type=lambda path: pathlib.Path(path).resolve())
    arguments = parser.parse_args()
    files = {path.stem: path for path in (arguments.root / "tests" / "cases").glob("*.toml")}
    cases = {name: tomllib.loads(path.read_text()) for name, path in files.items()}
    table = list(rows((arguments.root / "docs" / "claims.md").read_text()))
    wrong = [f"docs/claims.md:{number}: {fault}"
             for number, row in table for fault in faults_of(row, cases.get(row[1]))]
    listed = {row[1] for _, row in table}
    wrong += [f"docs/claims.md: {name} stands in no table"
              for name in sorted(cases) if name.startswith(PREFIXES) and name not in listed]
    negatives = [(number, row[1], NEGATIVE.fullmatch(row[3])) for number, row in table]
    negatives = [entry for entry in negatives if entry[2]]
    rejected = 0
    with tempfile.TemporaryDirectory() as folder:
        root = plant.tree(arguments, pathlib.Path(folder))
        for number, case, negative in negatives:
            harts, fault, check = negative.groups()
            _, failures, why = plant.failures(arguments, root, fault, case, harts)
            if check in failures:
                rejected += 1
                print(f"{case} at {harts} harts, {fault}: {check}: {failures[check]}")
            else:
                wrong.append(f"docs/claims.md:{number}: {case} with {fault} is not rejected by "
                             f"{check}: {', '.join(failures) or why or 'it passes'}")
    print("\n".join(wrong))
    print(f"negatives rejected {rejected} of {len(negatives)}")
    return 1 if wrong or not negatives else 0


if __name__ == "__main__":
    sys.exit(main())
