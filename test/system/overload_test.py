#!/usr/bin/env python3
"""A flood from outside that would take more memory than there is: the guard holds it back, and nothing is lost.

The same flood runs without the guard, and is over the limit then. The limit is a real one where a cgroup
of version 2 can be made, which kills who exceeds it; elsewhere it is the option memory_limit_bytes.
"""
import os
import re
import signal
import subprocess

from echo_support import BUILD, PATIENCE_S, SKIPPED, expect, skip

FLOOD = os.path.join(BUILD, "test", "system-flood")
CGROUPS = "/sys/fs/cgroup"
LIMIT_BYTES = 512 << 20
NOTICES = 270000  # of 4 KiB: a little more than twice the limit
NEVER = -1


class Cgroup:
    """A cgroup with a memory limit for one program; OSError where none can be had."""

    def __init__(self):
        with open(f"{CGROUPS}/cgroup.subtree_control", encoding="ascii") as control:
            if "memory" not in control.read().split():
                raise OSError("the memory controller is not on")
        self.path = f"{CGROUPS}/gyre-overload-test-{os.getpid()}"
        os.mkdir(self.path)
        try:
            self.write("memory.max", LIMIT_BYTES)
            if os.path.exists(f"{self.path}/memory.swap.max"):
                self.write("memory.swap.max", 0)
        except OSError:
            self.remove()
            raise

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def remove(self):
        os.rmdir(self.path)


def flood(limit_bytes, before=None):
    """Runs it; its exit status and what it said of itself."""
    ran = subprocess.run([FLOOD, str(limit_bytes), str(NOTICES)], capture_output=True, text=True,
                         timeout=3 * PATIENCE_S, check=False, preexec_fn=before)
    if ran.returncode == SKIPPED:
        skip("a sanitizer keeps what is freed")
    print(ran.stderr, end="")
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", ran.stdout)}
    return ran.returncode, numbers


def expect_all_handled(status, numbers):
    expect(status == 0, f"exit {status}")
    expect(numbers["handled"] == NOTICES and numbers["whole"] == 1, f"lost some: {numbers}")


def expect_guarded(status, numbers):
    expect_all_handled(status, numbers)
    expect(numbers["busy"] > 0 and numbers["delayed"] > 0, f"it was never busy: {numbers}")
    expect(numbers["peak_bytes"] <= LIMIT_BYTES, f"over {LIMIT_BYTES}: {numbers}")


def main():
    try:
        cgroup = Cgroup()
    except OSError as error:
        print(f"no cgroup of version 2 ({error}): the limit is an option")
        status, without = flood(NEVER)
        expect_all_handled(status, without)
        expect(without["peak_bytes"] > LIMIT_BYTES, f"no flood: {without}")
        status, guarded = flood(LIMIT_BYTES)
        expect_guarded(status, guarded)
        print(f"ok: without {without}, with the guard {guarded}")
        return
    try:
        status, without = flood(NEVER, cgroup.enter)
        expect(status == -signal.SIGKILL, f"not killed: {status} {without}")
        status, guarded = flood(0, cgroup.enter)
        expect_guarded(status, guarded)
        print(f"ok: killed without the guard, with it {guarded}")
    finally:
        cgroup.remove()


main()
