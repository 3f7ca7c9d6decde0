"""The question of scripts/bench about growth: what a message costs in CPU time where there are more loops,
actors, connections or nodes. Each case is measured beside its base, the case that it has grown from, in
alternating runs.
"""

from bench_nodes import measure_ring
from bench_servers import Tcp, gyre_echo_options, measure_server
from benchlib import GYRE, Case, Metric, Target, Variant, measure_program

BASE = "base"
PAIRS_BYTES_MAX = 32 << 20  # of all pairs of 64 loops together
COST = "cpu_ns_per_message"
METRICS = [Metric("messages_per_s", "messages/s"), Metric(COST, "ns of CPU/message")]


def called(measure, cost, rate):
    """A way to measure, with its cost and its rate under the names that all cases have."""

    def run(settings):
        values = measure(settings)
        return {COST: values[cost], "messages_per_s": values[rate]}

    return run


def grown(name, program, measure, size, base, bound=None):
    """A case of @size; measure(size) makes a way to measure. The base is a case too, beside nothing."""
    variants = [Variant(GYRE, program, measure(size))]
    targets = []
    if size != base:
        variants.append(Variant(BASE, program, measure(base)))
        if bound is not None:
            targets.append(Target(COST, "<=", bound, BASE))
    return Case("growth", name, variants, METRICS, targets)


def loop_cases(settings):
    def measure(*options):
        return lambda loops: measure_program("perf/growth", "--loops", loops, "--hops",
                                             settings.count(50_000_000), *options)

    apart = [grown(f"{loops} loops that work each on its own", "perf/growth", measure(), loops, 1,
                   1.25) for loops in (1, 2, 4, 8, 16, 32, 64)]
    cross = [grown(f"{loops} loops, each message changes loop", "perf/growth", measure("--cross"),
                   loops, 2) for loops in (2, 4, 8, 16, 32, 64)]
    return apart + cross + [pairs_case(settings)]


def pairs_case(settings):
    """What all loops take for each other, when each has mail for every other one."""
    metrics = [Metric("rss_bytes", "bytes resident"), Metric("mail_bytes", "bytes of mail"), *METRICS]
    measure = measure_program("perf/pairs", "--loops", 64, "--messages", settings.count(20_000_000))
    return Case("growth", "64 loops, all pairs talk, 64 messages at once",
                [Variant(GYRE, "perf/pairs", measure)], metrics,
                [Target("rss_bytes", "<=", PAIRS_BYTES_MAX)])


def actor_cases(settings):
    def measure(actors):
        return measure_program("perf/growth", "--loops", 1, "--cpus", 0, "--actors", actors, "--hops",
                               settings.count(50_000_000))

    return [grown(f"{actors:,} actors on one loop, 1,024 tokens", "perf/growth", measure, actors, 100)
            for actors in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)]


def connection_cases(_settings):
    def measure(connections):
        return called(measure_server("apps/gyre-echo", gyre_echo_options, Tcp, "perf/load",
                                     ["--connections", connections, "--size", 64, "--depth", 1]),
                      "server_cpu_ns_per_request", "requests_per_s")

    return [grown(f"{connections:,} connections, echo of 64 bytes", "apps/gyre-echo", measure,
                  connections, 100) for connections in (1, 10, 100, 1000, 10_000)]


def node_cases(_settings):
    def measure(nodes):
        return called(measure_ring(nodes, "--payload", 0), "cpu_ns_per_hop", "hops_per_s")

    return [grown(f"{nodes} nodes, each a process, 1,024 tokens of 0 bytes", "apps/gyre-ring", measure,
                  nodes, 2) for nodes in (2, 10, 30, 100)]


def growth_cases(settings):
    return [*loop_cases(settings), *actor_cases(settings), *connection_cases(settings),
            *node_cases(settings)]
