#!/usr/bin/env python3
"""Assertions: each floor of lib/ has enough of them, and each walker is known to find damage.

usage: check_assertions.py [--list] [ROOT]

Counts gy_assert(), gy_verify(), gy_walk(), _Static_assert() and calls of gy_assert_failed() in each floor. A
condition that only compares pointers with NULL states no invariant and does not count. A floor with
fewer than its minimum of LEAST in a thousand lines fails; --list shows the figures of all.

A walker is a function that gy_walk() calls. Each is to stand in a file of test/check/walkers/,
which damages the structure and has the walker find it.
"""
import os
import re
import sys

import csource

# Assertions in a thousand lines. The aim is 5 on every floor; a smaller figure only rises.
LEAST = {
    "base": 5.0,
    "ring": 5.0,
    "loop": 5.0,
    "actor": 5.0,
    "buffer": 5.0,
    "channel": 5.0,
    "net": 5.0,
    "remote": 5.0,
    "stream": 5.0,
    "system": 5.0,
    "sim": 2.0,
}
COUNTED = {"gy_assert", "gy_verify", "gy_walk", "_Static_assert", "static_assert",
           "gy_assert_failed"}
DEFINED_IN = {os.path.join("lib", "base", "assert.h"), os.path.join("lib", "base", "log.c")}
WALKERS = os.path.join("test", "check", "walkers")
WALKER = re.compile(r"^gy_\w+_check$")


def is_null_check(tokens):
    """Whether a condition is nothing but comparisons with NULL."""
    parts, current = [], []
    for token in tokens:
        if token.text in ("&&", "||"):
            parts.append(current)
            current = []
        else:
            current.append(token.text)
    return all("NULL" in part and ("==" in part or "!=" in part) for part in parts + [current])


def assertions(source):
    """Triples of line, name and tokens of the arguments of each call that counts."""
    tokens = source.code
    for i, token in enumerate(tokens[:-1]):
        if token.kind == "ident" and token.text in COUNTED and tokens[i + 1].text == "(":
            arguments = csource.split_arguments(tokens[i:], 1)
            flat = [t for group in arguments for t in group]
            if token.text not in ("gy_assert", "gy_verify") or not is_null_check(flat):
                yield token.line, token.text, flat


def check_walkers(root, walkers, problems):
    shown = set()
    for path in csource.find(root, [WALKERS], endings=(".c",)):
        shown.update(t.text for t in csource.load(root, path).code if t.kind == "ident")
    for name, (path, line) in walkers.items():
        if not WALKER.match(name):
            problems.append((path, line, f"the walker {name} is not named gy_..._check"))
        elif name not in shown:
            problems.append((path, line, f"{WALKERS}/ shows no damage that {name}() finds"))


def main(arguments):
    listed = "--list" in arguments
    root = csource.root_of([a for a in arguments if a != "--list"])
    lines, counts, walkers, problems = {}, {}, {}, []
    files = csource.find(root, ["lib"])
    for path in files:
        floor = path.split(os.sep)[1]
        source = csource.load(root, path)
        lines[floor] = lines.get(floor, 0) + source.text.count("\n")
        counts.setdefault(floor, 0)
        if path in DEFINED_IN:
            continue
        for line, name, tokens in assertions(source):
            counts[floor] += 1
            if name == "gy_walk" and tokens:
                walkers.setdefault(tokens[0].text, (path, line))
    for floor in sorted(counts, key=lambda f: list(LEAST).index(f) if f in LEAST else len(LEAST)):
        rate = 1000 * counts[floor] / max(lines[floor], 1)
        if listed:
            print(f"{floor:8} {counts[floor]:4} in {lines[floor]:6} lines: {rate:4.1f} in a thousand")
        if floor not in LEAST:
            problems.append((os.path.join("lib", floor), 0, "has no minimum in check_assertions.py"))
        elif rate < LEAST[floor]:
            problems.append((os.path.join("lib", floor), 0,
                             f"has {counts[floor]} assertions in {lines[floor]} lines, {rate:.1f} in a "
                             f"thousand; {LEAST[floor]} is the least"))
    check_walkers(root, walkers, problems)
    return csource.report("assertions", problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
