#!/usr/bin/env python3
"""The state machine of gyre-coffee: every customer is served, in order, whatever the machine has to do first."""
import os
import re
import subprocess
import sys

PROGRAM = os.path.join(os.environ["GYRE_BUILD"], "apps", "gyre-coffee")


def run(*arguments):
    result = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, timeout=60, check=False)
    return result.returncode, result.stdout, result.stderr


def expect(condition, what):
    if not condition:
        sys.exit(f"coffee_test: {what}")


def test_everybody_is_served_in_order():
    status, output, errors = run("12")
    expect(status == 0, f"status {status}: {errors}")
    served = re.findall(r"customer (\d+): got cup (\d+)", output)
    expect(served == [(str(i), str(i)) for i in range(1, 13)], output)
    expect(output.startswith("machine: heating up\nmachine: ready\nmachine: out of beans\n"), output)
    expect(re.search(r"12 cups, 3 refills, [1-9]\d* times asleep\n$", output) is not None, output)


def test_a_wrong_argument_is_refused():
    for arguments in (("none",), ("0",), ("1", "2"), ("100001",)):
        status, output, errors = run(*arguments)
        expect(status == 1 and output == "", f"{arguments}: {status} {output}")
        expect(errors.count("\n") == 1 and errors.startswith("usage:"), errors)


if __name__ == "__main__":
    test_everybody_is_served_in_order()
    test_a_wrong_argument_is_refused()
