#!/usr/bin/env python3
"""gyre-sim-shrink leaves the one loss of what a seed found, and says what is wrong with its arguments."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(os.environ.get("GYRE_BUILD", "."), "test", "system-sim-planted")
SHRINK = os.path.join(HERE, "..", "..", "apps", "sim_shrink.py")
FAILURE = "more is in the account"
SEEDS = 100
DECISIONS_MAX = 10


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def expect(holds, text):
    if not holds:
        raise SystemExit(f"failed: {text}")


def shrink(*words):
    return run(sys.executable, SHRINK, *words)


def find(decisions):
    """The first seed that finds the fault; its decisions are recorded."""
    for seed in range(1, SEEDS + 1):
        ran = run(PROGRAM, str(seed), "record", decisions)
        if ran.returncode == 1 and FAILURE in ran.stdout:
            return seed
    raise SystemExit(f"failed: none of {SEEDS} seeds has found the fault")


def count(path):
    with open(path, encoding="ascii") as file:
        return len(file.readlines())


def main():
    with tempfile.TemporaryDirectory() as folder:
        decisions = os.path.join(folder, "decisions")
        seed = find(decisions)
        ran = shrink("--like", FAILURE, decisions, PROGRAM, "0", "replay", "{}")
        expect(ran.returncode == 0, f"it has ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
        few = count(decisions + ".shrunk")
        expect(1 <= few <= DECISIONS_MAX, f"{few} decisions are left")
        again = run(PROGRAM, "0", "replay", decisions + ".shrunk")
        expect(again.returncode == 1 and FAILURE in again.stdout, "what is left does not fail")

        ran = shrink("--like", "other", decisions, PROGRAM, "0", "replay", "{}")
        expect(ran.returncode == 1 and "does not fail" in ran.stderr, f"of what does not fail: {ran.stderr}")
        ran = shrink(decisions, PROGRAM, "0")
        expect(ran.returncode == 2 and "no {}" in ran.stderr, f"without a place for the file: {ran.stderr}")
        ran = shrink(decisions + ".none", PROGRAM, "0", "replay", "{}")
        expect(ran.returncode == 1 and "No such file" in ran.stderr, f"without a file: {ran.stderr}")
        print(f"seed {seed} finds the fault, of whose {count(decisions)} decisions {few} are left")


if __name__ == "__main__":
    main()
