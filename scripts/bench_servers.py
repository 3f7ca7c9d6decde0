"""The questions of scripts/bench about servers: echo, beside limit programs and other libraries."""

import signal
import socket
import time

from benchlib import GYRE, BenchError, Case, Metric, Target, Variant, finish, last_object, start

START_SECONDS_MAX = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_served(server, port):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if server.poll() is not None:
            finish(server)
            raise BenchError("the server ended before it served")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise BenchError(f"the server did not listen within {START_SECONDS_MAX} s")


def stop(server):
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    return finish(server)


def load_options(settings, connections, size, depth):
    return ["--connections", connections, "--size", size, "--depth", depth, "--cpu", 1,
            "--duration", 1 if settings.quick else 4, "--warmup", 0.3 if settings.quick else 1]


def measure_echo(program, server_options, connections, size, depth):
    """A way to measure: the server on CPU 0, the load on CPU 1, and what both say."""

    def measure(settings):
        port = free_port()
        server = start(settings, [settings.path(program), *server_options(port)])
        try:
            wait_until_served(server, port)
            values = last_object(finish(start(settings, [
                settings.path("perf/load"), "--port", port, "--server-pid", server.pid, "--json",
                *load_options(settings, connections, size, depth)])))
            summary = last_object(stop(server))
        finally:
            server.kill()
            server.wait()
        calls = summary.get("system_calls", summary.get("io_uring_enters"))
        if calls is not None and values.get("requests_total"):
            values["system_calls_per_request"] = calls / values["requests_total"]
        return values

    return measure


def gyre_echo_options(port):
    # The others sleep when they have nothing to do; what polling costs and gains is another question.
    return ["--bind", f"tcp://127.0.0.1:{port}", "--loops", 1, "--cpus", 0, "--summary",
            "--spin", "never"]


def limit_echo_options(port):
    return ["--port", port, "--cpu", 0]


ECHO_SERVERS = [
    (GYRE, "apps/gyre-echo", gyre_echo_options),
    ("io_uring", "perf/limit/echo_uring", limit_echo_options),
    ("epoll", "perf/limit/echo_epoll", limit_echo_options),
]

ECHO_METRICS = [
    Metric("requests_per_s", "requests/s"),
    Metric("p50_ns", "p50, µs", 1e-3),
    Metric("p99_ns", "p99, µs", 1e-3),
    Metric("p999_ns", "p99.9, µs", 1e-3),
    Metric("max_ns", "max, µs", 1e-3),
    Metric("server_cpu_ns_per_request", "ns server CPU/request"),
    Metric("server_user_ns_per_request", "ns user CPU/request"),
    Metric("system_calls_per_request", "system calls/request"),
    Metric("server_busy_share", "server's share of its CPU"),
]


def echo_case(connections, size, depth):
    targets = [
        Target("requests_per_s", ">=", 0.95, "io_uring"),
        Target("requests_per_s", ">=", 1, "epoll"),
        Target("server_user_ns_per_request", "<=", 1.5, "io_uring"),
    ]
    if connections >= 500:
        targets.append(Target("system_calls_per_request", "<=", 0.1))
    variants = [
        Variant(name, program, measure_echo(program, options, connections, size, depth))
        for name, program, options in ECHO_SERVERS
    ]
    return Case("echo", f"{connections} connections, {size} bytes, depth {depth}", variants,
                ECHO_METRICS, targets)


def echo_cases(settings):
    sizes = [64, 1024, 16384] if settings.full else [64]
    return [echo_case(connections, size, depth)
            for size in sizes for connections in (50, 500) for depth in (1, 16)]
