#!/usr/bin/env python3
"""The short programs of apps/examples: each does what the first line of its comment says, a test for each."""
import glob
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
import traceback
import urllib.request

from echo_support import BUILD, PATIENCE_S, expect, is_silent, without_stalls
from tls_support import Certificates

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "apps", "examples")
LINES_MAX = 119
# Examples that need a server of others: NAME_test.py runs them.
APART = ("postgres",)
LIBRARY_SAYS = r"gyre: (?!error: actor \w+ \[)"  # and no actor of the program


def program(name):
    return os.path.join(BUILD, "apps", "examples", f"gyre-example-{name}")


def run(name, *arguments, status=0, given=None):
    """Runs it to its end, and returns what it printed. Only a failure without output says why."""
    ran = subprocess.run([program(name), *arguments], input=given, capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == status, f"exit {ran.returncode}: {ran.stdout}{ran.stderr}")
    expect(is_silent(ran.stderr) == (status == 0 or ran.stdout != ""), f"it said: {ran.stderr!r}")
    said = "\n".join(without_stalls(ran.stderr))
    expect(not re.match(LIBRARY_SAYS, said), f"the library had to say: {said}")
    return ran.stdout


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


def check_same(name, folder):
    """A file that is copied onto itself, by another name, stays as it is."""
    path, link = os.path.join(folder, "same"), os.path.join(folder, "link")
    with open(path, "wb") as file:
        file.write(b"kept")
    os.link(path, link)
    run(name, path, link, status=1)
    with open(path, "rb") as file:
        expect(file.read() == b"kept", "it is cut")


# ---- programs that end by themselves ----


def test_ask_all():
    out = run("ask_all")
    expect(out.startswith("of 6 shops 4 answer, the cheapest with 101 cents\n"), out)
    expect(re.search(r"\nthe first answer is 1\d\d cents, and [0-5] are given up\n", out) is not None, out)


def test_await():
    expect(run("await") == "mirror 2 answers first; the other ask: Operation canceled\n", "another mirror")


def test_batch():
    *writes, last = run("batch").splitlines()
    expect([int(n) for line in writes for n in line.split()] == list(range(100)), writes)
    expect(last == f"100 entries were kept by {len(writes)} writes" and len(writes) < 100, last)


def test_cause():
    expect(run("cause") == "50 cents: Permission denied, 35 more are due\n85 cents: receipt 1\n", "another postage")


def test_coroutine():
    if not os.path.exists(program("coroutine")):
        sys.exit(77)
    expect(run("coroutine") == "tea: 90 cents\nmilk: 180 cents\ncoffee: No such file or directory\n", "another shop")


def test_embed():
    lines = run("embed", given="abc\nhello\n").splitlines()
    expect(lines == ["4 bytes", "6 bytes"], f"it printed {lines}")
    lines = run("embed", given="x" * 300 + "\nend").splitlines()
    expect(lines == ["255 bytes", "46 bytes", "3 bytes"], f"it printed {lines}")
    # A line without its end does not keep it from hearing an answer.
    heard, terminal = os.openpty()
    with subprocess.Popen([program("embed")], stdin=subprocess.PIPE, stdout=terminal) as process:
        os.close(terminal)
        process.stdin.write(b"abc\nhel")
        process.stdin.flush()
        expect(os.read(heard, 100) == b"4 bytes\r\n", "another answer")
        process.stdin.write(b"lo\n")
        process.stdin.flush()
        expect(os.read(heard, 100) == b"6 bytes\r\n", "another answer")
        process.stdin.close()
        expect(process.wait(PATIENCE_S) == 0, "it failed")
    os.close(heard)


def test_libuv():
    if not os.path.exists(program("libuv")):
        sys.exit(77)
    lines = run("libuv").splitlines()
    expect(lines == [f"libuv's timer, number {i}" for i in (1, 2, 3)], f"it printed {lines}")


def test_encode():
    expect(run("encode") == "node 2: 12 pieces for Ann\n", "another order")


