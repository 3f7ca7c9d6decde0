"""The questions of scripts/bench about nodes: a ring of processes, asks between two, large messages;
beside programs that move the same bytes over plain sockets.
"""

import secrets
import socket
import tempfile
from pathlib import Path

from benchlib import (GYRE, BenchError, Case, Metric, Target, Variant, finish, last_object,
                      measure_program, start)

RING_NODES = Path(__file__).resolve().parent / "ring-nodes"
PORTS_FROM = 20000  # below those that the kernel gives away
PORTS_TO = 32000
LARGE_BYTES = 65536
SECRET = secrets.token_hex(32)
UNIX = "over Unix sockets"


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_ports(count):
    """The first of @count ports in a row."""
    for base in range(PORTS_FROM, PORTS_TO, count):
        if all(is_free(base + i) for i in range(count)):
            return base
    raise BenchError(f"no {count} free ports in a row")


def seconds(settings):
    return 1 if settings.quick else 4


def over_unix(measure):
    """The same over Unix sockets, in a folder of their own: @measure takes the options that say so."""

    def run(settings):
        with tempfile.TemporaryDirectory(prefix="gyre-bench-") as folder:
            return measure("--sockets", folder)(settings)

    return run


def measure_ring(nodes, *options):
    def measure(settings):
        values = last_object(finish(start(settings, [
            "env", f"GYRE_RING={settings.path('apps/gyre-ring')}", RING_NODES, nodes,
            "--base-port", free_ports(nodes), "--seconds", seconds(settings), "--json",
            *options])))
        if not values:
            raise BenchError("the first node printed no JSON object")
        return values

    return measure


def ring_case(settings, name, nodes, options, targets=()):
    limit = measure_program("perf/limit/nodes", "--nodes", nodes, "--seconds", seconds(settings),
                            "--pin", *options)
    return Case("nodes", name,
                [Variant(GYRE, "apps/gyre-ring", measure_ring(nodes, *options)),
                 Variant(UNIX, "apps/gyre-ring",
                         over_unix(lambda *more: measure_ring(nodes, *options, *more))),
                 Variant("with a secret", "apps/gyre-ring",
                         measure_ring(nodes, *options, "--secret", SECRET)),
                 Variant("sockets", "perf/limit/nodes", limit)],
                [Metric("laps_per_s", "laps/s"), Metric("hops_per_s", "hops/s"),
                 Metric("cpu_ns_per_hop", "ns of CPU/hop"),
                 Metric("resident_kib_max", "KiB resident, the most")], list(targets))


def large_case(settings):
    case = ring_case(settings, "2 processes, 16 messages of 64 KiB", 2,
                     ["--messages", 16, "--payload", LARGE_BYTES])
    case.metrics[1] = Metric("hops_per_s", "MB/s", LARGE_BYTES / 1e6)
    return case


def ask_case(settings, outstanding):
    """Sockets send the bytes of an ask there and of its reply back: 12 that name a head, and 8 each."""

    def measure(*more):
        def run(settings):
            return measure_program("perf/nodes", "--outstanding", outstanding, "--port",
                                   free_ports(2), "--seconds", seconds(settings), "--pin",
                                   *more)(settings)

        return run

    def measure_limit(settings):
        values = measure_program("perf/limit/nodes", "--nodes", 2, "--messages", outstanding,
                                 "--payload", 16, "--seconds", seconds(settings),
                                 "--pin")(settings)
        return {"asks_per_s": values["laps_per_s"], "cpu_ns_per_ask": 2 * values["cpu_ns_per_hop"]}

    return Case("nodes", f"2 processes, asks outstanding: {outstanding:,}",
                [Variant(GYRE, "perf/nodes", measure()),
                 Variant(UNIX, "perf/nodes", over_unix(measure)),
                 Variant("with a secret", "perf/nodes", measure("--secret", SECRET)),
                 Variant("sockets", "perf/limit/nodes", measure_limit)],
                [Metric("asks_per_s", "asks/s"), Metric("cpu_ns_per_ask", "ns of CPU/ask")],
                [Target("asks_per_s", ">=", 0.6, "sockets")] if outstanding > 1 else [])


def head_case(settings, name, actors, types):
    """Beside messages of one type of one actor, of which all but the first have the head of the one before."""

    def measure(actors, types):
        def run(settings):
            return measure_program("perf/heads", "--actors", actors, "--types", types, "--port",
                                   free_ports(2), "--seconds", seconds(settings), "--pin")(settings)

        return run

    return Case("nodes", f"2 processes, notices, {name}",
                [Variant(GYRE, "perf/heads", measure(actors, types)),
                 Variant("one head", "perf/heads", measure(1, 1))],
                [Metric("messages_per_s", "messages/s"),
                 Metric("cpu_ns_per_message", "ns of CPU/message")],
                [Target("cpu_ns_per_message", "<=", 1.3, "one head")])


def node_cases(settings):
    def targets(*bounds):
        return [*(Target(*bound) for bound in bounds), Target("resident_kib_max", "<=", 20 * 1024)]

    return [
        ring_case(settings, "10 processes, 1,024 tokens of 0 bytes", 10, ["--payload", 0],
                  targets(("laps_per_s", ">=", 1.8e6), ("cpu_ns_per_hop", "<=", 80))),
        ring_case(settings, "10 processes, 1,024 tokens of 1,024 bytes", 10, ["--payload", 1024],
                  targets(("laps_per_s", ">=", 0.29e6), ("cpu_ns_per_hop", "<=", 700))),
        ring_case(settings, "10 processes, 1 token", 10, ["--messages", 1],
                  targets(("hops_per_s", ">=", 50e3))),
        ring_case(settings, "2 processes, 1,024 tokens of 0 bytes", 2, ["--payload", 0]),
        # gyre's CPU is that of plain links: encrypted ones may take 1.5 of it.
        ring_case(settings, "2 processes, 1,024 tokens of 1,024 bytes", 2, ["--payload", 1024],
                  [Target("cpu_ns_per_hop", ">=", 1 / 1.5, "with a secret")]),
        ask_case(settings, 1),
        ask_case(settings, 1000),
        head_case(settings, "two types in turn", 1, 2),
        head_case(settings, "of 8 actors to 8 others", 8, 1),
        head_case(settings, "of 256 actors to 256 others", 256, 1),
        head_case(settings, "1,024 types in turn", 1, 1024),
        head_case(settings, "4,096 types in turn, most with a whole head", 1, 4096),
        large_case(settings),
    ]
