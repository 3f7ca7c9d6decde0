#!/usr/bin/env python3
"""Counts what test runs did, and says which tests failed.

usage: count_tests.py [--failed-steps N] LABEL=TESTLOG.JSON ...

Reads meson's testlog.json of each run. Where a test program speaks TAP its tests are counted one by
one, and what it said of one that failed is said again; else the program is one test. A program that
fails although all its tests passed, as under a sanitizer or after a crash in a fixture, is one more
failed test. Says which programs took the longest, too. The last line is plain: "N passed, N failed, N
skipped"; the exit status is 1 if anything failed or nothing ran.
"""
import argparse
import json
import re
import sys

TAP_LINE = re.compile(r"^(ok|not ok)\b[\s\d]*-?\s*(.*?)\s*(#\s*(SKIP|TODO)\b.*)?$", re.IGNORECASE)
LONGEST = 12  # as many are named
FAILURES = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}


class Count:
    """How many tests passed and were skipped, and the names of those that failed."""

    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failed = []
        self.seconds = []

    def add_entry(self, label, entry):
        """One line of testlog.json, which is one test program."""
        name = f"{label}: {entry['name'].split(':', 1)[-1].strip()}"
        result = entry["result"].replace(" ", "").upper()
        before = len(self.failed)
        if "duration" in entry:
            self.seconds.append((entry["duration"], name))
        if not self.add_tap(name, entry.get("stdout") or ""):
            if result == "SKIP":
                self.skipped += 1
            elif result in ("OK", "EXPECTEDFAIL"):
                self.passed += 1
        if result in FAILURES and len(self.failed) == before:
            status = entry.get("returncode")
            self.failed.append(f"{name} ({result.lower()}, exit status {status})")

    def add_tap(self, name, text):
        """The tests of a program that speaks TAP; whether it does."""
        if not re.search(r"^(TAP version|1\.\.\d+)", text, re.MULTILINE):
            return False
        failed = False
        for line in text.splitlines():
            match = TAP_LINE.match(line)
            if not match:
                if failed and line.startswith("#") and line.strip("# "):
                    self.failed[-1] += f"; {line.strip('# ')}"
                continue
            failed = match.group(1).lower() != "ok" and not match.group(4)
            if match.group(4):
                self.skipped += 1
            elif match.group(1).lower() == "ok":
                self.passed += 1
            else:
                self.failed.append(f"{name}: {match.group(2)}")
        return True


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--failed-steps", type=int, default=0,
                        help="steps that failed before there was a log, such as a build")
    parser.add_argument("logs", nargs="*", metavar="LABEL=TESTLOG.JSON")
    options = parser.parse_args(arguments)
    count = Count()
    for log in options.logs:
        label, path = log.split("=", 1)
        with open(path, encoding="utf-8") as file:
            for line in file:
                count.add_entry(label, json.loads(line))
    longest = sorted(count.seconds, reverse=True)[:LONGEST]
    if longest:
        print("longest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in longest))
    for name in count.failed:
        print(f"failed: {name}")
    failed = len(count.failed) + options.failed_steps
    print(f"{count.passed} passed, {failed} failed, {count.skipped} skipped")
    return 1 if failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
