#!/usr/bin/env python3
"""Streams of commands with mistakes in them are understood by gyre-kv in the same way however they are cut, and
its replies are those of redis-server where no mistake was planted."""
import random
import socket
import sys

from echo_support import expect
from kv_support import Client, Kv, Redis, encode

STREAMS = 300
PLANTED = [b"\r", b"\n", b"\r\n", b"*", b"$", b"-", b"0", b"1", b"9999999999", b"\x00", b" ", b"PING", b"*0\r\n", b"*-1\r\n",
           b"$-1\r\n", b"\xff", b"echo x\r\n"]


def stream_of(rng):
    """Commands that leave nothing behind."""
    commands = []
    for _ in range(rng.randrange(1, 12)):
        word = bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 9, 10, 99, 300])))
        commands.append(rng.choice([encode("ping"), encode("echo", word), encode("ping", word), b"PING\r\n",
                                    encode("exists", word, word), encode("get", word), b"\r\n", b"get   a\n"]))
    return b"".join(commands)


def damaged(rng, stream):
    """The stream with one to three pieces put in, taken out or written over."""
    for _ in range(rng.randrange(1, 4)):
        at, width = rng.randrange(len(stream) + 1), rng.randrange(3)
        stream = stream[:at] + rng.choice(PLANTED + [b""]) + stream[at + width:]
    return stream


def pieces(rng, stream, cut):
    while stream:
        size = {"whole": len(stream), "bytes": 1, "any": rng.choice([1, 2, 3, 17, 100, 1000])}[cut]
        yield stream[:size]
        stream = stream[size:]


def replies_to(server, rng, stream, cut):
    """All that comes until the server closes, which it does when it has heard the end."""
    with Client(server) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces(rng, stream, cut):
                client.send(piece)
            client.socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass  # it has closed because of a mistake
        return client.rest()


def is_as_in_redis(kv, redis, rng, stream):
    """Redis closes when it has heard the end, whatever it owes; so a QUIT is behind the commands."""
    ours, theirs = (replies_to(server, rng, stream + encode("quit"), "whole") for server in (kv, redis))
    expect(ours == theirs, f"{stream!r}: {ours!r}, Redis: {theirs!r}")


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for loops in (1, 2):
        with Kv(loops=loops) as kv, Redis() as redis:
            for seed in range(first, first + STREAMS):
                rng = random.Random(seed)
                stream = stream_of(rng)
                is_as_in_redis(kv, redis, rng, stream)
                stream = damaged(rng, stream)
                whole = replies_to(kv, rng, stream, "whole")
                for cut in ("bytes", "any"):
                    got = replies_to(kv, rng, stream, cut)
                    expect(got == whole, f"seed {seed}, {cut}, {stream!r}: {got!r}, not {whole!r}")


if __name__ == "__main__":
    main()
