#!/usr/bin/env python3
"""Leaves out of a simulation's decisions what a failure does not need.

usage: gyre-sim-shrink [--like TEXT] [--seconds S] [--into FILE] DECISIONS COMMAND [ARGUMENT ...]

DECISIONS is a file that a simulation has recorded (gyre_sim_options, record). COMMAND replays such a
file, whose name stands in the place of each {} among its arguments, and fails where the failure is
there: it exits with a status other than 0, and with --like also prints TEXT. Those decisions that it
fails without are left out, in ever smaller parts, until each that is left is needed or S seconds (600)
are over. What is left is written to FILE, or to DECISIONS.shrunk.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time


class Shrinker:
    """Tries lists of decisions, the shortest of which that fails is kept."""

    def __init__(self, options, lines):
        self.options = options
        self.best = lines
        self.tries = 0
        self.end = time.monotonic() + options.seconds
        handle, self.path = tempfile.mkstemp(prefix="gyre-sim-")
        os.close(handle)

    def fails(self, lines):
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines(lines)
        command = [word.replace("{}", self.path) for word in self.options.command]
        # The first run takes as long as it takes; one that hangs with fewer decisions shows nothing.
        limit = None if self.tries == 0 else max(1.0, self.end - time.monotonic())
        self.tries += 1
        try:
            ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                                 timeout=limit)
        except subprocess.TimeoutExpired:
            return False
        return ran.returncode != 0 and (self.options.like is None
                                        or self.options.like in ran.stdout + ran.stderr)

    def is_over(self):
        return time.monotonic() >= self.end

    def keep(self, lines):
        """Whether fewer do as well; then they are the ones to go on with."""
        if len(lines) == len(self.best) or self.is_over() or not self.fails(lines):
            return False
        self.best = lines
        return True

    def cut_end(self):
        """The file is in the order of time: what comes after the failure is of no use."""
        low, high = 0, len(self.best)
        all_lines = self.best
        while low < high and not self.is_over():
            middle = (low + high) // 2
            if self.fails(all_lines[:middle]):
                self.best = all_lines[:middle]
                high = middle
            else:
                low = middle + 1

    def cut_kinds(self):
        """One kind alone often does; else all but one may."""
        kinds = sorted({line.split()[0] for line in self.best})
        for kind in kinds:
            if self.keep([line for line in self.best if line.split()[0] == kind]):
                return
        for kind in kinds:
            self.keep([line for line in self.best if line.split()[0] != kind])

    def cut_parts(self):
        """In each round parts of one size; those are halved until no single one can go."""
        size = max(1, len(self.best) // 2)
        while not self.is_over():
            before = len(self.best)
            at = 0
            while at < len(self.best):
                if not self.keep(self.best[:at] + self.best[at + size:]):
                    at += size
            if size > 1:
                size = (size + 1) // 2
            elif len(self.best) == before:
                return

    def shrink(self):
        if not self.fails(self.best):
            return False
        self.keep([])
        self.cut_kinds()
        self.cut_end()
        self.cut_parts()
        return True


def parse():
    parser = argparse.ArgumentParser(prog="gyre-sim-shrink", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--like", help="what a run that fails prints")
    parser.add_argument("--seconds", type=float, default=600, help="how long it may take (600)")
    parser.add_argument("--into", help="where the decisions that are left go")
    parser.add_argument("decisions")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not any("{}" in word for word in options.command):
        parser.error("no {} among the arguments of the command: it stands for the file that is replayed")
    return options


def main():
    options = parse()
    try:
        with open(options.decisions, encoding="ascii") as file:
            lines = file.readlines()
        shrinker = Shrinker(options, lines)
        try:
            shrunk = shrinker.shrink()
        finally:
            os.unlink(shrinker.path)
        if not shrunk:
            print(f"gyre-sim-shrink: {options.command[0]} does not fail with all decisions of "
                  f"{options.decisions}", file=sys.stderr)
            return 1
        into = options.into or options.decisions + ".shrunk"
        with open(into, "w", encoding="ascii") as file:
            file.writelines(shrinker.best)
    except OSError as error:
        print(f"gyre-sim-shrink: {error}", file=sys.stderr)
        return 1
    over = ", as the time was over" if shrinker.is_over() else ""
    print(f"{len(lines)} decisions shrunk to {len(shrinker.best)} in {shrinker.tries} runs{over}: {into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
