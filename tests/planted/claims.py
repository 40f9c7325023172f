#!/usr/bin/env python3
"""Holds docs/claims.md to the cases, and runs its negatives.

usage: claims.py --root DIR --testbench FILE --planted FILE

Every case of a scheduling name stands in a table of docs/claims.md, every row names a case that exists,
the ports that its file gives and a check that its file asks for, and every negative is rejected by the
check it names. Every case that judges shares keeps the gates of shares, or its miss stands in the table
of docs/LIMITS.md. Every case that keeps one hart stands in the table of those, and what stands in for it
does not. The last line is `negatives rejected N of N`.
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


# What every case that judges shares keeps; per 1000, of hart time or of what a victim is owed.
NOBODY = 5
LOCK_WAITS = 50
SHARE = 960
GROSS = 900


def listed(value):
    return value if isinstance(value, list) else [value]


def in_scope(rule, port, harts):
    return harts in listed(rule.get("harts", harts)) and port in rule.get("ports", [port])


def owed(case, budget, window, harts):
    """What water-filling owes a budget in a window, per 1000 of what all can use."""
    parties = {one["name"]: one for one in case["budget"]
               if one.get("weight") and window in listed(one.get("windows", window))}
    got, left, full = {}, harts, set()
    while True:
        weight = sum(one["weight"] for name, one in parties.items() if name not in full)
        over = [name for name, one in parties.items() if name not in full
                and left * one["weight"] > one.get("threads", 1) * weight]
        if not over:
            break
        for name in over:
            full.add(name)
            got[name] = parties[name].get("threads", 1)
            left -= got[name]
    for name, one in parties.items():
        if name not in full:
            got[name] = left * one["weight"] / weight
    return 1000 * got[budget] / sum(got.values())


def figure_kept(case, names, most, port, harts):
    return any(rule["name"] in names and rule["op"] == "at_most" and rule["target"] <= most
               and in_scope(rule, port, harts) for rule in case.get("figure", []))


def missed_gates(case, port, harts):
    """The gates that a case of shares does not ask for on that port with so many harts."""
    turns = "turns_" if port != "hosted" and harts > 1 else ""
    missed = set()
    if not figure_kept(case, {"nobody"}, NOBODY, port, harts):
        missed.add("nobody")
    if harts > 1 and not figure_kept(case, {"lock_waits", "lock_waits_held"}, LOCK_WAITS, port, harts):
        missed.add("lock waits")
    share_kept, gross_kept = {}, {}
    for rule in case["share"]:
        if rule.get("op") != "at_least":
            continue
        victim = rule["budget"], rule.get("window", 1)
        want = rule.get("want") or owed(case, *victim, harts)
        tolerance = rule.get(turns + "tolerance", rule.get("tolerance", 50))
        gross = rule.get(turns + "gross", rule.get("gross", GROSS))
        judged = in_scope(rule, port, harts)
        share_kept[victim] = share_kept.get(victim) or judged and want - tolerance >= int(want * SHARE / 1000)
        gross_kept[victim] = gross_kept.get(victim) or judged and gross >= GROSS
    if not all(share_kept.values()):
        missed.add("share")
    if not all(gross_kept.values()):
        missed.add("gross")
    return missed


LIMIT = re.compile(r"(nobody|lock waits|share|gross)")


def limits(text):
    """The rows of the table of missed gates: case, gate, ports, harts."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 7 and LIMIT.fullmatch(cells[1]):
            for port in cells[2].split(", "):
                for harts in cells[3].split(", "):
                    yield number, (cells[0], cells[1], port, int(harts))


def gate_faults(cases, text):
    """Gates of shares that a case misses and no row tells of, and rows of gates that are kept."""
    missed = {(name, gate, port, harts)
              for name, case in cases.items() if "share" in case and case.get("checked", True)
              for port in case.get("ports", ALL_PORTS) for harts in listed(case.get("harts", 1))
              for gate in missed_gates(case, port, harts)}
    told = {row: number for number, row in limits(text)}
    faults = [f"{name} misses the gate '{gate}' on {port} at {harts} harts, and docs/LIMITS.md does not say so"
              for name, gate, port, harts in sorted(missed - set(told))]
    return faults + [f"docs/LIMITS.md:{told[row]}: {row[0]} keeps the gate '{row[1]}' on {row[2]} at {row[3]} harts"
                     for row in sorted(set(told) - missed)]


def hart_counts(case):
    return listed(case.get("harts", 1))


def one_hart_faults(cases, text):
    """Cases that keep one hart and no row tells of, rows of others, and stand-ins of one hart."""
    told, faults = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] != "case" and set(cells[0]) != {"-"}:
            told[cells[0]] = number
            others = [word for word in re.findall(r"[\w-]+", cells[2]) if word in cases]
            if not any(max(hart_counts(cases[word])) > 1 for word in others):
                faults.append(f"docs/claims.md:{number}: nothing of several harts stands in for {cells[0]}")
    kept = {name for name, case in cases.items()
            if case.get("keep_harts") and hart_counts(case) == [1]}
    kept |= {name for name, case in cases.items() if name.startswith(PREFIXES) and hart_counts(case) == [1]}
    return (faults + [f"{name} stays at one hart, and docs/claims.md does not say why" for name in sorted(kept - set(told))]
            + [f"docs/claims.md:{told[name]}: {name} does not stay at one hart" for name in sorted(set(told) - kept)])


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
    in_table = {row[1] for _, row in table}
    wrong += [f"docs/claims.md: {name} stands in no table"
              for name in sorted(cases) if name.startswith(PREFIXES) and name not in in_table]
    wrong += gate_faults(cases, (arguments.root / "docs" / "LIMITS.md").read_text())
    wrong += one_hart_faults(cases, (arguments.root / "docs" / "claims.md").read_text())
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
