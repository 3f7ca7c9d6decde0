"""The question of scripts/bench about gyre-kv: GET and SET of redis-benchmark, beside redis-server."""

import csv
import shutil
import subprocess
import tempfile

from bench_files import cpu_ns
from bench_servers import Tcp, wait_until_served
from benchlib import GYRE, BenchError, Case, Metric, Target, Variant, finish, start

CONNECTIONS = 50
KEYS = 100_000
VALUE_BYTES = 64
REQUESTS = {1: 200_000, 16: 2_000_000}
REDIS = shutil.which("redis-server") or "/usr/bin/redis-server"
TWO_LOOPS = "gyre, 2 loops"


def start_gyre(loops):
    def start_server(settings, _, place):
        cpus = ",".join(str(cpu) for cpu in range(loops))
        return start(settings, [settings.path("apps/gyre-kv"), "--bind", place.gyre, "--loops", loops,
                                "--cpus", cpus, "--spin", "never"])

    return start_server


def start_redis(settings, folder, place):
    return start(settings, ["taskset", "-c", 0, REDIS, "--port", place.port, "--bind", "127.0.0.1", "--save", "",
                            "--appendonly", "no", "--daemonize", "no", "--dir", folder, "--logfile",
                            f"{folder}/log"])


def load(settings, place, depth, requests):
    """As many SETs and then GETs; how many of both there were a second."""
    rates = {}
    output = finish(start(settings, [
        "taskset", "-c", 1, "redis-benchmark", "-p", place.port, "-c", CONNECTIONS, "-P", depth, "-n", requests, "-r",
        KEYS, "-d", VALUE_BYTES, "-t", "set,get", "--csv"]))
    for row in csv.DictReader(output.splitlines()):
        rates[row["test"]] = float(row["rps"])
    if not rates.keys() >= {"SET", "GET"}:
        raise BenchError(f"redis-benchmark: {output[-200:]}")
    return 2 / (1 / rates["SET"] + 1 / rates["GET"])


def measure(start_server, depth):
    def run(settings):
        place = Tcp()
        requests = settings.count(REQUESTS[depth])
        with tempfile.TemporaryDirectory(prefix="gyre-bench-") as folder:
            server = start_server(settings, folder, place)
            try:
                wait_until_served(server, place)
                load(settings, place, depth, requests // 10)
                before = cpu_ns(server.pid)
                rate = load(settings, place, depth, requests)
                spent = cpu_ns(server.pid) - before
            finally:
                server.terminate()
                try:
                    server.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.communicate()
        return {"requests_per_s": rate, "server_cpu_ns_per_request": spent / (2 * requests)}

    return run


METRICS = [Metric("requests_per_s", "requests/s"),
           Metric("server_cpu_ns_per_request", "ns server CPU/request")]


def kv_case(settings, depth):
    """The CPU of two loops is at most 1.3 of that of one, so that of one is at least 1 / 1.3 of theirs."""
    variants = [Variant(GYRE, "apps/gyre-kv", measure(start_gyre(1), depth)),
                Variant(TWO_LOOPS, "apps/gyre-kv", measure(start_gyre(2), depth))]
    targets = [Target("server_cpu_ns_per_request", ">=", 1 / 1.3, TWO_LOOPS)]
    if settings.peers or settings.path(REDIS).exists():
        variants.append(Variant("redis-server", REDIS, measure(start_redis, depth)))
        targets.append(Target("server_cpu_ns_per_request", "<=", 1.0 if depth == 1 else 0.9, "redis-server"))
    return Case("kv", f"GET and SET of {VALUE_BYTES} bytes, {CONNECTIONS} connections, depth {depth}", variants,
                METRICS, targets)


def kv_cases(settings):
    """A key-value server, by redis-benchmark; beside redis-server where that is installed."""
    if not shutil.which("redis-benchmark"):
        print("kv: left out, for it needs redis-benchmark: scripts/install-deps peers installs it")
        return []
    return [kv_case(settings, depth) for depth in settings.depths or REQUESTS]
