#!/usr/bin/env python3
"""The programs where a sandbox refuses io_uring: each serves by epoll, and says why in one line; and how an engine is chosen."""
import errno
import os
import signal
import socket
import subprocess
import tempfile

from echo_support import (BUILD, ECHO, PATIENCE_S, expect, expect_refusal, receive_all, run_echo, without_stalls)
from nodes_support import NODES, free_port
from sandbox import EPOLL_PWAIT2, IO_URING_ENTER, IO_URING_REGISTER, IO_URING_SETUP, deny

# What Docker's profile does, and Kubernetes' default; a filter that lets rings be made; gVisor; a kernel
# before 6.1, which does not know the flags.
SANDBOXES = [
    ("io_uring_setup is forbidden", (IO_URING_SETUP,), errno.EPERM),
    ("io_uring_enter is forbidden", (IO_URING_ENTER,), errno.EPERM),
    ("io_uring_register is forbidden", (IO_URING_REGISTER,), errno.EPERM),
    ("io_uring", (IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER), errno.ENOSYS),
    ("io_uring", (IO_URING_SETUP,), errno.EINVAL),
    ("io_uring_setup is forbidden", (IO_URING_SETUP, EPOLL_PWAIT2), errno.EPERM),
]
os.environ.pop("GYRE_ENGINE", None)


class Program:
    """A program in a sandbox, or with an engine by the environment; it is stopped by SIGTERM."""

    def __init__(self, *words, sandbox=None, engine=None):
        environment = {**os.environ, **({"GYRE_ENGINE": engine} if engine else {})}
        self.sandbox = sandbox
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            preexec_fn=(lambda: deny(*sandbox[1], error=sandbox[2])) if sandbox else None)

    def until(self, text):
        for line in self.process.stdout:
            if text in line:
                return line.strip()
        raise SystemExit(f"failed: it does not say {text!r}: {self.process.stderr.read()}")

    def port(self):
        return int(self.until("listening on").rsplit(":", 1)[1])

    def end(self):
        """With exit 0, and one line, which names the cause and the remedy, if there is a sandbox."""
        self.process.send_signal(signal.SIGTERM)
        self.ended()

    def ended(self):
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        lines = without_stalls(errors)
        expect(self.process.returncode == 0, f"exit {self.process.returncode}: {errors}")
        expect(len(lines) == (1 if self.sandbox else 0), f"it said: {errors}")
        for line in lines:
            for text in ("epoll serves in the place of io_uring", self.sandbox[0], "GYRE_ENGINE=epoll"):
                expect(text in line, f"{text!r} is not in: {line}")


def app(name):
    return os.path.join(BUILD, "apps", f"gyre-{name}")


def ask(port, request, count):
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(request)
        return receive_all(connection, count)


def echo(**where):
    program = Program(ECHO, "--loops", "2", "--bind", "tcp://127.0.0.1:0", **where)
    port = program.port()
    data = os.urandom(300000)
    for _ in range(20):
        expect(ask(port, data, len(data)) == data, "other bytes")
    program.end()


def echo_datagrams(**where):
    program = Program(ECHO, "--loops", "2", "--bind", "udp://127.0.0.1:0", **where)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(PATIENCE_S)
        peer.connect(("127.0.0.1", program.port()))
        for number in range(100):
            peer.send(b"%d" % number)
            expect(peer.recv(100) == b"%d" % number, "another datagram")
    program.end()


def kv(**where):
    program = Program(app("kv"), "--loops", "2", "--bind", "tcp://127.0.0.1:0", **where)
    port = program.port()
    expect(ask(port, b"SET a 1\r\nGET a\r\n", 12) == b"+OK\r\n$1\r\n1\r\n", "another value")
    program.end()


def chat(**where):
    program = Program(app("chat"), "--loops", "2", "--bind", "tcp://127.0.0.1:0", **where)
    expect(ask(program.port(), b"", 15) == b"* you are guest", "no greeting")
    program.end()


def nodes(**where):
    """Two processes, of which one asks the other."""
    ports = [free_port(), free_port()]
    words = [[NODES, "--node", str(i + 1), "--listen", f"tcp://127.0.0.1:{ports[i]}"] for i in range(2)]
    server = Program(*words[0], **where)
    client = Program(*words[1], "--peer", f"tcp://127.0.0.1:{ports[0]}", **where)
    client.until("the counter is 3")
    client.end()
    server.end()


def ring(**where):
    """Actors on two loops, with no socket at all."""
    program = Program(app("ring"), "--loops", "2", "--hops", "1000000", **where)
    program.process.stdout.read()
    program.ended()


def handed_over(first, second):
    """From a process of one engine to one of the other: nobody is refused meanwhile."""
    with tempfile.TemporaryDirectory(prefix="gyre-engine.", dir="/tmp") as folder:
        words = (ECHO, "--loops", "2", "--bind", "tcp://127.0.0.1:0", "--handover", f"unix:{folder}/handover")
        before = Program(*words, engine=first)
        port = before.port()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as old:
            old.sendall(b"x")
            expect(old.recv(1) == b"x", "the first does not serve")
            after = Program(*words, engine=second)
            expect(after.port() == port, "another port")
            for _ in range(50):
                expect(ask(port, b"abc", 3) == b"abc", "a new connection is not served")
            old.sendall(b"y")
            expect(old.recv(1) == b"y", "the old connection is not served")
        before.ended()
        for _ in range(50):
            expect(ask(port, b"abc", 3) == b"abc", "it does not serve alone")
        after.end()


def choices():
    expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", env={**os.environ, "GYRE_ENGINE": "kqueue"}),
                   "GYRE_ENGINE", "kqueue", "auto, io_uring or epoll")
    expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", "--set", "engine=kqueue"), "engine")
    sandbox = SANDBOXES[0]
    for options, environment in ((("--set", "engine=io_uring"), {}), ((), {"GYRE_ENGINE": "io_uring"})):
        ran = run_echo("--bind", "tcp://127.0.0.1:0", *options, env={**os.environ, **environment},
                       preexec_fn=lambda: deny(*sandbox[1], error=sandbox[2]))
        expect_refusal(ran, sandbox[0])
    # Who has chosen epoll is told nothing.
    program = Program(ECHO, "--loops", "1", "--bind", "tcp://127.0.0.1:0", "--set", "engine=epoll", engine="io_uring")
    expect(ask(program.port(), b"x", 1) == b"x", "it does not serve")
    with open(f"/proc/{program.process.pid}/maps", encoding="ascii") as maps:
        expect("io_uring" not in maps.read(), "it has a ring")
    program.end()


def main():
    choices()
    for first, second in (("epoll", "io_uring"), ("io_uring", "epoll")):
        handed_over(first, second)
    for sandbox in SANDBOXES:
        echo(sandbox=sandbox)
    for serve in (echo_datagrams, kv, chat, nodes, ring):
        serve(sandbox=SANDBOXES[0])
        serve(sandbox=SANDBOXES[1])
    print("ok")


main()