def test_event():
    lines = run("event").splitlines()
    expect(lines[:5] == [f"TWO {n} goes to {1 if n < 2 else 0}" for n in range(5)], lines)
    expect(lines[5:9] == ["TWO is 0", "TWO is 1", "missed 3", "ONE 100 goes to 2"], lines)
    expect(lines[9] == "ONE is 100", lines)


def test_file():
    with tempfile.TemporaryDirectory() as folder:
        source, copy = os.path.join(folder, "source"), os.path.join(folder, "copy")
        for data in (b"", os.urandom(1), os.urandom(700001)):
            with open(source, "wb") as file:
                file.write(data)
            expect(run("file", source, copy) == f"{len(data)} bytes\n", "another length")
            with open(copy, "rb") as file:
                expect(file.read() == data, "another copy")
        run("file", os.path.join(folder, "none"), copy, status=1)
        run("file", source, folder, status=1)
        check_same("file", folder)
        copied = subprocess.run([program("file"), source, "/dev/full"], capture_output=True, text=True,
                                timeout=PATIENCE_S, check=False)
        expect("No space left on device" in copied.stderr, copied.stderr)
    run("file", status=1)


def test_forward():
    expect(run("forward") == "three stamps cost 255 cents\nthe parcel finds nobody: No such process\n", "another desk")


def test_group():
    found = re.findall(r"customer (\d): order (\d) by worker (\S+)\n", run("group"))
    expect(len(found) == 18, found)
    for customer in "012345":
        own = [(order, worker) for who, order, worker in found if who == customer]
        expect([order for order, _ in own] == ["1", "2", "3"], own)
        expect(len({worker for _, worker in own}) == 1, own)


def test_grow():
    expect(run("grow") == "100 parcels are packed, by up to 4\n", "another number of packers")


def test_inspect():
    """The tree is of actors that live, the last lines are of actors that have ended."""
    out = run("inspect")
    expect(re.search(r"\nclass +actors +handled.*\n(.*\n)*net +1 .*\nplayer +2 ", out) is not None, out)
    expect(re.search(r"\n/\n  user\n    net-1  net \[.*\]\n      player-1  player \[.*\]\n"
                     r"      player-2  player \[.*\]\n  system\n", out) is not None, out)
    expect(out.endswith("\nnet: 100001 messages handled\nplayer: 100000 messages handled\n"), out)


def test_log():
    lines = run("log").splitlines()
    expect(any(line.startswith("[warning] actor worker /user/main-1/worker-") and
               line.endswith(": its handler of task failed: Input/output error") for line in lines), lines)
    expect("[lost] nobody understands a riddle" in lines, lines)
    own = [line for line in lines if line.startswith("[info] actor worker [0:")]
    expect([line.split("]: ")[1] for line in own] == ["cannot do a task: Input/output error", "goes"], lines)


def test_mailbox():
    lines = run("mailbox").splitlines()
    expect(lines[:2] == [f"job {n} is refused: No buffer space available" for n in (9, 10)], lines)
    jobs = [line for line in lines if line.endswith(" is done")]
    expect(jobs == [f"job {n} is done" for n in (7, 1, 2, 3, 4, 5, 6, 8)], lines)
    marks = [line for line in lines if "wait" in line]
    expect(marks == ["behind: 6 wait", "in time again: 2 wait"], lines)


def test_move():
    expect(run("move") == "the same block came back, and its first byte is 255\n"
           "to an actor that has stopped: No such process, and 0 blocks are left\n", "a copy")


def test_name():
    expect(run("name") == "a second service: File exists\nlookup: found\nasked 1 times\n"
           "lookup: No such file or directory\nlookup: found\nasked 1 times\n", "other answers")


def test_offload():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(b"foobar")
        expect(run("offload", path, path) == 2 * f"bf9cf968 {path}\n", "another sum")
        none = path + ".none"
        expect(run("offload", none, path, status=1) ==
               f"{none}: No such file or directory\nbf9cf968 {path}\n", "other lines")
    run("offload", status=1)


