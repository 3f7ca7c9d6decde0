"""What a message costs in instructions, counted by callgrind: scripts/bench --instructions.

Instructions do not depend on how busy the machine is, so they are held against figures that are kept
in the tree (perf/instructions.json): a case that has grown by more than TOLERANCE fails. A figure is
the slope between a short and a long run, so that setting up and ending do not count.

Each case is counted with libgyre.so as it is installed, and again with the static library, for a
second column.

Only functions of gyre count, and of these not what a turn of a loop does whether or not there is a
message: how often a loop goes round while it waits for another depends on chance. So a figure is what
a message passes through, and no system call is in it. Loops poll: valgrind 3.19 lets no other thread
run while one of them waits in io_uring_enter.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from benchlib import BenchError

# The programs that are linked with either form of the library.
SHARED = {"ring": "perf/ring-shared", "ask": "perf/ask-shared", "echo": "perf/echo-shared",
          "node": "perf/ring-shared"}
STATIC = {"ring": "perf/ring", "ask": "perf/ask", "echo": "apps/gyre-echo", "node": "apps/gyre-ring"}
KEPT = Path(__file__).resolve().parent.parent / "perf" / "instructions.json"
TOLERANCE = 0.02
# The most that a case is to take.
GATES = {"ring, 1,024 tokens": 125, "ring, 1 token": 200, "ask, 1 outstanding": 650,
         "ask, 1,000 outstanding": 450}
RUN_SECONDS_MAX = 300
UNITS_MIN = 1000
LONGER_MAX = 5  # times that a run is made twice as long
COUNTS_MAX = 3  # of a case that seems to have grown: load only adds to what threads share
POLLS = ("--spin", 1_000_000_000)
LISTENING = re.compile(r"listening on .*:(\d+)")
OWN = re.compile(r"/(libgyre[^/]*|gyre-[a-z]+|(ring|ask|echo)(-shared)?)$")

# What a loop does in each turn, or in a time: not for a message.
TURN = re.compile(r"^(gy_loop_(turn|park|trim_pools|quiescent|publish|unpublish|flush)|phase_io|"
                  r"wait_and_reap|run_loop|busy|"
                  r"gy_ring_(ready|reap|submit.*|has_prepared|wait.*)|enter|io_uring_.*|gy_wheel_.*|"
                  r"gy_clock_.*|gy_memory_usage_.*|gy_kernfile_.*|gy_memory_guard_.*|gy_stalls_.*|gy_text_.*|"
                  r"gy_watchdog_.*|gy_meter_.*|run_timed|gy_house_seal|ready|run|measure|beat|check_link|"
                  r"check_connection)$")
INBOX = "drain_inbox"  # looks in each turn, and takes what is there


@dataclass(frozen=True)
class Instructions:
    """A case: measure(settings, length) runs it and returns its profile; @unit is the function that
    runs once for each unit, or None where @length is their number."""

    name: str
    measure: Callable
    lengths: tuple
    unit: Optional[str] = None
    inbox: bool = False  # whether messages come from other threads


class Profile:
    """Instructions and calls by function, of one file that callgrind has written."""

    def __init__(self, path):
        self.own = {}
        self.calls = {}
        names = {"ob": {}, "fn": {}}
        function = callee = None
        is_own = after_calls = False
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                kind, _, rest = line.rstrip("\n").partition("=")
                if kind == "ob":
                    is_own = bool(OWN.search(self.resolve(names["ob"], rest)))
                elif kind == "cob":
                    self.resolve(names["ob"], rest)
                elif kind == "fn":
                    function = self.resolve(names["fn"], rest)
                elif kind == "cfn":
                    callee = self.resolve(names["fn"], rest)
                elif kind == "calls":
                    self.calls[callee] = self.calls.get(callee, 0) + int(rest.split()[0])
                    after_calls = True
                elif line[0] in "0123456789+-*":
                    if is_own and not after_calls:
                        self.own[function] = self.own.get(function, 0) + int(line.split()[1])
                    after_calls = False

    @staticmethod
    def resolve(names, text):
        """A name is written out where it stands first, and by its number from there on. What compilers
        append to it differs."""
        number, _, name = text.partition(" ")
        if name:
            names[number] = name if "/" in name else name.split("'")[0].split(".")[0]
        return names[number]


def callgrind(settings, output, program, *options):
    words = ["valgrind", "--tool=callgrind", "--fair-sched=yes", "--quiet",
             f"--callgrind-out-file={output}", settings.path(program), *options]
    return [str(word) for word in words]


def start(argv):
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process):
    try:
        output, _ = process.communicate(timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise BenchError(f"no end within {RUN_SECONDS_MAX} s") from None
    if process.returncode != 0:
        last = (output.strip().splitlines() or [""])[-1]
        raise BenchError(f"ended with {process.returncode}: {last}")


def profile_of(settings, words, drive):
    """Runs a program under callgrind while drive(process) does what it is to serve."""
    with tempfile.TemporaryDirectory(prefix="gyre-bench.") as folder:
        output = os.path.join(folder, "out")
        process = start(callgrind(settings, output, *words))
        try:
            drive(process)
            finish(process)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        return Profile(output)


def program(name, option, *options):
    """A way to measure a program that ends by itself; @option says how much it is to do."""

    def measure(settings, length):
        return profile_of(settings, [name, *options, option, length], lambda _: None)

    return measure


def port_of(server):
    """The port that the server says it listens on."""
    for line in server.stdout:
        match = LISTENING.search(line)
        if match:
            return int(match.group(1))
    raise BenchError("the server did not say where it listens")


def exchange(port, kind, depth, count):
    """@count requests of 64 bytes, @depth at once, each of them answered before the next ones go."""
    with socket.socket(socket.AF_INET, kind) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(RUN_SECONDS_MAX)
        request = bytes(64 * depth)
        for _ in range(count // depth):
            client.sendall(request)
            left = len(request)
            while left > 0:
                got = len(client.recv(left))
                if got == 0:
                    raise BenchError("the server closed the connection")
                left -= got


def echo(server_program, kind, address, depth):
    def measure(settings, length):
        def drive(server):
            exchange(port_of(server), kind, depth, length)
            server.send_signal(signal.SIGTERM)

        return profile_of(settings, [server_program, "--loops", 1, *POLLS, "--bind", address], drive)

    return measure


def free_ports():
    """The first of two, one after the other."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000, 2):
        try:
            for number in (port, port + 1):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue
    raise BenchError("no free ports")


