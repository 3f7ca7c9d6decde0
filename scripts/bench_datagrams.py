"""The questions of scripts/bench about datagrams: UDP echo, beside a limit program and libuv."""

import socket
import time

from bench_servers import START_SECONDS_MAX, free_port, stop
from benchlib import GYRE, BenchError, Case, Metric, Target, Variant, finish, last_object, start


def wait_for_datagrams(server, port):
    end = time.monotonic() + START_SECONDS_MAX
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.settimeout(0.02)
        probe.connect(("127.0.0.1", port))
        while time.monotonic() < end:
            if server.poll() is not None:
                finish(server)
                raise BenchError("the server ended before it served")
            try:
                probe.send(b"x")
                probe.recv(1)
                return
            except OSError:
                time.sleep(0.02)
    raise BenchError(f"the server did not answer within {START_SECONDS_MAX} s")


def measure_udp(program, server_options, load):
    """A way to measure: the server on CPU 0, the load on CPU 1, and what both say."""

    def measure(settings):
        port = free_port()
        server = start(settings, [settings.path(program), *server_options(port)])
        try:
            wait_for_datagrams(server, port)
            values = last_object(finish(start(settings, [
                settings.path("perf/load_udp"), "--port", port, "--server-pid", server.pid,
                "--json", "--cpu", 1, "--duration", 1 if settings.quick else 4,
                "--warmup", 0.3 if settings.quick else 1, *load])))
            stop(server)
        finally:
            server.kill()
            server.wait()
        return values

    return measure


def gyre_options(port):
    return ["--bind", f"udp://127.0.0.1:{port}", "--loops", 1, "--cpus", 0, "--spin", "never"]


def gyre_singly_options(port):
    return [*gyre_options(port), "--no-offload"]


def bare_options(port):
    return ["--port", port, "--cpu", 0]


def batched_options(port):
    return [*bare_options(port), "--gro", "--gso"]


def udp_case(settings, name, load, limit_options, others=()):
    servers = [(GYRE, "apps/gyre-echo", gyre_options), *others,
               ("recvmmsg", "perf/limit/echo_udp", limit_options)]
    targets = [Target("server_cpu_ns_per_datagram", "<=", 1.05, "recvmmsg")]
    targets += [Target("datagrams_per_s", ">=", 3, other) for other, _, _ in others]
    if settings.peers:
        servers.append(("libuv", "perf/peers/datagram_uv", bare_options))
        targets.append(Target("server_cpu_ns_per_datagram", "<=", 1, "libuv"))
    return Case("udp", name,
                [Variant(server, program, measure_udp(program, options, load))
                 for server, program, options in servers],
                [Metric("datagrams_per_s", "datagrams/s"),
                 Metric("server_cpu_ns_per_datagram", "ns server CPU/datagram"),
                 Metric("server_busy_share", "server's share of its CPU"),
                 Metric("lost", "datagrams lost")], targets)


def udp_cases(settings):
    return [
        udp_case(settings, "50 senders, 64 bytes, depth 1", ["--senders", 50], bare_options),
        udp_case(settings, "50 senders, 64 bytes, depth 8", ["--senders", 50, "--depth", 8],
                 bare_options),
        udp_case(settings, "10 senders, 1,400 bytes, 32 as one",
                 ["--senders", 10, "--size", 1400, "--depth", 32, "--batch"], batched_options,
                 [("singly", "apps/gyre-echo", gyre_singly_options)]),
    ]
