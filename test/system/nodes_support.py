"""What the tests of gyre-nodes share: its processes, and what they say, line by line."""
import itertools
import os
import re
import signal
import socket
import subprocess

from echo_support import BUILD, PATIENCE_S, expect, fail

NODES = os.path.join(BUILD, "apps", "gyre-nodes")
DOWN_MS = 4000
# Below those that the kernel gives to who asks for any: it stays free until it is listened at. Tests
# that run at the same time begin at different ones, and those from 30000 on are of ring_nodes_test.
PORTS_OF_ONE = 40
ports = itertools.cycle(range(10000, 30000))
for _ in range(os.getpid() * PORTS_OF_ONE % 20000):
    next(ports)
taken = []


def free_port():
    """One that no other test has either: for as long as it runs it has that of UDP too."""
    for port in ports:
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                mark.bind(("127.0.0.1", port))
                probe.bind(("127.0.0.1", port))
                taken.append(mark)
                return port
            except OSError:
                mark.close()
    return None


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS:"))


class Process:
    """A running program. What it logs and what it says come as one stream."""

    def __init__(self, *words):
        self.said = []
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)

    def until(self, pattern):
        """Reads lines until one matches; the match."""
        def too_long(*_):
            fail(f"it does not say {pattern!r}: {self.said[-20:]}")

        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(PATIENCE_S)
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            match = re.search(pattern, line)
            if match:
                signal.alarm(0)
                return match
        fail(f"it ended without {pattern!r}: {self.said[-20:]}")
        return None

    def count(self, pattern):
        """How many of the lines that have been read match."""
        return sum(re.search(pattern, line) is not None for line in self.said)

    def until_count(self, pattern, count):
        while self.count(pattern) < count:
            self.until(pattern)

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()

    def stop(self):
        self.send(signal.SIGTERM)
        self.await_end()

    def await_end(self):
        """In good order, after a signal; another signal would end it at once."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.said += out.splitlines()
        expect(self.process.returncode == 0, f"exit {self.process.returncode}: {self.said[-20:]}")


class Node(Process):
    """A running gyre-nodes."""

    def __init__(self, node, listen, *options, prefix=()):
        super().__init__(*prefix, NODES, "--node", str(node), "--listen", listen,
                         "--down-ms", str(DOWN_MS), "--interval-ms", "50", *options)


class CounterClient(Node):
    """One that asks the counter of node 1."""

    def counts(self):
        return int(self.until(r"the counter is (\d+)")[1])

    def ends(self):
        return self.count("^the counter has ended")


def expect_ends(client):
    """After the end was told no answer comes before it was found anew; an end is told once."""
    over = False
    for line in client.said:
        if line.startswith("the counter has ended"):
            expect(not over, f"its end was told twice: {client.said[-30:]}")
            over = True
        elif line == "found the counter":
            over = False
        elif re.match(r"the counter is \d+", line):
            expect(not over, f"it answers after its end: {client.said[-30:]}")


class Pair:
    """A node with a counter, and one that asks it."""

    def __init__(self, *options, client_options=None):
        self.ports = (free_port(), free_port())
        self.options = options
        self.server = self.start_server()
        self.client = CounterClient(2, self.address(1), "--peer", self.address(0),
                           *(options if client_options is None else client_options))

    def address(self, index):
        return f"tcp://127.0.0.1:{self.ports[index]}"

    def start_server(self):
        """At once: it waits itself for the listener of one that was killed."""
        server = Node(1, self.address(0), *self.options)
        server.until("the counter is ready")
        return server

    def stop(self):
        self.client.stop()
        self.server.stop()
