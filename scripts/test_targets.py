#!/usr/bin/env python3
"""Says what to build for some of the tests, for meson's own target "all" builds the programs of every test.

usage: test_targets.py BUILD SUITE ...

Prints a line for each file that a configured build makes by default, or that a test of one of the suites
depends on: arguments for ninja. Prints nothing, which has ninja build all, when BUILD has no such test, or
none of meson's own descriptions.
"""
import json
import os
import sys


def load(build, name):
    try:
        with open(os.path.join(build, "meson-info", f"intro-{name}.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return []


def targets_of(build, suites):
    """The files, relative to @build, of what is to be built."""
    wanted = set()
    tests = [test for test in load(build, "tests")
             if {suite.split(":")[-1] for suite in test["suite"]} & set(suites)]
    for test in tests:
        wanted.update(test["depends"])
    files = []
    for target in load(build, "targets") if tests else []:
        if target["build_by_default"] or target["id"] in wanted:
            files += [os.path.relpath(name, os.path.realpath(build)) for name in target["filename"]]
    return files


def main(arguments):
    if len(arguments) < 2:
        print("usage: test_targets.py BUILD SUITE ...", file=sys.stderr)
        return 2
    for name in targets_of(arguments[0], arguments[1:]):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
