"""What a tunable is worth: scripts/bench --sweep OPTION [VALUE...].

Each value is measured by the benchmark that shows the option, in runs that alternate between the values,
and drawn as a bar beside its ratio to the default. The programs take the value by --set OPTION=VALUE, so
that one build serves all. A new tunable is an entry in SWEEPS, or in UNSWEPT with the reason.
"""

from dataclasses import dataclass
from pathlib import Path

import check_options
from bench_datagrams import gyre_options, measure_udp
from bench_nodes import free_ports
from bench_nodes import seconds as node_seconds
from bench_servers import Tcp, measure_server
from benchlib import (BenchError, Case, Metric, Progress, Variant, measure_program, number, run_case,
                      summarize_runs)

ROOT = Path(__file__).resolve().parent.parent
BAR_COLUMNS = 40
BLOCK = "#"


@dataclass(frozen=True)
class Rig:
    """A benchmark: what it is called, how a value is measured, and the metrics that are drawn."""

    name: str
    measure: object  # of the words --set OPTION=VALUE, a way to measure
    metrics: tuple
    program: str


def actors(name, program, full_count, count_option, options, metrics):
    def measure(words):
        def run(settings):
            return measure_program(program, *options, count_option, settings.count(full_count),
                                   *words)(settings)

        return run

    return Rig(name, measure, metrics, program)


def echo(name, connections, size, depth, metrics, server=(), load=()):
    def measure(words):
        return measure_server(
            "apps/gyre-echo",
            lambda place: ["--bind", place.gyre, "--loops", 1, "--cpus", 0, "--summary", *server, *words], Tcp,
            "perf/load", ["--connections", connections, "--size", size, "--depth", depth, *load])

    return Rig(name, measure, metrics, "apps/gyre-echo")


def datagrams(words):
    return measure_udp("apps/gyre-echo", lambda port: [*gyre_options(port), *words],
                       ["--senders", 10, "--size", 1400, "--depth", 32, "--batch"])


def nodes(words):
    def run(settings):
        return measure_program("perf/nodes", "--outstanding", 1000, "--port", free_ports(2),
                               "--seconds", node_seconds(settings), "--pin", *words)(settings)

    return run


ASKS = (Metric("asks_per_s", "round trips/s"),)
HOPS = (Metric("hops_per_s", "hops/s"),)
SERVED = (Metric("requests_per_s", "requests/s"),
          Metric("server_cpu_ns_per_request", "ns server CPU/request"),
          Metric("p99_ns", "p99, µs", 1e-3))
RING = actors("a ring of 100 actors, 1,024 tokens, one loop", "perf/ring", 100_000_000, "--hops",
              ["--actors", 100, "--messages", 1024, "--cpus", 0], HOPS)
TOGETHER = actors("a ring of 100 actors, all on one of two loops", "perf/ring", 20_000_000, "--hops",
                  ["--actors", 100, "--messages", 1024, "--loops", 2, "--cpus", "0,1", "--together"], HOPS)
ASK = actors("ask and reply, 1,000 outstanding, one loop", "perf/ask", 20_000_000, "--asks",
             ["--outstanding", 1000, "--cpus", 0], ASKS)
NODES = Rig("asks of two nodes, 1,000 outstanding", nodes,
            (Metric("asks_per_s", "asks/s"), Metric("cpu_ns_per_ask", "ns of CPU/ask")), "perf/nodes")
UDP = Rig("UDP echo, 10 senders, 1,400 bytes, 32 as one", datagrams,
          (Metric("datagrams_per_s", "datagrams/s"),
           Metric("server_cpu_ns_per_datagram", "ns server CPU/datagram")), "apps/gyre-echo")
ONE = echo("TCP echo, 1 connection, 64 bytes, depth 1", 1, 64, 1, SERVED)
SMALL = echo("TCP echo, 500 connections, 64 bytes, depth 1", 500, 64, 1, SERVED)
PACED = echo("TCP echo, 50 connections, 64 bytes, 80,000 requests a second, no spinning", 50, 64, 1,
             (*SERVED, Metric("p50_ns", "p50, µs", 1e-3)), ["--spin", "never"], ["--rate", 80_000])
LARGE = echo("TCP echo, 50 connections, 16 KiB, depth 16", 50, 16384, 16, SERVED)