def node_ring(node_program):
    """The first of two nodes, between which tokens go round for so many seconds."""

    def measure(settings, length):
        words = ["--nodes", 2, "--base-port", free_ports(), "--messages", 1, "--seconds", length, *POLLS]
        other = start([str(word) for word in [settings.path(node_program), *words, "--node", 2]])
        try:
            return profile_of(settings, [node_program, *words, "--node", 1], lambda _: None)
        finally:
            other.terminate()
            other.communicate()

    return measure


def cases(programs=None):
    """All cases, with the programs of one form of the library; without a word, of the shared one."""
    programs = SHARED if programs is None else programs
    ring, ask = programs["ring"], programs["ask"]
    return [
        Instructions("ring, 1,024 tokens", program(
            ring, "--hops", "--actors", 100, "--messages", 1024), (40_000, 140_000), "ring_notice"),
        Instructions("ring, 1 token", program(
            ring, "--hops", "--actors", 100, "--messages", 1), (20_000, 60_000), "ring_notice"),
        Instructions("ring over two loops, 1,024 tokens", program(
            ring, "--hops", "--actors", 100, "--messages", 1024, "--loops", 2, *POLLS),
            (40_000, 140_000), "ring_notice", inbox=True),
        Instructions("ask, 1 outstanding", program(
            ask, "--asks", "--outstanding", 1), (5_000, 15_000), "server_ask"),
        Instructions("ask, 1,000 outstanding", program(
            ask, "--asks", "--outstanding", 1000), (10_000, 30_000), "server_ask"),
        Instructions("echo, depth 1", echo(
            programs["echo"], socket.SOCK_STREAM, "tcp://127.0.0.1:0", 1), (500, 2_500)),
        Instructions("echo, depth 16", echo(
            programs["echo"], socket.SOCK_STREAM, "tcp://127.0.0.1:0", 16), (8_000, 40_000)),
        Instructions("datagram", echo(
            programs["echo"], socket.SOCK_DGRAM, "udp://127.0.0.1:0", 1), (500, 2_500)),
        Instructions("node hop", node_ring(programs["node"]), (1, 3), "member_notice"),
    ]


