#!/usr/bin/env python3
"""Prints how much of each floor of the library tests have reached, from gcovr's JSON summary.

usage: print_coverage.py SUMMARY

SUMMARY is what `gcovr --json-summary` writes. A floor is a folder of lib/, and lib/ itself holds no
sources. A row is a floor: lines and branches that were reached, of all that there are, in per cent. A
floor under 90 % of lines is marked, and so are its five files that miss most. Exits 1 when
the summary has no file of the library: then the counters were not found.
"""
import collections
import json
import sys

WANTED_PERCENT = 90.0
FILES_SHOWN = 5


class Count:
    """Lines and branches, reached and in all."""

    def __init__(self):
        self.lines = self.lines_reached = self.branches = self.branches_reached = 0

    def add(self, file):
        self.lines += file["line_total"]
        self.lines_reached += file["line_covered"]
        self.branches += file["branch_total"]
        self.branches_reached += file["branch_covered"]

    def row(self, name):
        return (f"{name:<12}{self.lines_reached:>8}{self.lines:>8}{percent_text(self.lines_percent())}"
                f"{self.branches_reached:>10}{self.branches:>8}"
                f"{percent_text(percent(self.branches_reached, self.branches))}")

    def lines_percent(self):
        return percent(self.lines_reached, self.lines)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def percent_text(value):
    """Rounded down, so that 100.0 % means all."""
    return f"{int(value * 10) / 10:>7.1f} %"


def read(path):
    """For each floor its count, and each file's missing lines."""
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    floors, missing = collections.defaultdict(Count), collections.defaultdict(list)
    for entry in summary["files"]:
        parts = entry["filename"].split("/")
        if parts[0] == "lib" and len(parts) > 2:
            floors[parts[1]].add(entry)
            left = entry["line_total"] - entry["line_covered"]
            missing[parts[1]].append((-left, entry["filename"]))
    return floors, missing


def main(arguments):
    if len(arguments) != 1:
        print("usage: print_coverage.py SUMMARY", file=sys.stderr)
        return 2
    floors, missing = read(arguments[0])
    if not floors:
        print("coverage: no file of lib/ was counted")
        return 1
    print(f"{'floor':<12}{'lines':>8}{'of':>8}{'':>9}{'branches':>10}{'of':>8}")
    whole = Count()
    for name in sorted(floors):
        floor = floors[name]
        low = floor.lines_percent() < WANTED_PERCENT
        print(floor.row(name) + (f"  under {WANTED_PERCENT:.0f} %" if low else ""))
        for left, path in sorted(missing[name])[:FILES_SHOWN] if low else []:
            print(f"    {-left} lines of {path}")
        for field in ("lines", "lines_reached", "branches", "branches_reached"):
            setattr(whole, field, getattr(whole, field) + getattr(floor, field))
    print(whole.row("all"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
