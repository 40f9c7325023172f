#!/usr/bin/env python3
"""Plants each fault of core/planted.h in a hosted kernel and requires that a case rejects it.

usage: plant.py row|rule --root DIR --testbench FILE --planted FILE --list FILE

row: each row of the payer table goes to a wrong payer; rule: each rule of the scheduler that only a
whole kernel shows is removed (tests/differential removes the others).
The probes below run in order until one fails by a check, a share or a figure; the unbroken build must
pass them all. A run that crashes or is not judged catches nothing. The last line is
`rows moved, caught N of N` or `rules removed, caught N of N`.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Cases and harts, those that show most first.
PROBES = [
    ("sched-timer-flood", 1),
    ("sched-random", 2),
    ("sched-random", 1),
    ("deadline-flood", 1),
    ("sched-timer-flood", 2),
    ("sched-exit-churn", 1),
    ("sched-round-robin", 1),
    ("sched-wake-no-preempt", 1),
    ("sched-ties", 1),
    ("sched-capped", 3),
    ("sched-capped", 2),
    ("sched-carve-return", 1),
    ("sched-sleep-gaming", 1),
    ("sched-idle-gap", 2),
    ("sched-irq-wake", 1),
    ("irq-harts-lost", 2),
    ("smp-shootdown", 2),
    ("sched-zero-billing", 2),
]

# What a failure is called when the run itself, not the kernel's decisions, was found wrong.
NOT_JUDGED = {"run", "console", "trace", "case"}


def tree(arguments, folder):
    """A tree in which the bench finds the planted kernel where it looks for the hosted one."""
    port = folder / "build" / "hosted-checked" / "port-hosted"
    port.mkdir(parents=True)
    (folder / "tests").symlink_to(arguments.root / "tests")
    (port / "ravelin-hosted-run").symlink_to(arguments.planted)
    return folder


def failures(arguments, root, fault, case, harts):
    """Runs a case. Returns (passed, the checks that rejected it with what they found, why)."""
    environment = dict(os.environ)
    environment.pop("RAVELIN_PLANT", None)
    if fault:
        environment["RAVELIN_PLANT"] = fault
    result = root / "result.json"
    result.unlink(missing_ok=True)
    subprocess.run(
        [arguments.testbench, "run", "--root", root, case, "--harts", str(harts), "--json", result],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
        check=False)
    if not result.exists():
        return False, {}, "the bench wrote no result"
    outcome = json.loads(result.read_text())["results"][0]
    if outcome["verdict"] == "pass":
        return True, {}, ""
    found = {}
    for failure in outcome["failures"]:
        if failure["check"] not in NOT_JUDGED:
            found.setdefault(failure["check"], failure["reason"])
    return False, found, outcome["reason"]


def judge(arguments, root, fault, case, harts):
    """Runs a case. Returns (passed, the first check that rejected it or "", why)."""
    passed, found, why = failures(arguments, root, fault, case, harts)
    for check, reason in found.items():
        return False, check, reason
    return passed, "", why


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["row", "rule"])
    for name in ("root", "testbench", "planted", "list"):
        parser.add_argument("--" + name, required=True, type=lambda path: pathlib.Path(path).resolve())
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.list], capture_output=True, text=True, check=True).stdout
    faults = [line.split()[1] for line in listed.splitlines() if line.split()[0] == arguments.kind]
    with tempfile.TemporaryDirectory() as folder:
        root = tree(arguments, pathlib.Path(folder))
        for case, harts in PROBES:
            passed, check, why = judge(arguments, root, "", case, harts)
            if not passed:
                print(f"with no fault {case} at {harts} harts fails: {check} {why}")
                return 1
        caught = 0
        for fault in faults:
            other = ""
            for case, harts in PROBES:
                passed, check, why = judge(arguments, root, fault, case, harts)
                if check:
                    caught += 1
                    print(f"{fault}: {case} at {harts} harts, {check}: {why}")
                    break
                if not passed:
                    other = f" ({case} at {harts} harts ended otherwise: {why})"
            else:
                print(f"{fault}: MISSED{other}")
        done = "rows moved" if arguments.kind == "row" else "rules removed"
        print(f"{done}, caught {caught} of {len(faults)}")
        return 0 if faults and caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
