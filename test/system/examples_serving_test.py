#!/usr/bin/env python3
"""The short programs of apps/examples that serve, or are clients: each does what the first line of its comment
says, a test for each."""
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

from echo_support import PATIENCE_S, expect, is_silent
from examples_support import check_same, program, report, run, tested
from tls_support import Certificates


class Server:
    """A program that serves until it is stopped."""

    def __init__(self, name, *arguments, first=r"listening on port (\d+)"):
        self.process = subprocess.Popen([program(name), *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.line()
        match = re.fullmatch(first, line)
        if not match:
            self.process.kill()
            expect(False, f"its first line is {line!r}: {self.process.stderr.read()}")
        self.port = int(match.group(1)) if match.groups() else 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        self.stop()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def stop(self, number=signal.SIGTERM):
        """Ends it, if it runs, and returns what it printed after the lines that were read."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self):
        if self.process.stdout.closed:
            return ""
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        expect(self.process.returncode in (0, -signal.SIGKILL) and is_silent(errors),
               f"exit {self.process.returncode}: {errors}")
        return out


def refused_connects():
    """How many connects of this network have failed."""
    with open("/proc/net/snmp", encoding="ascii") as file:
        names, values = (line.split() for line in file if line.startswith("Tcp:"))
    return int(values[names.index("AttemptFails")])


def wait_until_refused(before):
    end = time.monotonic() + PATIENCE_S
    while refused_connects() == before:
        expect(time.monotonic() < end, "it has not tried to connect")
        time.sleep(0.01)


def read_all(connection):
    with connection, connection.makefile("rb") as file:
        return file.read()


def test_budget():
    lines = run("budget").splitlines()
    expect(lines == ["the store had some of the 300 ms left", "the shop gave up: Connection timed out",
                     "the work that nobody waits for was not done"], lines)


def test_bytes():
    with Server("bytes") as server:
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=PATIENCE_S) as answer:
                expect(answer.read() == b"there only once\n", "another page")


def test_client_actor():
    """One server answers all lines, another one only the first."""
    given = ("one", "", "three")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        for answers, status in ((3, 0), (1, 1)):
            with subprocess.Popen([program("client_actor"), address, *given], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as client:
                with listener.accept()[0] as connection, connection.makefile("rb") as file:
                    heard = [file.readline() for _ in given]
                    connection.sendall(b"".join(b"heard " + line for line in heard[:answers]))
                out, errors = client.communicate(timeout=PATIENCE_S)
            expect(heard == [f"{line}\n".encode() for line in given], heard)
            expect(out.splitlines() == [f"an answer of {n} bytes" for n in (9, 6, 11)[:answers]], out)
            expect(client.returncode == status and is_silent(errors) == (status == 0), (client.returncode, errors))
    run("client_actor", status=1)


def test_codec():
    with Server("codec") as server, server.connect() as client:
        client.sendall(b"one\r\n" + b"x" * 80 + b"\n" + b"y" * 81 + b"\n" + b"last\n")
        client.shutdown(socket.SHUT_WR)
        heard = read_all(client).decode().splitlines()
        expect(heard == ["ONE", "X" * 80, "that line was too long", "LAST"], heard)


def test_connect():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(PATIENCE_S)
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        before = refused_connects()
        with subprocess.Popen([program("connect"), address, "are you there?"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as client:
            wait_until_refused(before)
            listener.listen()
            with listener.accept()[0] as connection, connection.makefile("rw") as file:
                expect(file.readline() == "are you there?\n", "another line")
                file.write("yes\n")
                file.flush()
            out, errors = client.communicate(timeout=PATIENCE_S)
            expect(client.returncode == 0 and out == "yes\n" and is_silent(errors), (out, errors))
        for answer, status, said in ((b"y" * 3000 + b"\n", 0, "y" * 3000 + "\n"), (b"", 1, "")):
            with subprocess.Popen([program("connect"), address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as client:
                with listener.accept()[0] as connection, connection.makefile("rb") as file:
                    expect(file.readline() == b"hello\n", "another line")
                    connection.sendall(answer)
                out, errors = client.communicate(timeout=PATIENCE_S)
                expect((client.returncode, out) == (status, said) and is_silent(errors) == (status == 0), (out, errors))
    run("connect", status=1)


def connect_unix(path):
    """Connects to a server that has just been started."""
    end = time.monotonic() + PATIENCE_S
    while True:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE_S)
        try:
            client.connect(path)
            return client
        except (FileNotFoundError, ConnectionRefusedError):
            client.close()
            expect(time.monotonic() < end, "it does not listen")
            time.sleep(0.01)


def test_connection_actor():
    """Two clients, each counts its own lines; and one that goes before it is answered."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with subprocess.Popen([program("connection_actor"), f"unix:{path}"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as server:
            with connect_unix(path) as hasty:
                hasty.sendall(b"a line\n")
            clients = [connect_unix(path) for _ in range(2)]
            for number, client in enumerate(clients, 1):
                client.sendall(b"a line\n" * number)
            for number, client in enumerate(clients, 1):
                with client, client.makefile("r") as file:
                    heard = [file.readline() for _ in range(number)]
                expect(heard == [f"welcome: line {n}\n" for n in range(1, number + 1)], heard)
            with connect_unix(path) as client:
                client.sendall(b"one\ntwo\nthree\n")
                client.shutdown(socket.SHUT_WR)
                expect(read_all(client) == b"welcome: line 1\nwelcome: line 2\nwelcome: line 3\n", "an answer is lost")
            with connect_unix(path) as deaf:
                deaf.settimeout(0.5)
                sent = 0
                try:
                    while sent < 50 << 20:
                        sent += deaf.send(b"\n" * 65536)
                except TimeoutError:
                    pass
                expect(sent < 10 << 20, f"{sent} bytes are read from a client that does not read")
            server.terminate()
            out, errors = server.communicate(timeout=PATIENCE_S)
            expect(server.returncode == 0 and out == "" and is_silent(errors), (out, errors))


def test_datagram():
    with Server("datagram") as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_S)
        client.bind(("127.0.0.1", 0))
        for number, data in enumerate((b"anything", b""), 1):
            client.sendto(data, ("127.0.0.1", server.port))
            heard = client.recv(1000).decode()
            expect(heard == f"answer {number}: udp://127.0.0.1:{client.getsockname()[1]}", heard)


def test_decode():
    ping, echo = b"*1\r\n$4\r\nPING\r\n", b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"
    with Server("decode") as server:
        with server.connect() as client:
            client.sendall(ping + echo + b"*1\r\n$4\r\nQUIT\r\n")
            client.shutdown(socket.SHUT_WR)
            heard = read_all(client)
            expect(heard == b"+PONG\r\n$2\r\nhi\r\n-ERR unknown\r\n", heard)
        with server.connect() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in echo:
                client.sendall(bytes([byte]))
            expect(client.recv(100).startswith(b"$"), "a command in pieces is not understood")
        with server.connect() as client:
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$3\r\na\0b\r\n" + ping)
            client.shutdown(socket.SHUT_WR)
            heard = read_all(client)
            expect(heard == b"$3\r\na\0b\r\n+PONG\r\n", f"a zero in a string: {heard}")
        for wrong in (b"hello", b"*1\r\n$4\r\nPI"):
            with server.connect() as client:
                client.sendall(ping + wrong)
                client.shutdown(socket.SHUT_WR)
                expect(read_all(client) == b"+PONG\r\n", "nonsense is answered")


def test_exchange():
    with Server("exchange") as server:
        with server.connect() as client:
            client.sendall(b"wait 100\nwait 1\n" + b"wait 2\n" * 30)
            client.shutdown(socket.SHUT_WR)
            heard = read_all(client).decode().splitlines()
            expect(heard == ["waited 100", "waited 1", *["waited 2"] * 30], heard)
        for wrong in (b"what?\n", b"wait\n", b"wait \n", b"wait x\n", b"wait 1 \n", b"wait -1\n", b"wait 4294967296\n",
                      b"wait 1\0\n", b"wait 00000000000000000001\n"):
            with server.connect() as client:
                client.sendall(wrong)
                expect(read_all(client) == b"", f"{wrong} is answered")
        taken = subprocess.run([program("exchange"), f"tcp://127.0.0.1:{server.port}"], capture_output=True,
                               text=True, timeout=PATIENCE_S, check=False)
        expect(taken.returncode == 1 and taken.stdout == "", f"it says that it listens: {taken}")


def test_handover():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with Server("handover", path) as first:
            expect(read_all(first.connect()) == b"process %d\n" % first.process.pid, "another")
            with Server("handover", path) as second:
                expect(second.port == first.port, "the second has a port of its own")
                first.wait()
                expect(read_all(second.connect()) == b"process %d\n" % second.process.pid, "another")
    run("handover", status=1)


def test_idle():
    """A machine that is held up may ask before it has heard anything."""
    with Server("idle", "tcp://127.0.0.1:0", "300") as server, server.connect() as client:
        client.sendall(b"hello\n")
        heard = read_all(client)
        expect(re.fullmatch(rb"(still there\?\n)?hello\nstill there\?\ngoodbye\n", heard), heard)


def test_listen():
    """Of three clients one is refused, until another one has gone."""
    with Server("listen", first=r"listening tcp://127.0.0.1:(\d+)") as server:
        steps = [r"accepted tcp://127.0.0.1:\d+", "registered", "connected"]
        with server.connect() as first:
            with server.connect() as second:
                lines = sorted(server.line() for _ in 2 * steps)
                expect(all(re.fullmatch(step, line) for step, line in zip(sorted(2 * steps), lines)), lines)
                expect(read_all(server.connect()) == b"", "the third is served")
                line = server.line()
                expect(re.fullmatch(r"refused tcp://127.0.0.1:\d+", line), line)
                second.sendall(b"second")
                second.shutdown(socket.SHUT_WR)
                expect(read_all(second) == b"second", "no echo")
            expect(server.line() == "closed", "the second has not gone")
            first.sendall(b"first")
            first.shutdown(socket.SHUT_WR)
            expect(read_all(first) == b"first", "no echo")
        expect(server.line() == "closed", "the first has not gone")


def test_number():
    with Server("number") as server, server.connect() as client:
        for value in (1.5, 2.5, -1.0):
            client.sendall(struct.pack(">HHd", 10, 7, value))
        with client.makefile("rb") as file:
            for count, mean in ((1, 1.5), (2, 2.0), (3, 1.0)):
                expect(file.read(13) == struct.pack(">HHBd", 11, 7, count, mean), "another mean")
            client.sendall(struct.pack(">HH", 2, 7))
            expect(file.read() == b"", "half a frame is answered")


def try_password(server, password):
    """What comes behind it, in the end nothing if it is wrong."""
    with server.connect() as client:
        client.sendall(password + b"\n")
        try:
            client.shutdown(socket.SHUT_WR)
            return read_all(client)
        except OSError:
            return b""


def test_pipeline():
    with Server("pipeline", "open") as server:
        with server.connect() as client:
            client.sendall(b"open\nfirst\nsecond\n")
            client.shutdown(socket.SHUT_WR)
            expect(read_all(client) == b"welcome\nfirst\nsecond\n", "another echo")
        for wrong in (b"sesame", b"ope", b"openly", b"open\0xx", b""):
            expect(try_password(server, wrong) == b"", f"{wrong} is taken")
    longest = "p" * 64
    with Server("pipeline", longest) as server:
        expect(try_password(server, longest.encode()) == b"welcome\n", "the longest password is refused")
        for wrong in (longest[:-1], longest + "p"):
            expect(try_password(server, wrong.encode()) == b"", f"{wrong} is taken")
    run("pipeline", longest + "p", status=1)


def test_schedule():
    first, *lines, last = run("schedule").splitlines()
    match = re.fullmatch(r"it opens after (\d+) ms", first)
    expect(match and int(match.group(1)) >= 30, first)
    expect(lines[:2] == ["the call is off", "tick"], lines)
    expect(lines.count("ring") == 1 and lines.count("tick") == len(lines) - 2, lines)
    expect(last == "the date has come", last)


def test_send():
    """One client reads all, and another one goes in the middle."""
    data = b"".join(bytes([ord("a") + piece % 26]) * 65536 for piece in range(256))
    with Server("send") as server:
        expect(read_all(server.connect()) == data, "other pieces")
        expect(server.line() == "sent 256 pieces: Success", "not all was sent")
        with server.connect() as client:
            client.shutdown(socket.SHUT_WR)
            expect(read_all(client) == data, "a client that has ended gets less")
            expect(server.line() == "sent 256 pieces: Success", "not all was sent")
        with server.connect() as client:
            client.recv(1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line = server.line()
        expect(re.fullmatch(r"sent \d+ pieces: .*", line) and "Success" not in line, line)


def test_sendfile():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        data = os.urandom(3000001)
        with open(path, "wb") as file:
            file.write(data)
        with Server("sendfile", path) as server:
            for _ in range(2):
                expect(read_all(server.connect()) == data, "another file")
        run("sendfile", path + ".none", status=1)
        run("sendfile", folder, status=1)


def test_signal():
    with Server("signal", first=r"try: kill -HUP (\d+)") as server:
        for _ in range(2):
            server.process.send_signal(signal.SIGHUP)
            expect(server.line() == "Hangup", "no hangup")
        expect(server.stop() == "Terminated\n", "no end")


def test_stream_copy():
    """To a file, and to a server that reads late."""
    with tempfile.TemporaryDirectory() as folder:
        source, copy = os.path.join(folder, "source"), os.path.join(folder, "copy")
        for data in (b"", os.urandom(1), os.urandom(3000001)):
            with open(source, "wb") as file:
                file.write(data)
            expect(run("stream_copy", source, copy) == f"{len(data)} bytes\n", "another length")
            with open(copy, "rb") as file:
                expect(file.read() == data, "another copy")
            with socket.create_server(("127.0.0.1", 0)) as listener:
                address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
                with subprocess.Popen([program("stream_copy"), source, address], stdout=subprocess.PIPE,
                                      text=True) as client:
                    expect(read_all(listener.accept()[0]) == data, "another file")
                    out = client.communicate(timeout=PATIENCE_S)[0]
                    expect(client.returncode == 0 and out == f"{len(data)} bytes\n", out)
        expect(run("stream_copy", source + ".none", copy, status=1) == "", "a file that there is not")
        expect(run("stream_copy", source, folder, status=1) == "", "a folder")
        check_same("stream_copy", folder)
    run("stream_copy", status=1)


def test_test():
    expect(run("test") == "the light goes out, and lines are cut\n", "other output")


def test_tls():
    certificates = Certificates()
    certificates.make("server")
    context = ssl.create_default_context(cafile=certificates.path("ca.pem"))
    with Server("tls", certificates.path("server.pem"), certificates.path("server.key")) as server:
        with context.wrap_socket(server.connect(), server_hostname="localhost") as client:
            with client.makefile("rwb") as file:
                heard = file.readline()
                expect(heard == f"hello by TLS 1.3, {client.cipher()[0]}\n".encode(), heard)
                file.write(b"echo\n")
                file.flush()
                expect(file.readline() == b"echo\n", "no echo")
    run("tls", status=1)


TESTED = tested(globals())

if __name__ == "__main__":
    sys.exit(report(sorted(TESTED), globals()))
