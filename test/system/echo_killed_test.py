#!/usr/bin/env python3
"""A hand-over in which one of the processes is killed, at each of its system calls in turn: whoever is left serves, and
who is started then is let in at once."""
import concurrent.futures
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile

from echo_support import (ECHO, PATIENCE_S, Server, expect, fail, is_silent, receive_all, sanitizer, select_nothing,
                          skip, takes_signals)

KILL_AT = os.path.join(os.environ["GYRE_BUILD"], "test", "kill-at")
KILLED = 99
SKIPPED = 77
AT_ONCE = 6
A_MOMENT_S = 0.2  # after which a datagram is sent again
STARTS = 4  # at the same time
# With a sanitizer each start takes several times as long.
STEP = 5 if sanitizer() != "none" else 1
# What watches for leaks traces the process itself.
TRACED = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


class Place:
    """A folder, and an address of one kind that nobody else uses."""

    def __init__(self, kind, number):
        self.kind = kind
        self.folder = tempfile.mkdtemp(prefix="gyre-killed-")
        self.handover = f"{self.folder}/handover"
        self.path = f"{self.folder}/echo"
        # Of an address of its own, so that the port can be fixed.
        self.host = f"127.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250}.{number % 250 + 1}"
        self.port = 7000 + number // 250
        self.bind = f"unix:{self.path}" if kind == "unix" else f"{kind}://{self.host}:{self.port}"
        self.options = ["--loops", "1", "--handover", f"unix:{self.handover}"]

    def server(self):
        return Server(*self.options, bind=self.bind)

    def doomed(self, first, at):
        """A server that is killed at that call."""
        return subprocess.Popen([KILL_AT, first, str(at), ECHO, *self.options, "--bind", self.bind], env=TRACED,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def abandon(self):
        """As a server that was killed leaves it."""
        for path, kind in [(self.handover, socket.SOCK_SEQPACKET), (self.path, socket.SOCK_STREAM)]:
            if path != self.path or self.kind == "unix":
                with socket.socket(socket.AF_UNIX, kind) as left:
                    left.bind(path)

    def visit(self, patience_s=PATIENCE_S):
        family = socket.AF_UNIX if self.kind == "unix" else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM if self.kind == "udp" else socket.SOCK_STREAM) as visitor:
            visitor.settimeout(patience_s)
            visitor.connect(self.path if self.kind == "unix" else (self.host, self.port))
            visitor.send(b"hello")
            got = visitor.recv(5) if self.kind == "udp" else receive_all(visitor, 5)
            expect(got == b"hello", f"no echo: {got}")

    def expect_next(self):
        """Whoever is started now serves, says nothing, and leaves nothing behind."""
        server = self.server()
        self.visit()
        return server

    def end(self, server):
        server.stop()
        left = os.listdir(self.folder)
        expect(left == [], f"{left} stay behind")
        os.rmdir(self.folder)


def await_one_of(*processes):
    """Until one of them has ended."""
    poll = select.poll()
    descriptors = [os.pidfd_open(process.pid) for process in processes]
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    ended = poll.poll(PATIENCE_S * 1000)
    for descriptor in descriptors:
        os.close(descriptor)
    expect(ended, "neither process ends")


def until_it_can_be_stopped(doomed):
    while doomed.poll() is None:
        try:
            with open(f"/proc/{doomed.pid}/task/{doomed.pid}/children", encoding="ascii") as children:
                if any(takes_signals(int(pid)) for pid in children.read().split()):
                    return
        except OSError:
            pass  # it has just ended
        select_nothing(0.002)


def was_killed(doomed):
    """Stops it if it still runs; whether it was killed before that was done."""
    doomed.send_signal(signal.SIGTERM)
    _, errors = doomed.communicate(timeout=PATIENCE_S)
    expect(doomed.returncode in (0, KILLED), f"exit {doomed.returncode}: {errors}")
    return doomed.returncode == KILLED


