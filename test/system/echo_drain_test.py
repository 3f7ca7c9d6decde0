#!/usr/bin/env python3
"""How gyre-echo ends: on a signal it sends what is queued, closes and exits with 0, and a second signal makes it hurry."""
import json
import os
import signal
import time

from echo_support import PATIENCE_S, Server, expect, receive_all, select_nothing


def test_idle(number):
    server = Server("--loops", "2", "--summary")
    connections = [server.connect() for _ in range(50)]
    for connection in connections:
        connection.sendall(b"hello")
        expect(receive_all(connection, 5) == b"hello", "no echo")
    out = server.stop(number)
    for connection in connections:
        expect(connection.recv(1) == b"", "it does not close in good order")
        connection.close()
    summary = json.loads(out.splitlines()[-1])
    expect(summary["requests"] >= 50 and summary["connections"] == 50, f"{summary}")
    for name in ("io_uring_enters", "user_ns", "system_ns"):
        expect(name in summary, f"no {name} in the summary")


def fill(server):
    """A connection to which the server owes as much as it may. Returns it and what was sent."""
    data = os.urandom(1 << 20)
    connection = server.connect()
    connection.setblocking(False)
    sent = 0
    quiet = 0
    while quiet < 20:
        try:
            sent += connection.send(data[sent % len(data):])
            quiet = 0
        except BlockingIOError:
            quiet += 1
            select_nothing(0.01)
    connection.setblocking(True)
    connection.settimeout(PATIENCE_S)
    return connection, data, sent


def test_queued():
    """What the server has read comes back, in order, although it was told to end."""
    server = Server("--loops", "1")
    connection, data, sent = fill(server)
    server.process.send_signal(signal.SIGTERM)
    select_nothing(0.1)
    expect(server.process.poll() is None, "it did not wait for its output to be taken")
    received = 0
    try:
        while part := connection.recv(1 << 16):
            start = received % len(data)
            expect(part == (data + data)[start:start + len(part)], f"other bytes at {received}")
            received += len(part)
    except ConnectionResetError:
        pass  # what it has not read makes the kernel say so
    expect(0 < received <= sent, f"{received} of {sent}")
    connection.close()
    server.wait()


def test_second_signal():
    server = Server("--loops", "1")
    connection, _, _ = fill(server)
    server.process.send_signal(signal.SIGINT)
    select_nothing(0.2)
    began = time.monotonic()
    server.stop(signal.SIGINT, silent=False)
    expect(time.monotonic() - began < 2, "it did not hurry")
    connection.close()


def test_stats():
    server = Server("--loops", "1", "--stats")
    with server.connect() as connection:
        connection.sendall(b"hello")
        receive_all(connection, 5)
        lines = [server.process.stdout.readline() for _ in range(2)]
    expect(lines[0].startswith("1 connections, "), f"{lines[0]!r}")
    expect("requests/s" in lines[0] and "bytes/s" in lines[0], f"{lines[0]!r}")
    server.stop()


def main():
    test_idle(signal.SIGTERM)
    test_idle(signal.SIGINT)
    test_queued()
    test_second_signal()
    test_stats()
    print("ok")


main()
