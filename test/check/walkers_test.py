#!/usr/bin/env python3
"""Proves that each walker finds damage, and finds nothing where there is none.

The program test/check/walkers has the cases; GYRE_BUILD is the build folder that has it.
"""
import os
import subprocess
import sys
import unittest

import planted

PROGRAM = os.path.join(os.environ.get("GYRE_BUILD", "build"), "test", "check", "walkers")
SKIPPED = 77


def run(*arguments):
    ran = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    return ran.returncode, ran.stdout


class Walkers(unittest.TestCase):
    """One test a case, added below."""


def test_of(name):
    def test(self):
        status, output = run(name)
        if status == SKIPPED:
            self.skipTest("assertions are off")
        self.assertEqual((status, output), (0, ""))
        status, output = run(name, "damaged")
        self.assertEqual(status, -6, output)
        self.assertIn("gyre: assertion failed: ", output)
    return test


def main():
    status, output = run()
    if status not in (0, SKIPPED) or not output:
        print(f"Bail out! {PROGRAM} lists no cases")
        sys.exit(1)
    for name in output.splitlines():
        setattr(Walkers, "test_" + name, test_of(name))
    planted.main()


if __name__ == "__main__":
    main()