def expect_served_or_left(place, first, second):
    """The first serves on, unless the one that was killed ran already: then the first leaves, and nobody serves; the
    kernel may keep the socket of the one that was killed for a moment, and resets who has connected to that."""
    second.wait(PATIENCE_S)
    while first.process.poll() is None:
        try:
            place.visit(A_MOMENT_S)
            return
        except (ConnectionRefusedError, ConnectionResetError, FileNotFoundError, TimeoutError):
            select_nothing(0.002)


def kill_successor(place, at):
    first = place.server()
    second = place.doomed("connect", at)
    listens = second.stdout.readline() != ""
    if listens:
        await_one_of(first.process, second)
    else:
        expect_served_or_left(place, first, second)
    killed = was_killed(second)
    third = place.expect_next()
    first.wait(silent=False)
    place.end(third)
    return killed


def kill_predecessor(place, at):
    first = place.doomed("accept", at)
    first.stdout.readline()  # none where it is killed before it says that it listens
    second = place.server()
    _, errors = first.communicate(timeout=PATIENCE_S)
    expect(first.returncode in (0, KILLED), f"exit {first.returncode}: {errors}")
    place.visit()
    place.end(second)
    return first.returncode == KILLED


def kill_first(place, at):
    place.abandon()
    first = place.doomed("connect", at)
    if first.stdout.readline() != "":
        until_it_can_be_stopped(first)
    killed = was_killed(first)
    place.end(place.expect_next())
    return killed


def at_each_call(kill, kind, numbers):
    """How many calls there were."""
    points = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        while True:
            ats = [(points + i) * STEP for i in range(AT_ONCE)]
            tries = [pool.submit(kill, Place(kind, next(numbers)), at) for at in ats]
            for at, tried in zip(ats, tries):
                try:
                    killed = tried.result()
                except (Exception, SystemExit) as error:  # with what is needed to see it again
                    fail(f"{kill.__name__} over {kind} at call {at}: {error!r}")
                if not killed:
                    return points * STEP
                points += 1


def start_together(kind, numbers):
    """Of several that find an abandoned file at the same time one is the first, and the others succeed it."""
    place = Place(kind, next(numbers))
    place.abandon()
    servers = [subprocess.Popen([ECHO, *place.options, "--bind", place.bind], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for _ in range(STARTS)]
    for server in servers:
        line = server.stdout.readline()
        # One that was succeeded before it could say so has ended well.
        expect(line.startswith("listening on") or (line == "" and server.wait(PATIENCE_S) == 0),
               f"{line} {server.stderr.read() if line == '' else ''}")
    left = list(servers)
    while len(left) > 1:
        await_one_of(*left)
        for server in [server for server in left if server.poll() is not None]:
            _, errors = server.communicate()
            expect(server.returncode == 0 and is_silent(errors), f"exit {server.returncode}: {errors}")
            left.remove(server)
    expect(left, "nobody is left")
    place.visit()
    left[0].send_signal(signal.SIGTERM)
    _, errors = left[0].communicate(timeout=PATIENCE_S)
    expect(left[0].returncode == 0, f"exit {left[0].returncode}: {errors}")
    expect(os.listdir(place.folder) == [], f"{os.listdir(place.folder)} stay behind")
    os.rmdir(place.folder)


def main():
    if subprocess.run([KILL_AT, "connect", "0", "/bin/true"], check=False).returncode == SKIPPED:
        skip("processes may not be traced here")
    numbers = iter(range(10 ** 6))
    for kind in ("tcp", "udp", "unix"):
        for kill in (kill_successor, kill_predecessor, kill_first):
            print(f"ok: {kill.__name__} over {kind}, at each of {at_each_call(kill, kind, numbers)} calls")
            sys.stdout.flush()
        for _ in range(5):
            start_together(kind, numbers)
        print(f"ok: {STARTS} of {kind} at once")


main()
