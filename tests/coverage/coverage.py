#!/usr/bin/env python3
"""Counts the branches of core/stride and core/sched that tests take, in a release build.

usage: coverage.py ROOT BUILD

BUILD is that of the preset hosted-coverage, with the programs of RUNS built. Every branch must be taken,
but for those that exceptions.txt lists: a line each, `file | source line | branches | why`. An entry that
does not fit what was found fails too. Prints the figure.
"""

import json
import pathlib
import subprocess
import sys

# The tests, and whole kernels under programs that do everything.
TESTS = [
    ["tests/unit/stride/stride"],
    ["tests/unit/kernel/kernel"],
    ["tests/differential/differential"],
    ["tests/differential/stride-properties"],
]
PROGRAMS = [
    ("sched-random", 1), ("sched-random", 2), ("sched-random", 4), ("sched-round-robin", 1),
    ("sched-exit-churn", 1), ("sched-exit-churn", 2), ("sched-timer-flood", 1), ("sched-ties", 1),
    ("sched-budget-churn", 2), ("sched-capped", 3), ("deadline-flood", 2),
]
ROOMS = ["core/stride/", "core/sched/"]


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    for test in TESTS:
        run([build / test[0], *test[1:]], root)
    kernel = build / "port-hosted" / "ravelin-hosted-run"
    for program, harts in PROGRAMS:
        for seed in (1, 2, 3):
            run([kernel, "--program", program, "--harts", str(harts), "--seed", str(seed)], root)

    report = build / "coverage.json"
    run(["gcovr", "--root", root, "--object-directory", build, "--json", report,
         "--exclude-unreachable-branches", "--exclude-throw-branches",
         *(word for room in ROOMS for word in ("--filter", str(root / room)))], build)
    allowed = {}
    for line in (root / "tests/coverage/exceptions.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            place, branches, why = (part.strip() for part in line.rsplit("|", 2))
            file, source = (part.strip() for part in place.split("|", 1))
            allowed[file, source] = (int(branches), why)

    total = taken = 0
    missing = {}
    for file in json.loads(report.read_text())["files"]:
        name = file["file"]
        lines = (root / name).read_text().splitlines()
        for line in file["lines"]:
            missed = sum(1 for branch in line["branches"] if branch["count"] == 0)
            total += len(line["branches"])
            taken += len(line["branches"]) - missed
            if missed:
                # A line that stands in several places counts them all.
                key = name, lines[line["line_number"] - 1].strip()
                missing[key] = missing.get(key, 0) + missed
    wrong = [f"{file}: {missed} branches not taken, {allowed.get((file, source), (0,))[0]} excepted: "
             f"{source}"
             for (file, source), missed in missing.items()
             if allowed.get((file, source), (0,))[0] != missed]
    wrong += [f"exceptions.txt: taken, or not there: {file}: {source}"
              for file, source in allowed if (file, source) not in missing]
    excepted = sum(count for count, _ in allowed.values())
    for line in wrong:
        print(line)
    print(f"branches of core/stride and core/sched: {taken} of {total} taken, {excepted} excepted")
    return 1 if wrong or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
