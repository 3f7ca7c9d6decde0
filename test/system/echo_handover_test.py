#!/usr/bin/env python3
"""A server that is replaced again and again under load: nobody is refused, and no byte is lost."""
import os
import signal
import socket
import tempfile
import threading

from echo_support import (PATIENCE_S, Server, expect, expect_refusal, receive_all, run_echo, select_nothing)

CLIENTS = 8
TIMES = 5
DATA = os.urandom(20000)


class Load:
    """Clients that connect, have a few pieces echoed, and close; without end."""

    def __init__(self, connect, pieces):
        self.connect = connect
        self.pieces = pieces
        self.stop = threading.Event()
        self.failures = []
        self.done = [0] * CLIENTS
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        while not self.stop.is_set() and not self.failures:
            try:
                with self.connect() as connection:
                    for _ in range(self.pieces):
                        connection.sendall(DATA)
                        expect(receive_all(connection, len(DATA)) == DATA, "other bytes")
                self.done[number] += 1
            except (OSError, SystemExit) as error:
                self.failures.append(f"after {self.done[number]}: {error!r}")

    def let_some_through(self):
        """Until each client has been served twice more."""
        until = [count + 2 for count in self.done]
        while not self.failures and any(now < then for now, then in zip(self.done, until)):
            select_nothing(0.005)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(PATIENCE_S)
        expect(not self.failures, f"{self.failures}")
        return sum(self.done)


def replace_often(bind, connect_to, folder, *options):
    """Starts one server after the other in the place of the one before; each of those ends by itself."""
    at = f"unix:{folder}/handover"
    server = Server("--handover", at, *options, bind=bind)
    first = server.listening
    load = Load(lambda: connect_to(server), pieces=5)
    load.let_some_through()
    for _ in range(TIMES):
        # The same options; the port that was any free one is handed over too.
        successor = Server("--handover", at, *options, bind=bind)
        expect(successor.listening == first, f"{successor.listening}, not {first}")
        server.wait()
        server = successor
        load.let_some_through()
    served = load.end()
    server.stop()
    expect(os.listdir(folder) == [], f"{os.listdir(folder)} stay behind")
    return served


def visit(server):
    with server.connect() as connection:
        connection.sendall(b"hello")
        expect(receive_all(connection, 5) == b"hello", "no echo")


def connect_unix(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_S)
    connection.connect(path)
    return connection


def test_load():
    with tempfile.TemporaryDirectory() as folder:
        served = replace_often("tcp://127.0.0.1:0", lambda server: server.connect(), folder, "--loops", "2")
    with tempfile.TemporaryDirectory() as folder:
        served += replace_often(f"unix:{folder}/echo", lambda _: connect_unix(f"{folder}/echo"), folder, "--loops", "2")
    return served


def test_other_numbers_of_loops():
    """The sockets of more loops than there are now are served by those that there are, and the other way round."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at, "--loops", "4")
        load = Load(lambda: server.connect(), pieces=1)
        for loops in ("1", "3", "2"):
            successor = Server("--handover", at, "--loops", loops)
            server.wait()
            server = successor
            load.let_some_through()
        load.end()
        server.stop()


def test_connection_that_stays():
    """It is served by the old process for a while, and closed in good order."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at)
        with server.connect() as connection:
            connection.sendall(b"hello")
            expect(receive_all(connection, 5) == b"hello", "no echo")
            successor = Server("--handover", at)
            connection.sendall(b"still")
            expect(receive_all(connection, 5) == b"still", "not served on")
            expect(connection.recv(1) == b"", "not closed in good order")
        server.wait()
        visit(successor)
        successor.stop()


def test_successor_that_fails():
    """It could not listen elsewhere: the old process goes on."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at)
        other = Server()
        ran = run_echo("--handover", at, "--bind", f"tcp://127.0.0.1:{other.port}")
        expect(ran.returncode == 1 and "Address already in use" in ran.stderr, f"{ran}")
        other.stop()
        for _ in range(20):
            visit(server)
        server.stop(silent=False)
        expect(os.listdir(folder) == [], "the file stays behind")


def test_refusals():
    with tempfile.TemporaryDirectory() as folder:
        expect_refusal(run_echo("--handover", "tcp://127.0.0.1:1"), "handover", "Invalid argument", "unix:PATH")
        expect_refusal(run_echo("--handover", f"unix:{folder}/no/such"), "handover", "No such file")
        with open(f"{folder}/file", "w", encoding="ascii") as file:
            file.write("kept")
        expect_refusal(run_echo("--handover", f"unix:{folder}/file"), "handover", "Address already in use")
        silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        silent.bind(f"{folder}/silent")
        silent.listen()
        expect_refusal(run_echo("--handover", f"unix:{folder}/silent"), "Connection timed out", "end it")
        silent.close()
        expect(os.path.exists(f"{folder}/file"), "a file that is none of its own is gone")


def test_killed():
    """Whoever comes after a process that was killed is the first again."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at)
        server.process.send_signal(signal.SIGKILL)
        server.process.communicate()
        server = Server("--handover", at)
        visit(server)
        server.stop()
        expect(os.listdir(folder) == [], "the file stays behind")


def main():
    test_refusals()
    test_killed()
    test_successor_that_fails()
    test_connection_that_stays()
    test_other_numbers_of_loops()
    print(f"ok: {test_load()} connections, none refused or lost")


main()
