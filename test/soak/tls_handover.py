#!/usr/bin/env python3
"""A TLS server whose certificates are renewed and which is replaced by a successor again and again, under clients that
verify each byte and whose certificate they are shown.

usage: tls_handover.py SECONDS [SEED]

Exits 0 when each connection had all its answers, and 1 with the first that had not. GYRE_BUILD is the build folder."""
import os
import random
import signal
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from echo_support import PATIENCE_S, Server, expect, receive_all, without_stalls  # noqa: E402
from tls_support import Certificates  # noqa: E402

CLIENTS = 6
NAMES = 6
BYTES_MAX = 200_000
DATA = os.urandom(2 * BYTES_MAX)
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Files:
    """The certificate that is in force, and who may be shown: the one before too, until the renewal is confirmed."""

    def __init__(self):
        self.certificates = Certificates()
        for number in range(NAMES):
            self.certificates.make(f"server{number}")
        self.lock = threading.Lock()
        self.renewals = 0
        self.confirmed = 0
        self.put(0)

    def options(self):
        return self.certificates.options("live")

    def put(self, renewal):
        """The certificate that belongs to that renewal."""
        for ending in ("pem", "key"):
            with open(self.certificates.path(f"server{renewal % NAMES}.{ending}"), "rb") as source:
                self.replace(ending, source.read())

    def replace(self, ending, content):
        name = self.certificates.path(f"live.{ending}")
        with open(f"{name}.new", "wb") as target:
            target.write(content)
        os.replace(f"{name}.new", name)

    def context(self, version):
        context = ssl.create_default_context(cafile=self.certificates.path("ca.pem"))
        context.minimum_version = version
        context.maximum_version = version
        return context


class Client(threading.Thread):
    """Connects, has random bytes sent back, and goes away, in good order or not; without end."""

    def __init__(self, soak, number, seed):
        super().__init__(daemon=True)
        self.soak = soak
        self.random = random.Random(f"{seed}.{number}")
        self.contexts = [soak.files.context(version) for version in VERSIONS]
        self.connections = 0
        self.bytes = 0

    def run(self):
        while not self.soak.over.is_set():
            try:
                self.visit()
            except (OSError, SystemExit, ssl.SSLError) as error:
                self.soak.fail(f"a client after {self.connections} connections: {error!r}")

    def visit(self):
        least = self.soak.files.confirmed
        raw = socket.create_connection(("127.0.0.1", self.soak.port), PATIENCE_S)
        with self.random.choice(self.contexts).wrap_socket(raw, server_hostname="localhost",
                                                           suppress_ragged_eofs=False) as connection:
            self.check(connection.getpeercert(), least, self.soak.files.renewals)
            for _ in range(self.random.randrange(1, 8)):
                self.exchange(connection)
            self.leave(connection)
        self.connections += 1

    @staticmethod
    def check(certificate, least, most):
        name = dict(part[0] for part in certificate["subject"])["commonName"]
        may = {f"server{renewal % NAMES}" for renewal in range(least, most + 1)}
        expect(name in may, f"shown {name}, not one of {may}")

    def exchange(self, connection):
        count = self.random.choice((1, 100, 5000, BYTES_MAX))
        start = self.random.randrange(BYTES_MAX)
        expected = DATA[start:start + self.random.randrange(1, count + 1)]
        got = self.send(connection, expected)
        expect(got == expected, f"other bytes, of {len(expected)}")
        self.bytes += len(expected)

    @staticmethod
    def send(connection, data):
        """In pieces, for what is on its way both ways may be more than fits."""
        got = b""
        for start in range(0, len(data), 50000):
            piece = data[start:start + 50000]
            connection.sendall(piece)
            got += receive_all(connection, len(piece))
        return got

    def leave(self, connection):
        how = self.random.randrange(4)
        if how == 0:  # at once, with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how > 1:
            connection.unwrap().close()


class Soak:
    def __init__(self, seconds, seed):
        self.end = time.monotonic() + seconds
        self.random = random.Random(seed)
        self.over = threading.Event()
        self.failure = None
        self.files = Files()
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-soak.")
        self.refused = self.handed_over = 0
        self.at = f"unix:{self.folder.name}/handover"
        self.server = self.start("tcp://127.0.0.1:0")
        self.port = self.server.port
        self.bad_reloads = 0  # of the server that runs
        self.clients = [Client(self, number, seed) for number in range(CLIENTS)]

    def fail(self, what):
        self.failure = self.failure or what
        self.over.set()

    def start(self, bind):
        return Server("--handover", self.at, "--loops", str(self.random.randrange(1, 4)), *self.files.options(),
                      bind=bind)

    def renew(self):
        """Clients that connect from the confirmation on are shown the new one."""
        self.files.renewals += 1
        self.files.put(self.files.renewals)
        self.server.process.send_signal(signal.SIGHUP)
        line = self.server.process.stdout.readline().strip()
        expect(line == "certificates are renewed", f"it says {line!r} to a renewal")
        self.files.confirmed = self.files.renewals

    def renew_badly(self):
        """The one before stays; the refusal is a line in the log."""
        self.files.replace("pem", b"this is no certificate\n")
        self.server.process.send_signal(signal.SIGHUP)
        line = self.server.process.stderr.readline()
        while not without_stalls(line):
            line = self.server.process.stderr.readline()
        expect("live.pem" in line, f"it says {line!r} to a bad certificate")
        self.files.put(self.files.renewals)
        self.refused += 1

    def hand_over(self):
        successor = self.start("tcp://127.0.0.1:0")
        expect(successor.port == self.port, f"it listens on port {successor.port}, not {self.port}")
        self.server.wait()
        self.server = successor
        self.handed_over += 1

    def run(self):
        for client in self.clients:
            client.start()
        while time.monotonic() < self.end and not self.over.is_set():
            try:
                self.random.choice((self.renew, self.renew, self.renew_badly, self.hand_over, self.hand_over))()
            except (OSError, SystemExit) as error:
                self.fail(f"after {self.handed_over} successors: {error!r}")
        self.over.set()
        for client in self.clients:
            client.join(PATIENCE_S)
            expect(not client.is_alive(), "a client hangs")
        if self.failure is None:
            self.server.stop()
        else:
            self.server.process.kill()

    def report(self):
        return (f"{self.handed_over} successors, {self.files.renewals} renewals and {self.refused} refused, "
                f"{sum(client.connections for client in self.clients)} connections, "
                f"{sum(client.bytes for client in self.clients)} bytes")


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    soak = Soak(float(sys.argv[1]), seed)
    soak.run()
    print(f"{'ok' if soak.failure is None else 'failed'}: seed {seed}: {soak.report()}")
    if soak.failure is not None:
        print(soak.failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
