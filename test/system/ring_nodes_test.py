#!/usr/bin/env python3
"""scripts/ring-nodes: ten processes pass tokens round, the first says how fast, and none of them is
left, whether they end by themselves, are interrupted, or one of them ends before its time."""
import json
import os
import re
import signal
import socket
import subprocess

from echo_support import BUILD, PATIENCE_S, expect, fail, select_nothing, takes_signals

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "ring-nodes")
RING = os.path.join(BUILD, "apps", "gyre-ring")
PORTS = range(30000, 32700, 16)  # below those that the kernel gives to whoever asks for any, and no other test's


def free_ports(count):
    """The first of so many in a row that nobody has."""
    first = os.getpid() % len(PORTS)
    for base in [*PORTS[first:], *PORTS[:first]]:
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return base
        except OSError:
            pass
    return fail("no free ports")


class Ring:
    """A running script, in a process group of its own, as a terminal would have it."""

    def __init__(self, nodes, *options, base_port=None):
        self.process = subprocess.Popen(
            [SCRIPT, str(nodes), "--base-port", str(base_port or free_ports(nodes)), *options],
            env={**os.environ, "GYRE_RING": RING}, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def members(self):
        """Its processes that are a gyre-ring."""
        pids = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if (os.getpgid(int(pid)) == self.process.pid and
                        os.readlink(f"/proc/{pid}/exe") == os.path.realpath(RING)):
                    pids.append(int(pid))
            except OSError:
                pass  # it has just ended
        return pids

    def until_members(self, count):
        while len(self.members()) != count:
            expect(self.process.poll() is None, "it ended")
            select_nothing(0.02)

    def end(self, status):
        try:
            out, errors = self.process.communicate(timeout=2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            fail("it does not end")
        expect(self.process.returncode == status, f"exit {self.process.returncode}: {errors}")
        expect(not self.members(), f"{self.members()} are left")
        return out, errors


def measures():
    out, errors = Ring(10, "--messages", "64", "--seconds", "1").end(0)
    match = re.fullmatch(r"(\d+) laps/s, (\d+) hops/s, ([\d.]+) ns of CPU a hop, "
                         r"at most (\d+) KiB resident\n", out)
    expect(match, f"it said {out!r} {errors!r}")
    laps, hops, cpu_ns, resident = (float(number) for number in match.groups())
    # Both are rounded.
    expect(laps > 0 and abs(hops - 10 * laps) <= 10, f"{laps} laps and {hops} hops")
    expect(cpu_ns > 0 and resident > 0, out)


def measures_one_token_as_json():
    out, errors = Ring(3, "--messages", "1", "--payload", "1024", "--seconds", "1", "--json").end(0)
    numbers = json.loads(out)
    expect(set(numbers) == {"laps_per_s", "hops_per_s", "cpu_ns_per_hop", "resident_kib_max"},
           f"{out} {errors}")
    expect(numbers["laps_per_s"] > 0, out)


def passes_large_messages_under_a_secret():
    """Credit that comes beside much data is read in time, so that no token finds its link full."""
    out, errors = Ring(2, "--messages", "16", "--payload", "65536", "--seconds", "1", "--json",
                       "--secret", "known to both, and long enough").end(0)
    expect(json.loads(out)["laps_per_s"] > 0, f"{out} {errors}")


def interrupted(number, whole_group, status):
    """By Ctrl-C all are told; by others the script alone, and the nodes ignore what it was told."""
    ring = Ring(10, "--seconds", "600")
    ring.until_members(10)
    if whole_group:
        os.killpg(ring.process.pid, number)
    else:
        ring.process.send_signal(number)
    ring.end(status)


def node_of(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
        arguments = line.read().split("\0")
    # One that has just begun to be a gyre-ring may not show its arguments yet.
    return int(arguments[arguments.index("--node") + 1]) if "--node" in arguments else None


def one_ends_early(victim, number, how):
    ring = Ring(10, "--seconds", "600")
    ring.until_members(10)
    pid = None
    while pid is None:
        pid = next((pid for pid in ring.members() if node_of(pid) == victim), None)
    while not takes_signals(pid):
        select_nothing(0.02)
    os.kill(pid, number)
    out, errors = ring.end(1)
    expect(f"ring-nodes: node {victim} ended before its time: {how}\n" in errors, errors)
    expect(out == "", out)


def one_cannot_begin():
    """Another has the port of the fourth."""
    base = free_ports(10)
    with socket.socket() as other:
        other.bind(("127.0.0.1", base + 3))
        other.listen()
        _, errors = Ring(10, "--seconds", "600", base_port=base).end(1)
    expect("ring-nodes: node 4 ended before its time: status 1\n" in errors, errors)


def one_of_more_than_there_are():
    ran = subprocess.run([RING, "--node", "5", "--nodes", "2"], capture_output=True, text=True, check=False,
                         timeout=PATIENCE_S)
    expect(ran.returncode == 1 and ran.stderr == "gyre-ring: there is no node 5 of 2: --node is at most --nodes\n",
           f"exit {ran.returncode}: {ran.stderr}")


one_of_more_than_there_are()
measures()
measures_one_token_as_json()
passes_large_messages_under_a_secret()
interrupted(signal.SIGINT, True, 130)
interrupted(signal.SIGINT, False, 130)
interrupted(signal.SIGTERM, False, 143)
one_ends_early(5, signal.SIGKILL, "signal 9")
one_ends_early(1, signal.SIGKILL, "signal 9")
one_ends_early(10, signal.SIGTERM, "status 1")
one_cannot_begin()
