#!/usr/bin/env python3
"""gyre-chat on three nodes: rooms with members on all of them, and nodes that are killed, started again and halted."""
import re
import select
import signal
import socket
import subprocess
import time

from chat_support import CHAT
from echo_support import PATIENCE_S, expect, fail
from nodes_support import Process, free_port

NODES = (1, 2, 3)
ROOMS = [f"room{i}" for i in range(8)]  # each node is the home of one at least
DOWN_MS = 2000


class Node(Process):
    """A gyre-chat that is a node."""

    def __init__(self, node, ports):
        peers = ",".join(f"{other}=tcp://127.0.0.1:{ports[other]}" for other in NODES if other != node)
        super().__init__(CHAT, "--bind", "tcp://127.0.0.1:0", "--loops", "2", "--node", str(node),
                         "--listen", f"tcp://127.0.0.1:{ports[node]}", "--peers", peers,
                         "--down-ms", str(DOWN_MS), "--secret", "of a test, and long enough for it")
        self.port = int(self.until(r"^listening on tcp://.*:(\d+)$")[1])


# What is said to one that is in no room, or may not be.
OUTSIDE = re.compile(r"^\* (you are in no room|.*: try again$|.* done, or not$)")


class Client:
    """One that reads what there is, and no more."""

    def __init__(self, node, nick, room):
        self.socket = socket.create_connection(("127.0.0.1", node.port), PATIENCE_S)
        self.nick = nick
        self.room = room
        self.rest = b""
        self.heard = []
        self.is_outside = False
        self.type(f"/nick {nick}")
        self.join()

    def type(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def join(self):
        self.is_outside = False
        self.type(f"/join {self.room}")

    def read(self, seconds):
        """The lines that come within that time; it ends with the first of them."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return []
        piece = self.socket.recv(65536)
        expect(piece, f"{self.nick} was closed: {self.heard[-20:]}")
        *lines, self.rest = (self.rest + piece).split(b"\n")
        lines = [line.decode() for line in lines]
        self.heard += lines
        self.is_outside = self.is_outside or any(OUTSIDE.search(line) for line in lines)
        return lines

    def until(self, line, ask):
        """Calls ask() now and then, until the line has come."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            ask()
            if line in self.read(0.2):
                return
        fail(f"{self.nick} does not hear {line!r}: {self.heard[-20:]}")

    def lost(self):
        return self.heard.count(f"* you have lost {self.room}: looking for it again")


def until_heard(speaker, hearer, words):
    """The speaker says it until the hearer has heard it."""
    def say():
        for client in (speaker, hearer):
            client.read(0)
            if client.is_outside:
                client.join()
        speaker.type(words)

    hearer.until(f"<{speaker.nick}> {words}", say)


def talk(clients, words):
    """All of a room hear each other, whichever node they are at."""
    for speaker in clients:
        for hearer in clients:
            if hearer is not speaker and hearer.room == speaker.room:
                until_heard(speaker, hearer, words)


def test_rooms(clients):
    """The rooms of all nodes are told of, and a nick is one client's in all of a room."""
    first = clients[0]
    for room in ROOMS:
        count = sum(client.room == room for client in clients)
        first.until(f"* {room}: {count}", lambda: first.type("/rooms"))
    other = next(client for client in clients if client.room == first.room and client is not first)
    other.until("* somebody there has that nick", lambda: other.type(f"/nick {first.nick}"))
    other.type(f"/nick {other.nick}2")
    other.nick += "2"
    first.until(f"* {other.nick} is in {first.room}", lambda: first.type("/who"))


def test_peers():
    """A list that names a node twice, or itself, or no address, is refused and quoted."""
    for peers, why in (("2=tcp://127.0.0.1:9002,3=tcp://127.0.0.1:9003,2=tcp://127.0.0.1:9004",
                        "another one: 2=tcp://127.0.0.1:9004"),
                       ("1=tcp://127.0.0.1:9001", "peer 1=tcp://127.0.0.1:9001 is node 1 itself"),
                       ("3=tcp://127.0.0.1:9003,2=foo", 'peer 2 of node 1 has "foo", which is no address'),
                       ("two", "--peers two: up to")):
        ran = subprocess.run([CHAT, "--bind", "tcp://127.0.0.1:0", "--node", "1", "--listen", "tcp://127.0.0.1:0",
                              "--peers", peers], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        expect(ran.returncode == 1 and why in ran.stderr and ran.stderr.count("\n") == 1,
               f"{peers}: exit {ran.returncode}: {ran.stderr}")


def lost(clients):
    return sum(client.lost() for client in clients)


def main():
    test_peers()
    ports = {node: free_port() for node in NODES}
    nodes = {node: Node(node, ports) for node in NODES}
    pairs = [Client(nodes[node], f"of{node}", room) for node in (1, 2) for room in ROOMS]
    third = [Client(nodes[3], "of3", room) for room in ROOMS]
    talk(pairs + third, "hello")
    test_rooms(pairs + third)

    before = lost(pairs)
    nodes[3].kill()
    talk(pairs, "without the third")
    expect(before < lost(pairs) < before + len(pairs), f"{lost(pairs)} of {len(pairs)} lost a room")

    before = lost(pairs)
    nodes[3] = Node(3, ports)
    third = [Client(nodes[3], "again", room) for room in ROOMS]
    talk(pairs + third, "with it again")
    expect(lost(pairs) > before, "no room has moved to the node that has come")

    before = lost(pairs)
    nodes[2].send(signal.SIGSTOP)
    talk([client for client in pairs + third if client.nick != "of2" and client.nick != "of22"],
         "while one is halted")
    nodes[1].until("node 2 is down|node 2 .*down")
    nodes[2].send(signal.SIGCONT)
    talk(pairs + third, "and all together")
    expect(lost(pairs) > before, "no room was lost")

    for node in nodes.values():
        node.send(signal.SIGTERM)
    for node in nodes.values():
        node.await_end()


main()
