#!/usr/bin/env python3
"""gyre-load against gyre-echo over TCP, UDP and Unix sockets, against nobody, and against servers that do wrong."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading

from echo_support import BUILD, PATIENCE_S, Server, expect, expect_refusal, is_silent, select_nothing

LOAD = os.path.join(BUILD, "apps", "gyre-load")
ERRORS = ("refused", "reset", "closed", "timed_out", "corrupt", "other")
FIELDS = ("to requests_per_s bytes_per_s p50_ns p90_ns p99_ns p999_ns max_ns requests errors lost unsent "
          "connections open size_bytes depth rate loops elapsed_ns load_cpu_ns_per_request").split()


def run_load(*options):
    return subprocess.run([LOAD, *map(str, options)], capture_output=True, text=True,
                          timeout=3 * PATIENCE_S, check=False)


def measure(*options, status=0, duration=0.4):
    ran = run_load(*options, "--json", "--duration", duration, "--warmup", 0.05)
    expect(ran.returncode == status, f"exit {ran.returncode}: {ran.stdout} {ran.stderr}")
    expect(is_silent(ran.stderr), f"it said: {ran.stderr}")
    values = json.loads(ran.stdout)
    for name in FIELDS + list(ERRORS):
        expect(name in values, f"no {name} in {values}")
    return values


def expect_good(values, connections):
    expect(values["requests"] > 0 and values["errors"] == 0 and values["unsent"] == 0, f"{values}")
    expect(values["connections"] == values["open"] == connections, f"{values}")
    expect(0 < values["p50_ns"] <= values["p90_ns"] <= values["p99_ns"] <= values["p999_ns"] <= values["max_ns"],
           f"{values}")
    expect(values["elapsed_ns"] >= 0.3e9, f"{values}")


def test_streams():
    server = Server("--loops", "2")
    to = f"tcp://127.0.0.1:{server.port}"
    expect_good(measure(to, "--verify"), 50)
    expect_good(measure(to, "--verify", "--loops", 2, "--connections", 3, "--depth", 16, "--size", 1), 3)
    expect_good(measure(to, "--verify", "--connections", 5, "--depth", 7, "--size", 70001), 5)
    # More than a socket holds, both ways: neither side may wait for the other.
    expect_good(measure(to, "--verify", "--connections", 1, "--depth", 32, "--size", 1 << 20, duration=3), 1)
    ran = run_load(to, "--rate", 2000, "--duration", 2.3, "--warmup", 0)
    expect(ran.returncode == 0 and "latency" in ran.stdout and "p99.9" in ran.stdout, f"{ran}")
    lines = [line for line in ran.stderr.splitlines() if line.startswith("measuring: 50 connections, ")]
    # One a second; where it is held up, one for both.
    expect(1 <= len(lines) <= 2 and "requests/s" in lines[0], f"{ran.stderr}")
    server.stop()


def test_datagrams():
    server = Server("--loops", "1", bind="udp://127.0.0.1:0")
    to = f"udp://127.0.0.1:{server.port}"
    for options in (["--size", 8], ["--depth", 16, "--size", 1400], ["--connections", 2, "--size", 65507]):
        values = measure(to, "--verify", *options)
        expect(values["requests"] > 0 and values["errors"] == 0, f"{values}")
    server.stop()
    for options in (["--size", "7"], ["--size", "65508"], ["--loops", "2"]):
        expect_refusal(run_load(to, *options), "datagrams")


def test_unix():
    with tempfile.TemporaryDirectory() as folder:
        server = Server("--loops", "1", bind=f"unix:{folder}/echo")
        expect_good(measure(f"unix:{folder}/echo", "--verify", "--depth", 4), 50)
        server.stop()
        values = measure(f"unix:{folder}/nobody", "--connections", 2, status=1)
        expect(values["errors"] == values["other"] == 2, f"{values}")
        ran = run_load(f"unix:{folder}/nobody", "--connections", 2)
        expect("other     2 as: No such file or directory" in ran.stdout, f"{ran}")


def expect_progress(load):
    """It measures, and says so; before that perhaps that the machine is slow."""
    while is_silent(line := load.stderr.readline()):
        expect(line != "", "it ended")
    expect(line.startswith("measuring"), "no progress")


def expect_answered(at, *options):
    values = measure(at, "--verify", *options)
    expect(values["requests"] > 0 and values["errors"] == 0, f"{values}")


def test_unix_datagrams():
    """Each socket has a name of its own, to which its answers come; of files none is left."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        for at in (f"unix+dgram:{folder}/echo", f"unix+dgram:@gyre-load-test-{os.getpid()}"):
            server = Server("--loops", "1", bind=at)
            for options in (["--size", 8], ["--connections", 5, "--depth", 16, "--size", 1400]):
                expect_answered(at, *options)
            if at.endswith("echo"):
                expect(os.listdir(folder) == ["echo"], f"left: {os.listdir(folder)}")
                test_elsewhere(at)
                test_folder_when_interrupted(at, folder)
            server.stop()
        expect(os.listdir(folder) == [], f"left: {os.listdir(folder)}")
        ran = run_load(f"unix+dgram:{folder}/nobody")
        expect(ran.returncode == 1 and "No such file or directory" in ran.stderr, f"{ran}")
        expect(os.listdir(folder) == [], f"left: {os.listdir(folder)}")
        for wrong in (f"{folder}/none", f"{folder}/{'x' * 100}"):
            os.environ["TMPDIR"] = wrong
            expect_refusal(run_load(f"unix+dgram:{folder}/echo"), "TMPDIR")
        del os.environ["TMPDIR"]


