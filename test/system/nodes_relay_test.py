#!/usr/bin/env python3
"""Somebody between two nodes that share a secret. It alters, drops, repeats, swaps, cuts and injects
what they say, in both directions: each time the link breaks, nothing of it is handled, and the next
link carries on with the same counter."""
import socket
import struct
import threading

from echo_support import expect
from nodes_support import Node, free_port

SECRET = "4d2ab30a7f5c2f0e1f1b4f56b6c3a9d8"
HEADER_BYTES = 5
WIRE_NOTICE = 6
TYPE_STOP = 3
BROKEN = r"TLS of channel .*(bad record mac|decryption failed|wrong version number|unexpected message|" \
         r"packet length|record layer|bad record type|unsolicited|invalid)"


def stop_in_the_clear():
    """A notice of gyre's own, as it stood on the wire without TLS."""
    head = struct.pack("<HHIIIIIHH", 0, 0, 1, 1, 0, 0, TYPE_STOP, 0, 0)
    return struct.pack("<I", WIRE_NOTICE << 24) + head


DEEDS = {
    "altered": lambda record, after: [record[:-1] + bytes([record[-1] ^ 1]), after],
    "dropped": lambda record, after: [after],
    "repeated": lambda record, after: [record, record, after],
    "swapped": lambda record, after: [after, record],
    "short of a byte": lambda record, after: [record[:-1], after],
    "with a byte more": lambda record, after: [record, b"\x17", after],
    "with a record more": lambda record, after: [b"\x17\x03\x03\x00\x20" + bytes(32), record, after],
    "with a frame more": lambda record, after: [stop_in_the_clear(), record, after],
}


class Relay:
    """Between who connects and a port; it passes on records, until it is told what to do."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.armed = [None, None]  # to the server, to the client
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, side, deed):
        with self.lock:
            self.armed[side] = deed

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                client.close()
                continue
            for side, ends in enumerate(((client, server), (server, client))):
                threading.Thread(target=self.carry, args=(side, *ends), daemon=True).start()

    def deed_for(self, side):
        with self.lock:
            deed, self.armed[side] = self.armed[side], None
        return deed

    @staticmethod
    def receive(end, count):
        got = b""
        while len(got) < count:
            more = end.recv(count - len(got))
            if not more:
                raise ConnectionResetError
            got += more
        return got

    def record(self, end):
        header = self.receive(end, HEADER_BYTES)
        return header + self.receive(end, struct.unpack(">H", header[3:])[0])

    def carry(self, side, source, target):
        try:
            while True:
                record = self.record(source)
                deed = self.deed_for(side)
                if deed is None:
                    target.sendall(record)
                else:
                    for piece in deed(record, self.record(source)):
                        target.sendall(piece)
        except OSError:
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def meddle(relay, nodes, side, name, before):
    """Returns what the counter says in the end."""
    relay.arm(side, DEEDS[name])
    nodes[side].until(BROKEN)
    after = int(nodes[1].until(r"the counter is (\d+)")[1])
    expect(after > before, f"{name}, side {side}: {before}, then {after}")
    return int(nodes[1].until(r"the counter is (\d+)")[1])


def play():
    port = free_port()
    server = Node(1, f"tcp://127.0.0.1:{port}", "--secret", SECRET)
    server.until("the counter is ready")
    relay = Relay(port)
    client = Node(2, f"tcp://127.0.0.1:{free_port()}", "--peer", relay.address, "--secret", SECRET)
    said = int(client.until(r"the counter is (\d+)")[1])
    for name in DEEDS:
        for side in (0, 1):
            said = meddle(relay, (server, client), side, name, said)
    client.stop()
    server.stop()
    ends = [line for line in client.said if line.startswith("the counter has ended")]
    expect(not ends, f"nothing that was injected was obeyed: {ends}")


play()
