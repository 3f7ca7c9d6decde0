#!/usr/bin/env python3
"""gyre-echo with the clients that people have: nc and socat, half-closing, resetting, reading slowly."""
import os
import shutil
import socket
import struct
import subprocess
import tempfile

from echo_support import PATIENCE_S, Server, expect, expect_refusal, receive_all, run_echo


def through(command, data):
    ran = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"{command}: exit {ran.returncode} {ran.stderr!r}")
    expect(ran.stdout == data, f"{command}: {len(ran.stdout)} bytes came back of {len(data)}")


def test_programs(server):
    data = os.urandom(3_000_000)
    if shutil.which("nc"):
        through(["nc", "-N", "127.0.0.1", str(server.port)], data)
    if shutil.which("socat"):
        through(["socat", "-t", str(PATIENCE_S), "-", f"TCP:127.0.0.1:{server.port}"], data)


def test_half_close(server):
    """What was sent comes back also after the client has ended its side."""
    data = os.urandom(1_000_000)
    with server.connect() as connection:
        connection.settimeout(PATIENCE_S)
        sent = 0
        received = b""
        while sent < len(data):
            sent += connection.send(data[sent:sent + 50_000])
            received += connection.recv(1 << 16)
        connection.shutdown(socket.SHUT_WR)
        received += receive_all(connection, len(data) - len(received))
        expect(received == data, "other bytes")
        expect(connection.recv(1) == b"", "it does not close")


def test_resets(server):
    """Connections that are reset in the middle leave nothing behind."""
    before = server.descriptors_without_connections()
    for i in range(300):
        connection = server.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.send(os.urandom(1 + i * 100))
        connection.close()
    server.until_descriptors(0, before)


def test_slow_reader(server):
    """One who sends and does not read is not read from, and has everything in the end."""
    data = os.urandom(1 << 16)
    with server.connect() as slow:
        slow.setblocking(False)
        sent = 0
        try:
            while sent < 1 << 28:
                sent += slow.send(data[sent % len(data):])
        except BlockingIOError:
            pass
        expect(sent < 1 << 28, "it takes everything")
        with server.connect() as other:
            other.sendall(b"hello")
            expect(receive_all(other, 5) == b"hello", "others are shut out")
        slow.setblocking(True)
        at = 0
        while at < sent:
            part = slow.recv(min(1 << 16, sent - at))
            start = at % len(data)
            expect(part == (data + data)[start:start + len(part)], f"other bytes at {at}")
            at += len(part)


def test_unix():
    """By a path and by an abstract name, as streams and as datagrams."""
    if not shutil.which("socat"):
        return
    data = os.urandom(300_000)
    with tempfile.TemporaryDirectory() as folder:
        for path, way in ((f"{folder}/echo", f"UNIX-CONNECT:{folder}/echo"),
                          (f"@gyre-{os.getpid()}", f"ABSTRACT-CONNECT:gyre-{os.getpid()}")):
            server = Server("--unix", path, bind=None)
            through(["socat", "-t", str(PATIENCE_S), "-", way], data)
            server.stop()
    server = Server("--udp", "--unix", f"@gyre-{os.getpid()}", bind=None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.settimeout(PATIENCE_S)
        connection.bind("")  # a name of its own, to which answers go
        connection.connect(f"\0gyre-{os.getpid()}")
        connection.send(b"hello")
        expect(connection.recv(10) == b"hello", "another datagram")
    server.stop()
    expect_refusal(run_echo("--unix", "x", "--bind", "tcp://127.0.0.1:0"), "--unix", "--bind")
    expect_refusal(run_echo("--unix", "x" * 300), "File name too long")


def main():
    server = Server("--loops", "2")
    before = server.descriptors_without_connections()
    test_programs(server)
    test_half_close(server)
    test_resets(server)
    test_slow_reader(server)
    server.until_descriptors(0, before)
    server.stop()
    test_unix()
    print("ok")


main()
