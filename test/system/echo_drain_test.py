#!/usr/bin/env python3
"""How gyre-echo ends: on a signal it sends what is queued, closes and exits with 0, and a second signal makes it hurry."""
import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from echo_support import (PATIENCE_S, Server, all_sleep, expect, raise_descriptor_limit,
                          receive_all, select_nothing)

STREAMS = 8
CROWD = 10000
TWIN_S = 0.1  # how long after the first signal another one is taken for the same


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
    expect(summary["requests"] >= 50 and summary["connections"] == summary["closed"] == 50, f"{summary}")
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
            quiet += all_sleep(server.pid)  # on a busy machine it may have to wait for a CPU
            select_nothing(0.01)
    connection.setblocking(True)
    connection.settimeout(PATIENCE_S)
    return connection, data, sent


def test_queued():
    """What the server has read comes back, in order, although it was told to end."""
    server = Server("--loops", "1", "--summary")
    connection, data, sent = fill(server)
    server.process.send_signal(signal.SIGTERM)
    select_nothing(0.1)
    expect(server.process.poll() is None, "it did not wait for its output to be taken")
    received = 0
    while part := connection.recv(1 << 16):
        start = received % len(data)
        expect(part == (data + data)[start:start + len(part)], f"other bytes at {received}")
        received += len(part)
    expect(0 < received <= sent, f"{received} of {sent}")
    connection.close()
    summary = json.loads(server.wait().splitlines()[-1])
    expect(received == summary["bytes"], f"{received} of {summary}")


def send_and_receive(connection, stop):
    """Sends without end, until there is nobody to send to; returns what came back before the end."""
    connection.setblocking(False)
    piece = bytes(1 << 14)
    received = 0
    while not stop.is_set():
        try:
            connection.send(piece)
        except BlockingIOError:
            select_nothing(0.001)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended; what it sent is still to be read
        try:
            part = connection.recv(1 << 16)
            if part == b"":
                break
            received += len(part)
        except BlockingIOError:
            pass
    return received


def test_traffic():
    """In the middle of traffic: all that the server has read comes back, and then the end."""
    server = Server("--loops", "2", "--summary")
    stop = threading.Event()
    with ThreadPoolExecutor(STREAMS) as threads:
        streams = [threads.submit(send_and_receive, server.connect(), stop) for _ in range(STREAMS)]
        try:
            select_nothing(0.3)
            summary = json.loads(server.stop().splitlines()[-1])
            received = sum(stream.result(PATIENCE_S) for stream in streams)
        finally:
            stop.set()
    expect(received == summary["bytes"], f"{received} of {summary}")
    expect(summary["closed"] == STREAMS, f"{summary}")


def test_crowd():
    """Idle clients, who do not close. That they do not hold it up is shown where time can be moved on."""
    count = min(CROWD, raise_descriptor_limit() - 200)
    server = Server("--loops", "2")
    before = server.descriptors_without_connections()
    connections = [server.connect() for _ in range(count)]
    server.until_descriptors(before + count, before + count)
    began = time.monotonic()
    server.stop()
    took = time.monotonic() - began
    for connection in connections:
        expect(connection.recv(1) == b"", "it does not close in good order")
        connection.close()
    return f"{count} idle connections closed in {took:.2f} s"


def until_refused(server):
    """Two signals that come before the first is heard are one."""
    while True:
        try:
            server.connect().close()
        except (ConnectionRefusedError, ConnectionResetError):
            return
        select_nothing(0.001)


def hurry(server):
    """Signals it until it ends: a signal is no second one before the time is over in which it is the first one's twin."""
    while True:
        try:
            server.process.send_signal(signal.SIGINT)
            _, errors = server.process.communicate(timeout=2 * TWIN_S)
            break
        except subprocess.TimeoutExpired:
            pass
    expect(server.process.returncode == 0, f"exit {server.process.returncode}: {errors}")
    expect("the system stops at once" in errors, f"it did not hurry: {errors!r}")


def test_second_signal():
    server = Server("--loops", "1")
    connection, _, _ = fill(server)
    server.process.send_signal(signal.SIGINT)
    until_refused(server)
    hurry(server)
    connection.close()


def test_two_signals_at_once():
    """As timeout(1) sends them. They have two numbers here, so that the kernel does not make one of them."""
    server = Server("--loops", "1")
    connection, _, _ = fill(server)
    server.process.send_signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGINT)
    until_refused(server)
    try:
        server.process.wait(timeout=5 * TWIN_S)
        expect(False, f"it did not wait for its output: {server.process.stderr.read()!r}")
    except subprocess.TimeoutExpired:
        pass
    hurry(server)
    connection.close()


def test_two_signals_lose_nothing():
    """One of each number, and the first one again: what is queued is sent all the same."""
    server = Server("--loops", "1", "--summary")
    connection, _, _ = fill(server)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        server.process.send_signal(number)
    until_refused(server)
    received = 0
    while part := connection.recv(1 << 16):
        received += len(part)
    connection.close()
    summary = json.loads(server.wait().splitlines()[-1])
    expect(received == summary["bytes"], f"{received} of {summary}")


def test_stats():
    server = Server("--loops", "1", "--stats")
    with server.connect() as connection:
        connection.sendall(b"hello")
        receive_all(connection, 5)
        line = "0 connections, "
        while line.startswith("0 connections, "):  # if a second has passed before there was one
            line = server.process.stdout.readline()
        expect(server.process.stdout.readline() != "", "it is said once")
    expect(line.startswith("1 connections, "), f"{line!r}")
    expect("requests/s" in line and "bytes/s" in line, f"{line!r}")
    server.stop()


def main():
    test_idle(signal.SIGTERM)
    test_idle(signal.SIGINT)
    test_queued()
    test_second_signal()
    test_two_signals_at_once()
    test_two_signals_lose_nothing()
    test_stats()
    for _ in range(3):
        test_traffic()
    print("ok:", test_crowd())


main()
