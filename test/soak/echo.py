#!/usr/bin/env python3
"""Soak of a server: gyre-echo under clients that reset, close halfway and read slowly.

usage: echo.py SECONDS SEED

What comes back is compared byte by byte. GYRE_BUILD is the build folder. Prints counts; exits 1 on a failure.
"""
import collections
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

PROGRAM = os.path.join(os.environ["GYRE_BUILD"], "apps", "gyre-echo")
CLIENTS = 12
PATIENCE_S = 120


class Failure(Exception):
    """What a client has found."""


def exchange(connection, data, draw, slow=False, stop_at=None):
    """Sends @data while it reads it back, up to @stop_at bytes of it."""
    sent = received = 0
    end = len(data) if stop_at is None else stop_at
    view = memoryview(data)
    connection.setblocking(False)
    while received < end:
        wants = [connection] if sent < len(data) else []
        readable, writable, _ = select.select([connection], wants, [], PATIENCE_S)
        if not readable and not writable:
            raise Failure(f"nothing moves after {sent} sent, {received} received of {len(data)}")
        if writable:
            sent += connection.send(view[sent:sent + draw.choice((1, 100, 4096, 65536))])
        if readable:
            part = connection.recv(draw.choice((512, 4096)) if slow else 65536)
            if not part:
                raise Failure(f"closed after {received} of {len(data)}")
            if part != view[received:received + len(part)]:
                raise Failure(f"other bytes from {received} on")
            received += len(part)
            if slow and draw.random() < 0.02:
                time.sleep(draw.uniform(0, 0.02))
    connection.setblocking(True)
    return received


def until_the_end(connection):
    connection.settimeout(PATIENCE_S)
    rest = connection.recv(1)
    if rest:
        raise Failure("bytes after the last")


def play(connection, draw):
    """One connection's life; what it was."""
    kind = draw.choice(("plain", "plain", "half", "reset", "slow"))
    data = draw.randbytes(draw.choice((1, 50, 5000, 70000, 400000)))
    if kind == "slow":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        exchange(connection, data, draw, slow=True)
    elif kind == "half":
        exchange(connection, data, draw)
        connection.shutdown(socket.SHUT_WR)
        until_the_end(connection)
    elif kind == "reset":
        exchange(connection, data, draw, stop_at=draw.randrange(len(data)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        for _ in range(draw.randrange(1, 20)):
            exchange(connection, data, draw)
            data = draw.randbytes(draw.randrange(1, 3000))
    return kind, len(data)


def client(port, seed, end, counts, failures):
    draw = random.Random(seed)
    while time.monotonic() < end and not failures:
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
                kind, _ = play(connection, draw)
            counts[kind] += 1
        except (Failure, OSError) as error:
            failures.append(f"{error!r}")


def main(seconds, seed):
    server = subprocess.Popen([PROGRAM, "--bind", "tcp://127.0.0.1:0", "--loops", "2", "--summary"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    failures = []
    tallies = [collections.Counter() for _ in range(CLIENTS)]
    try:
        port = int(re.search(r":(\d+)\s*$", server.stdout.readline())[1])
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=client, args=(port, seed * 1000 + i, end, tally, failures))
                   for i, tally in enumerate(tallies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.send_signal(signal.SIGTERM)
        out, errors = server.communicate(timeout=PATIENCE_S)
    finally:
        server.kill()
    noise = [line for line in errors.splitlines()
             if ": stall: " not in line and ": backtrace: " not in line]
    if failures or server.returncode != 0 or noise:
        raise SystemExit(f"echo: seed {seed}: {failures[:5]}; exit {server.returncode}: {noise[:20]}")
    print(f"echo: seed {seed}: connections {dict(sum(tallies, collections.Counter()))}; {out.strip()}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(float(sys.argv[1]), int(sys.argv[2]))
