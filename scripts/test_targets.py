#!/usr/bin/env python3
"""Says what to build for some of the tests, for meson's own target "all" builds the programs of every test.

usage: test_targets.py [--without FOLDER] ... BUILD TEST ...

A TEST is a suite, or SUITE/NAME. Prints a line for each file that a configured build makes by default, or
that one of these tests depends on: arguments for ninja. With --without, what the meson.build of FOLDER, of
the source, describes is not made by default; what those of folders in it describe is. Prints nothing, which
has ninja build all, when BUILD has no such test, or none of meson's own descriptions.
"""
import argparse
import json
import os
import sys


def load(build, name):
    try:
        with open(os.path.join(build, "meson-info", f"{name}.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return []


def is_chosen(test, chosen):
    """Whether a test is meant by one of @chosen: its suite, or its suite and its name."""
    for suite in test["suite"]:
        suite = suite.split(":")[-1]
        if suite in chosen or f"{suite}/{test['name']}" in chosen:
            return True
    return False


def targets_of(build, chosen, without):
    """The files, relative to @build, of what is to be built."""
    wanted = set()
    tests = [test for test in load(build, "intro-tests") if is_chosen(test, chosen)]
    for test in tests:
        wanted.update(test["depends"])
    if not tests:
        return []
    source = load(build, "meson-info")["directories"]["source"]
    files = []
    for target in load(build, "intro-targets"):
        folder = os.path.relpath(os.path.dirname(target["defined_in"]), source)
        by_default = target["build_by_default"] and folder not in without
        if by_default or target["id"] in wanted:
            files += [os.path.relpath(name, os.path.realpath(build)) for name in target["filename"]]
    return files


def main(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("build")
    parser.add_argument("chosen", nargs="+")
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args(arguments)
    for name in targets_of(options.build, set(options.chosen), options.without):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