def test_elsewhere(at):
    """A path is found from every network namespace, and so is the way back."""
    isolated = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode != 0:
        print("no network namespace can be made here")
        return
    ran = subprocess.run([*isolated, LOAD, at, "--duration", "0.5", "--warmup", "0", "--json"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0 and json.loads(ran.stdout)["requests"] > 0, f"{ran}")


def test_folder_when_interrupted(at, folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        load = subprocess.Popen([LOAD, at, "--duration", "1000", "--warmup", "0"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        expect_progress(load)
        expect(len(os.listdir(folder)) == 2, f"{os.listdir(folder)}")
        load.send_signal(number)
        out, _ = load.communicate(timeout=PATIENCE_S)
        expect(load.returncode == 0 and "latency" in out, f"exit {load.returncode}: {out}")
        expect(os.listdir(folder) == ["echo"], f"left: {os.listdir(folder)}")


def test_rate():
    server = Server("--loops", "1")
    to = f"tcp://127.0.0.1:{server.port}"
    values = measure(to, "--rate", 1000, "--connections", 10, "--loops", 2, "--depth", 100, duration=2)
    asked = 1000 * values["elapsed_ns"] / 1e9
    expect(0.5 * asked < values["requests"] < 1.5 * asked, f"{asked} were asked for: {values}")
    idle = server.descriptors_without_connections()
    # A server that stands still for a while is seen in the latency, although few requests met it.
    load = subprocess.Popen([LOAD, to, "--rate", "1000", "--duration", "4", "--warmup", "0.2", "--json"],
                            stdout=subprocess.PIPE, text=True)
    server.until_descriptors(idle + 50, idle + 50)
    select_nothing(0.8)
    os.kill(server.pid, signal.SIGSTOP)
    select_nothing(1.5)
    os.kill(server.pid, signal.SIGCONT)
    values = json.loads(load.communicate(timeout=PATIENCE_S)[0])
    expect(values["p90_ns"] > 0.2e9, f"the wait is not seen: {values}")
    server.stop()


def test_rate_out_of_reach():
    """What cannot be sent is counted, and neither kept for later nor a reason to go on past the end."""
    server = Server("--loops", "1")
    to = f"tcp://127.0.0.1:{server.port}"
    for options in (["--connections", 2], ["--connections", 50, "--depth", 16, "--loops", 2]):
        values = measure(to, "--rate", 100000000, *options)
        expect(values["requests"] > 0 and values["errors"] == 0, f"{values}")
        expect(values["unsent"] > values["requests"], f"{values}")
    server.stop()


def test_nobody():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        values = measure(f"tcp://127.0.0.1:{port}", "--connections", 3, status=1)
        expect(values["refused"] == values["errors"] == 3 and values["open"] == 0, f"{values}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        values = measure(f"udp://127.0.0.1:{held.getsockname()[1]}", "--timeout", 0.1, status=1)
        expect(values["lost"] > 0, f"{values}")
    ran = run_load("unix+dgram:/nowhere/nobody")
    expect(ran.returncode == 1 and "No such file or directory" in ran.stderr, f"{ran}")
    for options, says in (([], "ADDRESS"), (["ftp://x"], '"ftp://x" is not tcp://HOST:PORT'),
                          (["unix+dgram:"], "unix+dgram"), (["tcp://127.0.0.1"], "is not"),
                          (["tcp://127.0.0.1:1", "x"], "x"),
                          (["tcp://127.0.0.1:1", "--duration", "0"], "--duration"),
                          (["tcp://127.0.0.1:1", "--duration", "1s"], "--duration"),
                          (["tcp://127.0.0.1:1", "--depth", "1025"], "--depth")):
        expect_refusal(run_load(*options), says)


class Wrong:
    """A server of streams that does to each piece what @change says; None ends the connection."""

    def __init__(self, change):
        self.change = change
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.to = f"tcp://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            total = 0
            try:
                while data := connection.recv(1 << 16):
                    answer = self.change(data, total)
                    if answer is None:
                        return
                    total += len(data)
                    connection.sendall(answer)
            except OSError:
                pass


def corrupt(data, total):
    """One bit of the 1000th byte."""
    at = 999 - total
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:] if 0 <= at < len(data) else data


def test_wrong_servers():
    few = ["--connections", 2]
    # Where all go wrong it does not go on for so long.
    values = measure(Wrong(corrupt).to, *few, "--verify", status=1, duration=PATIENCE_S)
    expect(values["corrupt"] == values["errors"] == 2 and values["requests"] < 100, f"{values}")
    values = measure(Wrong(corrupt).to, *few)
    expect(values["errors"] == 0, f"it looked though it was not told to: {values}")
    values = measure(Wrong(lambda data, total: data + b"x").to, *few, status=1, duration=PATIENCE_S)
    expect(values["corrupt"] == 2, f"{values}")
    values = measure(Wrong(lambda data, total: None).to, *few, status=1, duration=PATIENCE_S)
    expect(values["closed"] + values["reset"] == values["errors"] == 2, f"{values}")
    values = measure(Wrong(lambda data, total: b"").to, *few, "--timeout", 0.1, status=1, duration=PATIENCE_S)
    expect(values["timed_out"] == values["errors"] == 2, f"{values}")
    values = measure(Wrong(lambda data, total: data if total < 1000 else None).to, *few, "--reconnect",
                     status=0, duration=3)
    expect(values["errors"] > 2 and values["requests"] > 20, f"{values}")


def test_lost_connection():
    """What is due on a connection that is gone is not forgotten."""
    first = []

    def end_first(data, _):
        first.append(threading.get_ident())
        return None if first[0] == threading.get_ident() else data

    values = measure(Wrong(end_first).to, "--connections", 2, "--rate", 1000, duration=2)
    asked = 1000 * values["elapsed_ns"] / 1e9
    expect(values["open"] == 1 and values["errors"] == 1, f"{values}")
    expect(values["unsent"] > 0.4 * asked, f"{asked} were asked for: {values}")


def test_interrupt_of_the_wait():
    """A signal while it waits for the last answers, of a server that gives none, ends it."""
    load = subprocess.Popen([LOAD, Wrong(lambda data, total: b"").to, "--duration", "1000", "--warmup", "0",
                             "--timeout", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect_progress(load)
    load.send_signal(signal.SIGINT)
    while not (line := load.stderr.readline()).startswith("waiting"):
        expect(line != "", "it does not wait")
    load.send_signal(signal.SIGINT)
    load.communicate(timeout=PATIENCE_S)


def test_interrupt():
    """The first signal ends the measurement, and what was measured is told."""
    server = Server("--loops", "1")
    load = subprocess.Popen([LOAD, f"tcp://127.0.0.1:{server.port}", "--duration", "1000", "--warmup", "0"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect_progress(load)
    load.send_signal(signal.SIGINT)
    out, _ = load.communicate(timeout=PATIENCE_S)
    expect(load.returncode == 0 and "latency" in out, f"exit {load.returncode}: {out}")
    server.stop()


def main():
    test_streams()
    test_datagrams()
    test_unix()
    test_unix_datagrams()
    test_rate()
    test_rate_out_of_reach()
    test_nobody()
    test_wrong_servers()
    test_interrupt()
    test_lost_connection()
    test_interrupt_of_the_wait()


main()