def test_outside():
    expect(run("outside") == 2 * "a thread has deposited: all\n" + "balance: 2000 (0)\n", "less")


def test_overflow():
    expect(run("overflow") == "log (all sent): 1 2 3\nscreen (all sent): 8 9 10\n14 readings were dropped\n",
           "other readings")


def test_overload():
    """What it says of its shortage of memory is no failure here."""
    ran = subprocess.run([program("overload"), "256"], capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr}")
    expect(re.fullmatch(r"busy with \d+ blocks\nrecovered\n", ran.stdout) is not None, ran.stdout)


def test_pact():
    expect(run("pact") == "line 1 is written\nline 2 is written\nline 3 is written\n"
           "the reader closes its file\nthe reader has ended: No space left on device\n", "another end")


def test_pipe():
    for given in ("one\n\nthree\n", "one\n\nthree"):
        expect(run("pipe", given=given) == "     1\tone\n     2\t\n     3\tthree\n", "other lines")
    many = run("pipe", given="x\n" * 100000).splitlines()
    expect(many[-1] == "100000\tx" and len(many) == 100000, many[-1])
    with subprocess.Popen([program("pipe")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left:
        left.stdout.close()  # nobody reads
        left.stdin.write(b"line\n")
        left.stdin.close()
        expect(left.wait(PATIENCE_S) == 0, f"exit {left.returncode}")


def test_place():
    lines = run("place").splitlines()
    expect(lines == ["the ticker is on loop 1 of its own", "the ticker has gone on meanwhile",
                     "another one: no loop is free", "when the first has stopped: here it is"], f"it printed {lines}")


def test_pools():
    lines = run("pools").splitlines()
    expect(lines == ["quick work is done", *(f"slow work {i} is done" for i in (1, 2, 3))], f"it printed {lines}")


def test_protocol():
    expect(run("protocol") == "of 100 cents: 3\nbalance: 120\n", "another account")


def test_request():
    expect(run("request") == "quick: 270 cents\nslow: 0 Connection timed out\n", "other prices")


def test_resize():
    expect(run("resize") == "1 loops: 30 0 0\n3 loops: 10 10 10\n2 loops: 15 15 0\n", "other loops")


def test_resolve():
    out = run("resolve", "127.0.0.1", "localhost", "[::1]")
    match = re.fullmatch(r"127.0.0.1: tcp://127.0.0.1:80\nlocalhost: (.*)\n"
                         r"\[::1\]: tcp://\[::1\]:80\n", out)
    expect(match and {"tcp://127.0.0.1:80", "tcp://[::1]:80"} & set(match.group(1).split()), out)
    out = run("resolve", "a b", "127.0.0.1", status=1)
    expect(out == "a b: Invalid argument\n127.0.0.1: tcp://127.0.0.1:80\n", out)
    expect(run("resolve", "a b", status=1) == "a b: Invalid argument\n", "it was found")
    run("resolve", status=1)


def test_restart():
    expect(run("restart") == "job 1 is done\njob 2 is done\njob 3 fails\n"
           "restart, with 2 jobs done\njob 4 is done\njob 5 is done\njob 6 fails\n"
           "restart, with 4 jobs done\njob 7 is done\njob 8 is done\njob 9 fails\n"
           "the worker has ended: Input/output error\n", "another life")


def test_service():
    expect(run("service") == "a clerk is on node 2\n2 apples: 42\nnobody serves any more\n", "another sale")


def test_shutdown():
    lines = run("shutdown").splitlines()
    expect(lines == [*(f"order {i} is packed" for i in (1, 2, 3)), "3 orders are in the books"], f"it printed {lines}")


def test_state():
    expect(run("state") == "guest 1 waits\nguest 2 waits\nguest 3 waits\nthe door is open for 3\n"
           "guest 1 is in\nguest 2 is in\nguest 3 is in\n", "another order")


def test_supervise():
    lines = run("supervise").splitlines()
    failed = "/user/main-1/desk-1/worker-{} has failed at job {}: Input/output error"
    restarts = ["/user/main-1/desk-1/worker-1 restarts", "/user/main-1/desk-1/worker-2 restarts"]
    # The workers take turns; one of them is at job 3 or 6 first.
    expect(sorted(line for line in lines if "has failed" in line)[-1].endswith("Input/output error"), lines)
    expect(sum("has failed" in line for line in lines) == 3, lines)
    expect(sorted(line for line in lines if "restarts" in line) == sorted(restarts * 2), lines)
    expect(lines[-1].startswith("the desk has ended at job "), lines)
    expect(any(line in (failed.format(2, 3), failed.format(1, 6)) for line in lines), lines)


def test_stop():
    *packed, clerk, shop, another = run("stop").splitlines()
    expect(sorted(packed) == [f"order {n} is packed" for n in (1, 2, 3)], packed)
    expect((clerk, shop) == ("the clerk goes", "the shop is closed"), (clerk, shop))
    expect(another == "another order: No such process", another)


def test_stream():
    expect(run("stream") == "22.0 degrees, of 3 readings: Success\n25.7 degrees, of 3 readings: Success\n"
           "28.5 degrees, of 2 readings: Success\n0.0 degrees, of 0 readings: Input/output error\n", "another mean")


def test_stream_actors():
    expect(run("stream_actors") == "1 2 3\n4 5 6\n7 8 9\n10 \n10 stones: Success\n", "other stones")


def test_suspend():
    expect(run("suspend") == "replica 2 was the first\n", "another replica")


def test_tail():
    expect(run("tail") == "line 0: 0 0 0 4 2 3\nline 1:\nline 2: 0 0 0 0 0 0 1\n", "words of a length")


def test_take():
    expect(run("take") == "taken, once\nthe book is gone, its page says: call me Ishmael\n", "another page")


def test_timer():
    match = re.fullmatch(r"saved (\d+) letters after (\d+) ms of quiet\n", run("timer"))
    expect(match and int(match.group(1)) >= 5 and int(match.group(2)) >= 50, match)


def test_watch():
    expect(run("watch") == "worker 1 has ended: Input/output error\n"
           "worker 2 has ended: stopped\nworker 3 works\n", "another life")


# ---- programs that serve, or are clients ----


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


# ---- all of them ----


def examples():
    return sorted(os.path.basename(path).split(".")[0] for path in glob.glob(os.path.join(SOURCES, "*", "*.c*")))


def check_form(name):
    """It is short, and its comment begins with a line that scripts/run can print."""
    source = glob.glob(os.path.join(SOURCES, "*", f"{name}.c*"))[0]
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    expect(len(lines) <= LINES_MAX, f"{len(lines)} lines, at most {LINES_MAX}")
    expect(lines[0] == "/*" and re.fullmatch(r" \* [A-Z]\w*( \w+)?: .*\.", lines[1]) and lines[2] == " *",
           f"its first line is {lines[1]!r}")
    public = re.compile(r"#include (<gyre/gyre\.h>|<[a-z_/-]+\.h>)" if source.endswith(".c")
                        else r"#include <(gyre/gyre\.hpp|[a-z]+)>")
    expect(all(public.fullmatch(line) for line in lines if line.startswith("#include")),
           "it uses more than the public headers")


def outcome(name):
    """None, or why the test of @name has failed."""
    test = globals().get(f"test_{name}")
    try:
        check_form(name)
        if name in APART:
            return None
        expect(test is not None, "it has no test")
        test()
    except SystemExit as failure:
        return "# SKIP" if failure.code == 77 else str(failure)
    except Exception:  # pylint: disable=broad-except
        return traceback.format_exc()
    return None


def main():
    names = examples()
    failed = 0
    print("TAP version 13", flush=True)
    for number, name in enumerate(names, 1):
        why = outcome(name)
        if why is None or why == "# SKIP":
            print(f"ok {number} - {name}{' # SKIP' if why else ''}", flush=True)
            continue
        failed += 1
        print(f"not ok {number} - {name}", flush=True)
        for line in why.splitlines():
            print(f"# {line}", flush=True)
    print(f"1..{len(names)}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