def profiles(case, settings):
    """A short run, a long one, and how many units lie between. A length in seconds is made longer on a
    machine that is too busy to do enough in it."""
    length = case.lengths[1]
    short = case.measure(settings, case.lengths[0])
    for _ in range(LONGER_MAX):
        long = case.measure(settings, length)
        if case.unit is None:
            return short, long, length - case.lengths[0]
        units = long.calls.get(case.unit, 0) - short.calls.get(case.unit, 0)
        if units >= UNITS_MIN:
            return short, long, units
        length *= 2
    raise BenchError(f"{case.name}: {case.unit} is called too seldom: {units} times more")


def count(case, settings):
    """Instructions a unit, by function."""
    short, long, units = profiles(case, settings)
    return {name: (own - short.own.get(name, 0)) / units for name, own in long.own.items()
            if not TURN.match(name) and (case.inbox or name != INBOX)}


def count_least(case, settings, kept):
    """The same, counted again while it is beyond what is kept. How many messages come at a time depends
    on load, and so does the part of each in what is done once for all of them; more work does not go
    away."""
    least = count(case, settings)
    for _ in range(COUNTS_MAX - 1):
        if kept is None or sum(least.values()) <= kept * (1 + TOLERANCE):
            break
        least = min(least, count(case, settings), key=lambda costs: sum(costs.values()))
    return least


def compiler_of(settings):
    """As it stands in what it has built: another one makes other instructions."""
    found = subprocess.run(["readelf", "-p", ".comment", settings.path("perf/ring")], check=True,
                           stdout=subprocess.PIPE, text=True)
    match = re.search(r"(GCC|clang)\D.*?(\d+\.\d+\.\d+)$", found.stdout, re.MULTILINE)
    if match is None:
        raise BenchError("perf/ring does not say which compiler has built it")
    return f"{match.group(1)} {match.group(2)}"


def report(case, costs, kept):
    """Prints what a unit costs; what to say if that is too much."""
    total = sum(costs.values())
    if kept is None:
        print(f"{case.name}: {total:.1f}, and none is kept", flush=True)
        return f"{case.name} is new: --keep"
    print(f"{case.name}: {total:.1f}, kept {kept:.1f}, {total / kept - 1:+.1%}", flush=True)
    if total <= kept * (1 + TOLERANCE):
        return None
    for name, cost in sorted(costs.items(), key=lambda item: -item[1]):
        if cost >= 0.1:
            print(f"    {cost:9.1f} {name}")
    return f"{case.name} has grown from {kept:.1f} to {total:.1f}"


def gates(settings):
    """How each case with a gate stands: its name, what it takes, the bound, and whether it is met."""
    if not shutil.which("valgrind"):
        raise BenchError("valgrind is missing: scripts/install-deps installs it")
    found = []
    for case in cases():
        if case.name in GATES:
            cost = sum(count(case, settings).values())
            found.append((case.name, cost, GATES[case.name], cost <= GATES[case.name]))
    return found


def count_all(settings, those, kept):
    """The figures of @those, and what to say of each beside what is kept."""
    figures, said = {}, []
    for case in those:
        costs = count_least(case, settings, kept.get(case.name))
        figures[case.name] = round(sum(costs.values()), 1)
        said.append(report(case, costs, kept.get(case.name)))
    return figures, said


def compare(settings, keep):
    """Counts all cases, and keeps the figures or holds them against those that are kept. Returns what
    to say of each that has grown."""
    if not shutil.which("valgrind"):
        raise BenchError("valgrind is missing: scripts/install-deps installs it")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    compiler = compiler_of(settings)
    if not keep and kept.get("compiler") != compiler:
        print(f"bench: the kept figures are of {kept.get('compiler')}, this build is of {compiler}: "
              "they are shown, and none fails")
    print("instructions of gyre a unit")
    figures, grown = count_all(settings, cases(), kept.get("figures", {}))
    print("the same with the static library")
    static, grown_static = count_all(settings, cases(STATIC), kept.get("static", {}))
    grown += grown_static
    if keep:
        new = {"compiler": compiler, "figures": figures, "static": static}
        KEPT.write_text(json.dumps(new, indent=2) + "\n", encoding="utf-8")
        print(f"kept in {KEPT.relative_to(KEPT.parent.parent)}")
    is_compared = not keep and kept.get("compiler") == compiler
    return [text for text in grown if text is not None] if is_compared else []
