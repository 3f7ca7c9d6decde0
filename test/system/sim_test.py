#!/usr/bin/env python3
"""A program that links with libgyre-sim: the same seed gives the same run in each process, wherever its memory lies."""
import os
import platform
import subprocess

PROGRAM = os.path.join(os.environ.get("GYRE_BUILD", "."), "test", "system-sim-digest")
SEEDS = range(1, 21)
# Where everything lies at the same addresses, unlike elsewhere.
FIXED = ["setarch", platform.machine(), "--addr-no-randomize"]


def play(seed, *prefix):
    ran = subprocess.run([*prefix, PROGRAM, str(seed)], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"failed: seed {seed}: status {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def may_fix_addresses():
    """A sandbox may forbid it."""
    return subprocess.run([*FIXED, "true"], capture_output=True, check=False).returncode == 0


def main():
    prefix = FIXED if may_fix_addresses() else []
    seen = set()
    for seed in SEEDS:
        said = play(seed)
        again = play(seed, *prefix)
        if said != again:
            raise SystemExit(f"failed: seed {seed}: {said!r}, and in another process {again!r}")
        seen.add(said)
    if len(seen) != len(SEEDS):
        raise SystemExit(f"failed: {len(SEEDS)} seeds gave {len(seen)} runs")
    print(f"{len(SEEDS)} seeds gave the same in two processes each")


if __name__ == "__main__":
    main()
