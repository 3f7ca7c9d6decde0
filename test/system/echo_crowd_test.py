#!/usr/bin/env python3
"""gyre-echo under thousands of connections at once, with random sizes, byte for byte; then 100 MB on one."""
import itertools
import os
import random

from echo_support import Server, Stream, expect, raise_descriptor_limit, run_streams

CONNECTIONS_MAX = 10_000
BYTES_MAX = 40_000
ONE_STREAM_BYTES = 100 << 20


def random_sizes(generator):
    while True:
        yield int(2 ** generator.uniform(0, 15))


def crowd(server, count):
    generator = random.Random(count)
    source = os.urandom(1 << 20)
    streams = []
    for _ in range(count):
        size = int(BYTES_MAX ** generator.random()) + 1
        start = generator.randrange(len(source) - size)
        streams.append(Stream(server.connect(), source[start:start + size],
                              random_sizes(generator)))
    server.until_descriptors(count, 2 * count + 100)
    run_streams(streams)
    for stream in streams:
        stream.connection.close()


def main():
    limit = raise_descriptor_limit()
    count = min(CONNECTIONS_MAX, limit - 200)
    expect(count >= 2000, f"only {limit} descriptors are allowed")
    server = Server("--loops", "2")
    before = server.descriptors_without_connections()
    crowd(server, count)
    server.until_descriptors(0, before)
    data = os.urandom(1 << 20) * (ONE_STREAM_BYTES >> 20)
    stream = Stream(server.connect(), data, itertools.repeat(1 << 20))
    run_streams([stream])
    stream.connection.close()
    server.until_descriptors(0, before)
    server.stop()
    print(f"ok: {count} connections at once")


main()
