"""The questions of scripts/bench about servers: echo, beside limit programs and other libraries."""

import resource
import signal
import socket
import tempfile
import time

from benchlib import GYRE, BenchError, Case, Metric, Target, Variant, finish, last_object, start

START_SECONDS_MAX = 10
LARGE_BYTES = 16384
# What kernels give that cannot fill a buffer bit by bit: each receive has a whole buffer.
WHOLE = "whole"
LIMIT_WHOLE = "io_uring whole"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Tcp:
    """A free port of loopback, as each program wants to be told of it."""

    def __init__(self):
        self.port = free_port()
        self.gyre = f"tcp://127.0.0.1:{self.port}"
        self.others = ["--port", self.port]

    def connect(self):
        socket.create_connection(("127.0.0.1", self.port), timeout=1).close()

    def remove(self):
        pass


class Unix:
    """A path for a Unix socket, in a folder of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-bench-")
        self.path = f"{self.folder.name}/echo"
        self.gyre = f"unix:{self.path}"
        self.others = ["--host", f"unix:{self.path}"]

    def connect(self):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(self.path)

    def remove(self):
        self.folder.cleanup()


def wait_until_served(server, place):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if server.poll() is not None:
            finish(server)
            raise BenchError("the server ended before it served")
        try:
            place.connect()
            return
        except OSError:
            time.sleep(0.02)
    raise BenchError(f"the server did not listen within {START_SECONDS_MAX} s")


def stop(server):
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    return finish(server)


def seconds(settings):
    return ["--duration", 1 if settings.quick else 4, "--warmup", 0.3 if settings.quick else 1]


def measure_server(program, server_options, make_place, client, client_options):
    """A way to measure: the server on CPU 0, its client on CPU 1, and what both say."""

    def measure(settings):
        place = make_place()
        server = start(settings, [settings.path(program), *server_options(place)])
        try:
            wait_until_served(server, place)
            values = last_object(finish(start(settings, [
                settings.path(client), *place.others, "--server-pid", server.pid, "--cpu", 1,
                "--json", *seconds(settings), *client_options])))
            summary = last_object(stop(server))
        finally:
            server.kill()
            server.wait()
            place.remove()
        # Other libraries do not count theirs, and say 0.
        calls = summary.get("system_calls", summary.get("io_uring_enters"))
        if calls and values.get("requests_total"):
            values["system_calls_per_request"] = calls / values["requests_total"]
        return values

    return measure


def gyre_echo_options(place):
    # The others sleep when they have nothing to do; what polling costs and gains is another question.
    return ["--bind", place.gyre, "--loops", 1, "--cpus", 0, "--summary", "--spin", "never"]


def gyre_whole_options(place):
    return [*gyre_echo_options(place), "--set", "receive_buffers=whole"]


def gyre_epoll_options(place):
    return [*gyre_echo_options(place), "--set", "engine=epoll"]


def limit_echo_options(place):
    return [*place.others, "--cpu", 0]


def limit_whole_options(place):
    return [*limit_echo_options(place), "--mode", "multishot"]


ECHO_SERVERS = [
    (GYRE, "apps/gyre-echo", gyre_echo_options),
    ("io_uring", "perf/limit/echo_uring", limit_echo_options),
    ("epoll", "perf/limit/echo_epoll", limit_echo_options),
]

WHOLE_SERVERS = [
    (WHOLE, "apps/gyre-echo", gyre_whole_options),
    (LIMIT_WHOLE, "perf/limit/echo_uring", limit_whole_options),
]

PEER_SERVERS = [
    ("libuv", "perf/peers/echo_uv", limit_echo_options),
    ("libevent", "perf/peers/echo_event", limit_echo_options),
    ("Go", "perf/peers/go_echo", limit_echo_options),
]


def variants(settings, client, client_options, make_place=Tcp, beside=()):
    """Each server, and those @beside, with the same client. Those of other libraries serve TCP only."""
    servers = [*ECHO_SERVERS, *beside,
               *(PEER_SERVERS if settings.peers and make_place is Tcp else [])]
    return [Variant(name, program,
                    measure_server(program, options, make_place, client, client_options))
            for name, program, options in servers]


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


def echo_targets(connections, size, depth, peers):
    targets = [
        Target("server_cpu_ns_per_request", "<=", 1.05, "io_uring"),
        Target("p99_ns", "<=", 1.1, "io_uring"),
        Target("requests_per_s", ">=", 0.95, "io_uring"),
        Target("requests_per_s", ">=", 1, "epoll"),
    ]
    if depth == 1:
        targets.append(Target("server_user_ns_per_request", "<=", 1.5, "io_uring"))
    if peers:
        targets += [Target("server_cpu_ns_per_request", "<=", 1.05, "libuv"),
                    Target("server_cpu_ns_per_request", "<=", 1, "libevent")]
        if size >= LARGE_BYTES:
            targets.append(Target("p99_ns", "<=", 1, "libuv"))
    if connections >= 500:
        targets.append(Target("system_calls_per_request", "<=", 0.1))
    return targets


def echo_case(settings, connections, size, depth, make_place=Tcp):
    kind = "Unix, " if make_place is Unix else ""
    return Case("echo", f"{kind}{connections:,} connections, {size:,} bytes, depth {depth}",
                variants(settings, "perf/load", ["--connections", connections, "--size", size,
                                                 "--depth", depth], make_place,
                         WHOLE_SERVERS if make_place is Tcp else ()),
                ECHO_METRICS,
                echo_targets(connections, size, depth, settings.peers and make_place is Tcp))


def echo_cases(settings):
    """A few cases that tell most; with peers, unless something else is asked for, all of them."""
    every = settings.peers
    all_sizes = [64, 1024, 16384]
    sizes = settings.sizes or (all_sizes if every or settings.full else [64])
    counts = settings.connections or ([1, 50, 500, 5000] if every else [50, 500])
    return [echo_case(settings, connections, size, depth)
            for size in sizes for connections in counts for depth in settings.depths or [1, 16]]


def unix_cases(settings):
    return [echo_case(settings, 50, size, depth, Unix)
            for size in settings.sizes or [64, 16384] for depth in settings.depths or [1, 16]]


def engine_cases(settings):
    """The engine for where io_uring is refused, beside what others have there: libuv, with --peers."""
    servers = [(GYRE, "apps/gyre-echo", gyre_epoll_options), ECHO_SERVERS[2],
               ("gyre on io_uring", "apps/gyre-echo", gyre_echo_options),
               *([PEER_SERVERS[0]] if settings.peers else [])]
    targets = [Target("server_cpu_ns_per_request", "<=", 1.15, "libuv")] if settings.peers else []
    return [Case("engines", f"{connections} connections, {size:,} bytes, depth {depth}",
                 [Variant(name, program,
                          measure_server(program, options, Tcp, "perf/load",
                                         ["--connections", connections, "--size", size, "--depth", depth]))
                  for name, program, options in servers], ECHO_METRICS, targets)
            for size in settings.sizes or [64] for connections in settings.connections or [50, 500]
            for depth in settings.depths or [1, 16]]


def many_cases(settings):
    """As many connections as people fear, each with a request under way."""
    return [echo_case(settings, 10000, 64, 1)]


def accept_cases(settings):
    """What it costs to take a connection, serve one request on it, and see it end."""
    return [
        Case("accept", "64 connections at once, one request on each",
             variants(settings, "perf/connect", []),
             [Metric("connections_per_s", "connections/s"),
              Metric("server_cpu_ns_per_connection", "ns server CPU/connection"),
              Metric("server_busy_share", "server's share of its CPU")]),
    ]


def stream_cases(settings):
    """Large requests that follow each other at once: what a byte costs."""
    metrics = [Metric("bytes_per_s", "GB/s echoed", 1e-9),
               Metric("server_cpu_ns_per_byte", "ns server CPU/byte"),
               Metric("server_busy_share", "server's share of its CPU")]
    targets = [Target("bytes_per_s", ">=", 0.95, "io_uring"),
               Target("server_cpu_ns_per_byte", "<=", 1.05, "io_uring")]
    return [
        Case("stream", f"{connections} connections, {size // 1024} KiB, depth 4",
             variants(settings, "perf/load", ["--connections", connections, "--size", size,
                                              "--depth", 4]), metrics, targets)
        for size in (16 * 1024, 256 * 1024) for connections in (1, 8)
    ]


IDLE_CONNECTIONS = 10_000
PIPELINE = "pipeline"


def session_options(answer):
    return lambda place: ["--bind", place.gyre, "--cpus", 0, "--answer", answer]


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS:"))


def measure_idle_sessions(settings):
    """What connections hold that have served one request each, beside what the kernel takes."""
    needed = IDLE_CONNECTIONS + 500
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BenchError(f"{needed} descriptors are needed, and {hard} are allowed: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    place = Tcp()
    server = start(settings, [settings.path("perf/sessions"), *session_options("actor")(place), "--size", 0])
    try:
        wait_until_served(server, place)
        before = resident_bytes(server.pid)
        connections = [socket.create_connection(("127.0.0.1", place.port)) for _ in range(IDLE_CONNECTIONS)]
        for connection in connections:
            connection.sendall(bytes(64))
            connection.recv(64, socket.MSG_WAITALL)
        held = resident_bytes(server.pid) - before
        for connection in connections:
            connection.close()
        stop(server)
    finally:
        server.kill()
        server.wait()
    return {"bytes_per_connection": held / IDLE_CONNECTIONS}


def session_cases(settings):
    """Requests that the actor of their connection answers, beside those that its pipeline does."""
    def case(connections, depth):
        client = ["--connections", connections, "--size", 64, "--depth", depth]
        return Case("sessions", f"{connections} connections, 64 bytes, depth {depth}", [
            Variant(name, "perf/sessions",
                    measure_server("perf/sessions", session_options(answer), Tcp, "perf/load", client))
            for name, answer in ((GYRE, "actor"), (PIPELINE, "pipeline"))
        ], [Metric("requests_per_s", "requests/s"),
            Metric("server_cpu_ns_per_request", "ns server CPU/request"),
            Metric("server_user_ns_per_request", "ns user CPU/request")],
                    [Target("server_cpu_ns_per_request", "<=", 1.15, PIPELINE)])

    return [case(connections, depth) for connections in settings.connections or [50, 500]
            for depth in settings.depths or [1, 16]] + [
        Case("sessions", f"{IDLE_CONNECTIONS:,} idle connections with an actor of 64 bytes of state",
             [Variant(GYRE, "perf/sessions", measure_idle_sessions)],
             [Metric("bytes_per_connection", "bytes a connection")],
             [Target("bytes_per_connection", "<=", 1536)])]
