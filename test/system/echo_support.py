"""What the tests of gyre-echo share: starting it, talking to it, ending it, and looking at it from outside."""
import json
import os
import re
import resource
import selectors
import signal
import socket
import subprocess
import sys
import time

BUILD = os.environ["GYRE_BUILD"]
ECHO = os.path.join(BUILD, "apps", "gyre-echo")
PATIENCE_S = 120
SKIPPED = 77


def fail(what):
    raise SystemExit(f"failed: {what}")


def expect(condition, what):
    if not condition:
        fail(what)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def without_stalls(errors):
    """The lines but those that say that the machine is slow."""
    slow = (": stall: ", ": backtrace: ", " stalls were not logged", " is suspect")
    return [line for line in errors.splitlines() if not any(text in line for text in slow)]


def is_silent(errors):
    """Whether nothing is said but that the machine is slow."""
    return not without_stalls(errors)


def sanitizer():
    """The one that it was built with: what that needs is counted as memory too."""
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"),
              encoding="utf-8") as options:
        return next(option["value"] for option in json.load(options)
                    if option["name"] == "b_sanitize")


class Server:
    """A running gyre-echo on a port of its own choice, unless @bind is None and @options say where."""

    def __init__(self, *options, bind="tcp://127.0.0.1:0"):
        self.process = subprocess.Popen(
            [ECHO, *(["--bind", bind] if bind else []), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.listening = self.process.stdout.readline().strip()
        match = re.fullmatch(r"listening on ((?:tcp|udp)://.*|unix.*):(\d+|.*)", self.listening)
        if not match:
            self.process.kill()
            fail(f"no listening line: {self.listening!r} {self.process.stderr.read()}")
        self.port = int(match.group(2)) if match.group(2).isdigit() else 0

    @property
    def pid(self):
        return self.process.pid

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def stop(self, number=signal.SIGTERM, silent=True):
        """Sends a signal, expects exit 0, and returns what it printed after the first line."""
        self.process.send_signal(number)
        return self.wait(silent)

    def wait(self, silent=True):
        try:
            out, errors = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail("the server does not end")
        expect(self.process.returncode == 0, f"exit {self.process.returncode}: {errors}")
        expect(not silent or is_silent(errors), f"it said: {errors}")
        return out

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def descriptors_without_connections(self):
        """How many it has open when it serves nobody; asks it, so that it is known to run."""
        with self.connect() as connection:
            connection.sendall(b"x")
            receive_all(connection, 1)
            return self.descriptors() - 1

    def until_descriptors(self, least, most):
        """Waits until it has no fewer than @least and no more than @most open."""
        end = time.monotonic() + PATIENCE_S
        while not least <= self.descriptors() <= most:
            expect(time.monotonic() < end,
                   f"{self.descriptors()} descriptors, not {least} to {most}")
            select_nothing(0.02)


def select_nothing(seconds):
    """Lets time pass in which the server can work."""
    with selectors.DefaultSelector() as nothing:
        nothing.select(seconds)


def run_echo(*options, **more):
    """Runs gyre-echo to its end."""
    return subprocess.run([ECHO, *options], capture_output=True, text=True, timeout=PATIENCE_S,
                          check=False, **more)


def expect_refusal(ran, *says):
    """One line on standard error, which says all of @says, and exit 1."""
    lines = ran.stderr.splitlines()
    expect(ran.returncode == 1, f"exit {ran.returncode}: {ran.stderr}")
    expect(len(lines) == 1, f"{len(lines)} lines: {ran.stderr}")
    for text in says:
        expect(text in lines[0], f"{text!r} is not in: {lines[0]}")


def receive_all(connection, count):
    parts = []
    while count > 0:
        part = connection.recv(min(count, 1 << 20))
        expect(part != b"", f"it closed with {count} bytes to come")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def takes_signals(pid):
    """Whether it has blocked SIGTERM, so as to take it from a descriptor."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        blocked = next(line for line in status if line.startswith("SigBlk:"))
    return int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1 == 1


def all_sleep(pid):
    """Whether none of its threads runs or waits for a CPU."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] != "S":
                    return False
        except OSError:
            pass  # it has just ended
    return True


def raise_descriptor_limit():
    """As many as may be; returns how many that is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Stream:
    """One connection of a crowd: sends @data in pieces, and expects it back."""

    def __init__(self, connection, data, pieces):
        connection.setblocking(False)
        self.connection = connection
        self.data = memoryview(data)
        self.pieces = pieces
        self.sent = 0
        self.received = 0

    def send(self):
        """Sends a piece; whether there is more to send."""
        size = next(self.pieces)
        try:
            self.sent += self.connection.send(self.data[self.sent:self.sent + size])
        except BlockingIOError:
            pass
        return self.sent < len(self.data)

    def receive(self):
        """Receives and compares; whether there is more to come."""
        try:
            part = self.connection.recv(1 << 16)
        except BlockingIOError:
            return True
        expect(part != b"", f"it closed at {self.received} of {len(self.data)}")
        end = self.received + len(part)
        expect(part == self.data[self.received:end], f"other bytes at {self.received}")
        self.received = end
        return self.received < len(self.data)


def run_streams(streams):
    """Runs all at once until each has everything back."""
    selector = selectors.DefaultSelector()
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    for stream in streams:
        selector.register(stream.connection, both, stream)
    left = len(streams)
    end = time.monotonic() + 3 * PATIENCE_S
    while left > 0:
        expect(time.monotonic() < end, f"{left} streams are not done")
        for key, events in selector.select(1):
            stream = key.data
            if events & selectors.EVENT_WRITE and not stream.send():
                selector.modify(stream.connection, selectors.EVENT_READ, stream)
            if events & selectors.EVENT_READ and not stream.receive():
                selector.unregister(stream.connection)
                left -= 1
    selector.close()
