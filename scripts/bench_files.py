"""The question of scripts/bench about files: static files over HTTP, beside nginx."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchlib import GYRE, BenchError, Case, Metric, Target, Variant, finish, start
from bench_servers import Tcp, wait_until_served

SIZES = [4 << 10, 16 << 10, 64 << 10, 1 << 20]
CONNECTIONS = 50
NGINX = "/usr/sbin/nginx"

# One worker without a master. All that it writes is in the folder of the run.
NGINX_TEXT = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
	access_log off; sendfile on; keepalive_requests 1000000000;
	client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
	uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
	{cache}
	server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


def is_installed():
    return shutil.which("wrk") is not None and os.access(NGINX, os.X_OK)


def start_gyre(settings, folder, place, keep):
    return start(settings, [settings.path("perf/static"), "--bind", place.gyre, "--cpus", 0,
                            "--root", f"{folder}/files", *(["--keep"] if keep else [])])


def start_nginx(settings, folder, place, keep):
    cache = "open_file_cache max=1000 inactive=60s; open_file_cache_valid 1s;" if keep else ""
    path = Path(folder, "nginx.conf")
    path.write_text(NGINX_TEXT.format(folder=folder, port=place.port, cache=cache), encoding="ascii")
    return start(settings, ["taskset", "-c", 0, NGINX, "-p", folder, "-c", path])


def cpu_ns(pid):
    """Time on CPUs of all threads of a process, those of the kernel's workers and of the past among them."""
    return time.clock_gettime_ns((~pid << 3) | 2)  # as clock_getcpuclockid() makes it


def requests_of(output):
    """How many requests wrk has had answered, all of them well."""
    found = re.search(r"(\d+) requests in", output)
    if not found or "Non-2xx" in output or "Socket errors" in output:
        raise BenchError(f"wrk: {' '.join(output.split())[-200:]}")
    return int(found.group(1))


def cpu_ns_of_ended():
    """CPU time of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def load(settings, place, size, seconds):
    """(requests answered, the client's CPU time)"""
    before = cpu_ns_of_ended()
    requests = requests_of(finish(start(settings, [
        "taskset", "-c", 1, "wrk", "-t", 1, "-c", CONNECTIONS, "-d", f"{seconds}s",
        f"http://127.0.0.1:{place.port}/{size}"])))
    return requests, cpu_ns_of_ended() - before


def measure(start_server, size, keep):
    def run(settings):
        place = Tcp()
        seconds = 1 if settings.quick else 3
        with tempfile.TemporaryDirectory(prefix="gyre-bench-") as folder:
            Path(folder).chmod(0o755)
            Path(folder, "files").mkdir()
            Path(folder, "files", str(size)).write_bytes(os.urandom(size))
            server = start_server(settings, folder, place, keep)
            try:
                wait_until_served(server, place)
                load(settings, place, size, 1)
                before = cpu_ns(server.pid)
                requests, of_client = load(settings, place, size, seconds)
                spent = cpu_ns(server.pid) - before
            finally:
                server.terminate()
                try:
                    server.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.communicate()
        return {"requests_per_s": requests / seconds, "server_cpu_ns_per_request": spent / requests,
                "cpu_ns_per_request": (spent + of_client) / requests}

    return run


# Who sends the rest of a large answer, the server or the client's acknowledgements, moves CPU time between the two.
METRICS = [Metric("requests_per_s", "requests/s"),
           Metric("server_cpu_ns_per_request", "ns server CPU/request"),
           Metric("cpu_ns_per_request", "ns CPU/request, with the client's")]


def file_case(settings, size, keep):
    variants = [Variant(GYRE, "perf/static", measure(start_gyre, size, keep))]
    targets = []
    if settings.peers:
        variants.append(Variant("nginx", NGINX, measure(start_nginx, size, keep)))
        targets.append(Target("server_cpu_ns_per_request", "<=", 1, "nginx"))
    kept = "kept open" if keep else "opened each time"
    return Case("files", f"files of {size >> 10} KiB, {kept}, {CONNECTIONS} connections", variants,
                METRICS, targets)


def file_cases(settings):
    """A static file over HTTP/1.1, by wrk; with peers beside nginx."""
    if not is_installed():
        print("files: left out, for it needs wrk and nginx: scripts/install-deps peers installs them")
        return []
    return [file_case(settings, size, keep) for size in settings.sizes or SIZES for keep in (False, True)]
