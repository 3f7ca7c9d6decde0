#!/usr/bin/env python3
"""gyre-echo with datagrams: UDP over both versions of IP, Unix sockets, socat, and many senders at once."""
import json
import os
import selectors
import shutil
import socket
import subprocess
import tempfile
import time

from echo_support import PATIENCE_S, Server, expect, expect_refusal, run_echo

UDP_SEGMENT = 103


def exchange(connection, data):
    connection.send(data)
    answer = connection.recv(1 << 17)
    expect(answer == data, f"{len(answer)} other bytes came back for {len(data)}")


def client(family, address):
    connection = socket.socket(family, socket.SOCK_DGRAM)
    connection.settimeout(PATIENCE_S)
    connection.connect(address)
    return connection


def test_sizes(server):
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with client(family, (host, server.port)) as connection:
            for size in (1, 0, 100, 1472, 1473, 9000, 65507):
                exchange(connection, os.urandom(size))


def test_batches(server):
    """What the sender's kernel cuts into datagrams comes back as as many."""
    with client(socket.AF_INET, ("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 500)
        for _ in range(50):
            data = os.urandom(500 * 20)
            connection.send(data)
            back = [connection.recv(1 << 16) for _ in range(20)]
            expect(b"".join(back) == data, "other bytes")
            expect({len(part) for part in back} == {500}, "other lengths")


def test_many(server):
    """Each of many senders has its own datagrams back, in order."""
    selector = selectors.DefaultSelector()
    for number in range(200):
        connection = client(socket.AF_INET, ("127.0.0.1", server.port))
        connection.setblocking(False)
        connection.send(b"%d 0" % number)
        selector.register(connection, selectors.EVENT_READ, [number, 0])
    left = 200
    end = time.monotonic() + PATIENCE_S
    while left > 0:
        expect(time.monotonic() < end, f"{left} wait for their datagrams")
        for key, _ in selector.select(1):
            number, count = key.data
            expect(key.fileobj.recv(100) == b"%d %d" % (number, count), "another's datagram")
            key.data[1] += 1
            if key.data[1] == 50:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                left -= 1
            else:
                key.fileobj.send(b"%d %d" % (number, count + 1))


def test_socat(server):
    if not shutil.which("socat"):
        return
    # It ends some time after its input does, whatever has come until then: so that stays open.
    with subprocess.Popen(["socat", "-T", str(PATIENCE_S), "-", f"UDP:127.0.0.1:{server.port}"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"hello")
        process.stdin.flush()
        back = process.stdout.read(5)
        process.kill()
    expect(back == b"hello", f"socat: {back!r}")


def test_unix():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "echo")
        server = Server("--loops", "1", bind=f"unix+dgram:{path}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(PATIENCE_S)
            connection.bind(os.path.join(folder, "client"))
            connection.connect(path)
            for size in (1, 0, 4096, 65507):
                exchange(connection, os.urandom(size))
        server.stop()
        expect(not os.path.exists(path), "the socket's file stays")


def main():
    server = Server("--udp", "--loops", "2", "--summary", bind="udp://[::]:0")
    test_sizes(server)
    test_batches(server)
    test_many(server)
    test_socat(server)
    summary = json.loads(server.stop())
    expect(summary["requests"] >= 14 + 1000 + 10000, f"it counts otherwise: {summary}")
    expect(summary["datagram_sends"] < summary["datagrams_sent"], f"no batch was sent: {summary}")
    test_unix()
    expect_refusal(run_echo("--udp", "--bind", "tcp://127.0.0.1:0"), "--udp", "udp://")


if __name__ == "__main__":
    main()