# The benchmark that shows an option, and the values it is worth trying beside the default.
SWEEPS = {
    "buffer_bytes": (LARGE, ["2048", "4096", "16384", "65536"]),
    "buffer_count": (LARGE, ["64", "256", "1024", "4096"]),
    "channel_bytes_max": (LARGE, ["0", "16777216", "1048576"]),
    "datagram_buffer_bytes": (UDP, ["2048", "16384", "65536"]),
    "datagram_buffer_count": (UDP, ["16", "64", "128", "512"]),
    "engine": (SMALL, ["io_uring", "epoll"]),
    "high_replies": (ASK, ["1", "2", "64", "1000"]),
    "io_ratio": (NODES, ["10", "50", "90"]),
    "min_budget_ns": (NODES, ["10000", "100000", "500000", "5000000"]),
    "min_wait_ns": (PACED, ["-1", "50000", "100000", "200000"]),
    "receive_buffers": (SMALL, ["shared", "whole"]),
    "ring_entries": (SMALL, ["64", "256", "1024", "4096"]),
    "run_budget": (RING, ["1", "4", "16", "64", "256", "1024"]),
    "spin_ns": (ONE, ["-2", "-1", "10000", "100000"]),
    "starvation_limit": (ASK, ["1", "8", "64", "512"]),
    "steal_aggression": (TOGETHER, ["1", "32", "128", "1024"]),
    "steal_floor": (TOGETHER, ["1", "8", "32", "128"]),
    "timer_tick_ns": (SMALL, ["100000", "1000000", "10000000"]),
    "write_high_bytes": (LARGE, ["65536", "131072", "262144", "1048576"]),
    "write_low_bytes": (LARGE, ["1024", "16384", "65536", "262144"]),
    "write_max_bytes": (LARGE, ["524288", "1048576", "8388608"]),
    "zero_copy_bytes": (LARGE, ["-1", "16384", "65536"]),
}

UNSWEPT = {
    "ask_timeout_ns": "it decides when an ask fails, and costs nothing",
    "drain_timeout_ns": "it decides when a stop cuts channels off, and costs nothing",
    "high_events": "no benchmark has an actor that gets many events while it waits for answers",
    "linger_ns": "it decides when a slow peer is given up, and costs nothing",
    "log_buffer_bytes": "it decides which lines are lost while the hook is slow, and costs nothing",
    "log_lines_max": "it decides which lines of a program are dropped, and no benchmark logs",
    "loops": "scripts/bench ring ask fanin has cases of one loop and of two",
    "loops_max": "it sizes some tables, and costs no time",
    "memory_limit_bytes": "test/system/overload_test.py shows what a limit does",
    "offload_queue_max": "it decides what is refused, and costs nothing",
    "offload_threads": "the work of your program decides it, and no benchmark here has any",
    "stall_ns": "scripts/bench inspect shows what the watchdog costs",
}


def refuse_value(option, text):
    """Raises BenchError unless @text is a value of @option."""
    if option.kind == "combo":
        if text not in option.choices:
            raise BenchError(f"{option.name} is one of {', '.join(option.choices)}, not {text}")
        return
    try:
        value = int(text)
    except ValueError:
        raise BenchError(f"{option.name} is a number, not {text}") from None
    if not option.low <= value <= option.high:
        raise BenchError(f"{option.name} is {option.low} to {option.high}, not {value}")


def options_of_tree():
    text = (ROOT / check_options.OPTIONS).read_text(encoding="utf-8")
    return {option.name: option for option in check_options.parse_options(text)}


def parse(words, options):
    """@words are OPTION [VALUE...]: the option, and its values in their order with the default."""
    name = words[0]
    if name in UNSWEPT:
        raise BenchError(f"{name} is not measured: {UNSWEPT[name]}")
    if name not in SWEEPS or name not in options:
        raise BenchError(f"{name} is no tunable; there are {', '.join(sorted(SWEEPS))}")
    option = options[name]
    values = [part.replace("_", "") for word in words[1:] for part in word.split(",") if part]
    for value in values:
        refuse_value(option, value)
    values = values or list(SWEEPS[name][1])
    default = str(option.default)
    if default not in values:
        values.append(default)
    values = list(dict.fromkeys(values))
    return option, values if option.kind == "combo" else sorted(values, key=int)


def draw(metric, medians, default):
    """Lines of a chart: a bar for each value, as long as its median. @medians is value -> median."""
    most = max(medians.values())
    base = medians.get(default)
    width = max(len(value) for value in medians) + 2
    lines = [f"  {metric.label}"]
    for value, median in medians.items():
        ratio = f"{median / base:.3f}" if base else "-"
        bar = BLOCK * max(1, round(BAR_COLUMNS * median / most)) if median > 0 else ""
        mark = "*" if value == default else " "
        lines.append(f"  {mark}{value:>{width}}{number(median * metric.scale):>10}{ratio:>8}  {bar}".rstrip())
    return lines


def sweep(words, settings):
    """Measures and prints. Returns the result in the form of benchlib.bench()."""
    option, values = parse(words, options_of_tree())
    rig = SWEEPS[option.name][0]
    default = str(option.default)
    case = Case("sweep", f"{option.name}, {rig.name}",
                [Variant(value, rig.program, rig.measure(["--set", f"{option.name}={value}"]))
                 for value in values], list(rig.metrics))
    print(f"\n{option.name}: {rig.name}\n  medians of {settings.runs} alternating runs, with the "
          f"ratio to the default (*), {default}", flush=True)
    progress = Progress([case], settings.runs)
    progress.begin_case()
    runs, failures = run_case(case, settings, progress)
    summaries = summarize_runs(case, runs)
    for metric in rig.metrics:
        medians = {name: summary[metric.key]["median"] for name, summary in summaries.items()
                   if metric.key in summary}
        if medians:
            print("\n".join(draw(metric, medians, default)))
    return {"question": "sweep", "case": case.name, "summaries": summaries, "targets": [], "runs": runs,
            "failures": failures}
