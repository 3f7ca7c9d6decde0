#!/usr/bin/env python3
"""What gyre-echo refuses, and what it is refused: one line on standard error that names the cause, and exit 1."""
import ctypes
import errno
import os
import resource
import signal
import socket
import subprocess

from echo_support import (ECHO, PATIENCE_S, Server, expect, expect_refusal, run_echo, skip,
                          sanitizer, takes_signals)
from sandbox import IO_URING_SETUP, deny

PR_CAPBSET_DROP = 24
CAP_IPC_LOCK = 14
os.environ["GYRE_ENGINE"] = "io_uring"  # which is to be refused; see engine_test.py for the other one


def test_io_uring_refused():
    for error in (errno.EPERM, errno.ENOSYS):
        ran = run_echo("--bind", "tcp://127.0.0.1:0",
                       preexec_fn=lambda error=error: deny(IO_URING_SETUP, error=error))
        expect_refusal(ran, "io_uring")
        expect(ran.stdout == "", "it says that it listens")


def test_used_port():
    """By a program that would not share the port, by one that would, and by another gyre-echo."""
    for share in (False, True):
        with socket.socket() as other:
            if share:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            expect_refusal(run_echo("--bind", f"tcp://127.0.0.1:{port}"), str(port), "in use")
    server = Server("--loops", "2")
    expect_refusal(run_echo("--bind", f"tcp://127.0.0.1:{server.port}"), "in use")
    with server.connect() as connection:
        connection.sendall(b"x")
        expect(connection.recv(1) == b"x", "the first one suffered")
    server.stop()


def test_tunables():
    """By --set: no such option, no number, and a value out of bounds; and what another option says too."""
    takes = {"run_budget": "takes 1 to 1000000", "loops_max": "takes 0 to 1024", "stall_ns": "takes -1 to 60000000000",
             "engine": "takes auto, io_uring or epoll", "receive_buffers": "takes shared or whole"}
    for bad in ("run_budget=", "run_budget=1x", "run_budget=whole", "loops_max=-1", "run_budget=-1", "run_budget=1000001",
                "run_budget=4294967297", "receive_buffers=half", "engine=foo", "stall_ns=-2",
                "stall_ns=99999999999999999999"):
        name = bad.partition("=")[0]
        expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", "--set", bad), f'--set cannot be "{bad}": {name} {takes[name]}')
    for bad, why in (("nosuch=5", "no such option"), ("run=1", "no such option"), ("run_budget", "it is OPTION=VALUE"),
                     ("=1", "it is OPTION=VALUE")):
        expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", "--set", bad), f'"{bad}"', why)
    for twice in (("--loops", "1", "--set", "loops=2000"), ("--loops", "1", "--set", "loops=1"),
                  ("--spin", "never", "--set", "spin_ns=5")):
        expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", *twice), "loops=2000" if "loops=2000" in twice else twice[0])
    server = Server("--loops", "1", "--set", "receive_buffers=whole", "--set", "run_budget=7",
                    "--set", "spin_ns=-2")
    with server.connect() as connection:
        connection.sendall(b"x")
        expect(connection.recv(1) == b"x", "it does not serve")
    server.stop()


def limit_address_space(kibibytes):
    resource.setrlimit(resource.RLIMIT_AS, (kibibytes * 1024, kibibytes * 1024))


def test_lack_of_address_space():
    """As `ulimit -v`: from too little for anything to enough, it serves, or says why and exits 1."""
    if sanitizer() != "none":
        skip("a sanitizer needs much more")
    refused = served = 0
    for kibibytes in range(20000, 600000, 10000):
        process = subprocess.Popen([ECHO, "--loops", "2", "--bind", "tcp://127.0.0.1:0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: limit_address_space(kibibytes))
        line = process.stdout.readline()
        if line:
            port = int(line.rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
                connection.sendall(b"x")
                expect(connection.recv(1) == b"x", f"{kibibytes} KiB: it serves nobody")
            process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=PATIENCE_S)[1]
        served += bool(line)
        refused += not line
        if not line:
            expect(process.returncode != 0 and errors, f"{kibibytes} KiB: {errors!r}")
        if served == 3:
            break
    expect(refused > 0 and served == 3, f"{refused} refused, {served} served")


def test_bad_addresses():
    for address in ("7000", "tcp://127.0.0.1", "tcp://127.0.0.1:70000", "sctp://127.0.0.1:7000"):
        expect_refusal(run_echo("--bind", address), address, "tcp://[::]:7000")
    expect_refusal(run_echo("--bind", "udp://127.0.0.1"), "udp://127.0.0.1", "udp://[::]:7000")
    expect_refusal(run_echo("--bind", "tcp://192.0.2.1:7000"), "192.0.2.1")
    expect_refusal(run_echo("--bind", "tcp://[no-address]:7000"), "no-address")


def test_bad_options():
    for loops in ("0", "-1", "x", "1025"):
        expect_refusal(run_echo("--loops", loops), "--loops")
    expect_refusal(run_echo("surplus"), "surplus")
    expect_refusal(run_echo("--cpus", "99999", "--bind", "tcp://127.0.0.1:0"), "99999")
    expect(run_echo("--unknown").returncode == 1, "an unknown option is taken")
    helped = run_echo("--help")
    expect(helped.returncode == 0 and "--bind" in helped.stdout, "no help")


def deny_locked_memory():
    """No memory may be locked, not even by root: it comes out of exec without the capability."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0) != 0 and os.getuid() == 0:
        raise OSError(ctypes.get_errno(), "capabilities")


def test_no_locked_memory():
    ran = run_echo("--bind", "tcp://127.0.0.1:0", preexec_fn=deny_locked_memory)
    expect_refusal(ran, "ulimit -l")
    expect(ran.stdout == "", "it says that it listens")


def runs_with_descriptors(count):
    """Whether it runs with so few; if not it says why in one line, and not that it listens."""
    limit = (count, count)
    process = subprocess.Popen(
        [ECHO, "--bind", "tcp://127.0.0.1:0", "--loops", "1"], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    listening = process.stdout.readline()
    while listening and process.poll() is None:
        if takes_signals(process.pid):
            process.terminate()
            break
    _, errors = process.communicate(timeout=PATIENCE_S)
    if not listening:
        expect(process.returncode == 1, f"{count} descriptors: exit {process.returncode}: {errors}")
        expect(len(errors.splitlines()) == 1 and "ulimit -n" in errors, f"{count}: {errors}")
        return False
    expect(process.returncode == 0, f"{count} descriptors: it listens, and then: {errors}")
    return True


def test_few_descriptors():
    runs = [runs_with_descriptors(count) for count in range(5, 12)]
    expect(True in runs and False in runs and runs == sorted(runs), f"{runs}")


def main():
    test_bad_options()
    test_tunables()
    test_bad_addresses()
    test_used_port()
    test_io_uring_refused()
    test_no_locked_memory()
    test_few_descriptors()
    test_lack_of_address_space()
    print("ok")


main()
