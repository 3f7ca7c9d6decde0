#!/usr/bin/env python3
"""A server that is replaced again and again under load: nobody is refused, and no byte or datagram is lost."""
import os
import signal
import socket
import subprocess
import tempfile
import threading

from echo_support import (ECHO, PATIENCE_S, Server, expect, expect_refusal, receive_all, run_echo, select_nothing)

CLIENTS = 8
TIMES = 5
WINDOW = 8
DATA = os.urandom(20000)


class Load:
    """Clients that connect, have @exchange do a few things, and close; without end."""

    def __init__(self, connect, exchange):
        self.connect = connect
        self.exchange = exchange
        self.stop = threading.Event()
        self.failures = []
        self.done = [0] * CLIENTS
        self.threads = [threading.Thread(target=self.run, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        while not self.stop.is_set() and not self.failures:
            try:
                with self.connect() as connection:
                    self.exchange(connection)
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


def send_pieces(connection, count=5):
    for _ in range(count):
        connection.sendall(DATA)
        expect(receive_all(connection, len(DATA)) == DATA, "other bytes")


def send_datagrams(connection):
    """A few at a time, as many as fit anywhere; each has one answer, and that is the same."""
    for number in range(20):
        sent = {b"%d.%d" % (number, part) for part in range(WINDOW)}
        for datagram in sent:
            connection.send(datagram)
        expect({connection.recv(100) for _ in range(WINDOW)} == sent, f"other datagrams, round {number}")
    connection.setblocking(False)
    try:
        expect(not connection.recv(100), "more answers than datagrams")
    except BlockingIOError:
        pass


def replace_often(bind, connect_to, folder, *options, exchange=send_pieces):
    """Starts one server after the other in the place of the one before; each of those ends by itself."""
    at = f"unix:{folder}/handover"
    server = Server("--handover", at, *options, bind=bind)
    first = server.listening
    load = Load(lambda: connect_to(server), exchange)
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


def connect_datagrams(server):
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connection.settimeout(PATIENCE_S)
    connection.connect(("127.0.0.1", server.port))
    return connection


def connect_unix_datagrams(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    connection.settimeout(PATIENCE_S)
    connection.bind("")  # a name of its own, to which answers go
    connection.connect(path)
    return connection


def test_datagrams():
    with tempfile.TemporaryDirectory() as folder:
        served = replace_often("udp://127.0.0.1:0", connect_datagrams, folder, "--loops", "2", exchange=send_datagrams)
    with tempfile.TemporaryDirectory() as folder:
        served += replace_often(f"unix+dgram:{folder}/echo", lambda _: connect_unix_datagrams(f"{folder}/echo"), folder,
                                exchange=send_datagrams)
    return served * 20 * WINDOW


def test_datagrams_of_other_numbers_of_loops():
    with tempfile.TemporaryDirectory() as folder:
        options = ("--udp", "--handover", f"unix:{folder}/handover", "--loops")
        server = Server(*options, "4", bind="udp://127.0.0.1:0")
        load = Load(lambda: connect_datagrams(server), send_datagrams)
        for loops in ("1", "3", "2"):
            successor = Server(*options, loops, bind="udp://127.0.0.1:0")
            server.wait()
            server = successor
            load.let_some_through()
        load.end()
        server.stop()


def test_inherited_datagrams():
    """A socket that somebody else has bound; what waits there when the server comes is answered too."""
    given = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    given.bind(("127.0.0.1", 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_S)
        client.connect(given.getsockname())
        client.send(b"early")
        server = subprocess.Popen([ECHO, "--udp", "--bind", f"fd:{given.fileno()}"], pass_fds=[given.fileno()],
                                  stdout=subprocess.PIPE)
        line = server.stdout.readline().decode().strip()
        expect(line == "listening on udp://127.0.0.1:%d" % given.getsockname()[1], f"it says: {line}")
        expect(client.recv(10) == b"early", "another datagram")
        client.send(b"late")
        expect(client.recv(10) == b"late", "another datagram")
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_S)
        expect(server.returncode == 0, f"exit {server.returncode}")
    given.close()


def test_supervisor():
    """It hears which process serves, before the one before has ended; and of a stop only when all ends."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.settimeout(PATIENCE_S)
        supervisor.bind(f"{folder}/notify")
        os.environ["NOTIFY_SOCKET"] = f"{folder}/notify"
        at = f"unix:{folder}/handover"
        server = Server("--handover", at)
        expect(supervisor.recv(200) == b"READY=1", "the first is not ready")
        successor = Server("--handover", at)
        expect(supervisor.recv(200) == b"READY=1\nMAINPID=%d" % successor.pid, "the second is not the main one")
        server.wait()
        successor.stop()
        expect(supervisor.recv(200) == b"STOPPING=1", "more than a stop")
        os.environ["NOTIFY_SOCKET"] = "vsock:2:1234"
        expect_refusal(run_echo(), "NOTIFY_SOCKET", "Invalid argument")
        del os.environ["NOTIFY_SOCKET"]


def test_stopped_meanwhile():
    """A server that is stopped while its successor starts leaves it the files."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at, bind=f"unix:{folder}/echo")
        for _ in range(TIMES):
            starting = subprocess.Popen([ECHO, "--handover", at, "--bind", f"unix:{folder}/echo"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            server.process.send_signal(signal.SIGTERM)
            server.process.communicate(timeout=PATIENCE_S)
            if starting.stdout.readline():
                starting.send_signal(signal.SIGTERM)
            starting.communicate(timeout=PATIENCE_S)  # it may have come too late, or as the first
            server = Server("--handover", at, bind=f"unix:{folder}/echo")
            with connect_unix(f"{folder}/echo") as connection:
                send_pieces(connection, 1)
        server.stop()
        expect(os.listdir(folder) == [], f"{os.listdir(folder)} stay behind")


def test_other_numbers_of_loops():
    """The sockets of more loops than there are now are served by those that there are, and the other way round."""
    with tempfile.TemporaryDirectory() as folder:
        at = f"unix:{folder}/handover"
        server = Server("--handover", at, "--loops", "4")
        load = Load(lambda: server.connect(), lambda connection: send_pieces(connection, 1))
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
    test_stopped_meanwhile()
    test_supervisor()
    test_inherited_datagrams()
    test_datagrams_of_other_numbers_of_loops()
    print(f"ok: {test_datagrams()} datagrams, none lost")
    print(f"ok: {test_load()} connections, none refused or lost")


main()
