#!/usr/bin/env python3
"""What 10,000 idle connections cost gyre-echo in memory of its own, on one loop and on two."""
from echo_support import (Server, expect, raise_descriptor_limit, receive_all, sanitizer,
                          skip)

CONNECTIONS = 10_000
DESCRIPTORS = CONNECTIONS + 200
BYTES_MAX = 2048  # of one connection, besides what the kernel takes


def memory_bytes(pid):
    """What is resident, and the share of it that is its own."""
    resident = proportional = 0
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                resident = int(line.split()[1]) << 10
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        for line in rollup:
            if line.startswith("Pss:"):
                proportional = int(line.split()[1]) << 10
    return resident, proportional


def echo(connection, byte):
    connection.sendall(byte)
    expect(receive_all(connection, 1) == byte, "it sent back something else")


def each(server, before, what):
    """The bytes for each connection since @before; the larger of both ways to count."""
    now = memory_bytes(server.pid)
    expect(now[0] > 0 and now[1] > 0, "the kernel does not tell")
    bytes_each = max(now[i] - before[i] for i in (0, 1)) / CONNECTIONS
    expect(bytes_each <= BYTES_MAX, f"{bytes_each:.0f} bytes for each connection that {what}")
    return bytes_each


def measure(loops):
    server = Server("--loops", str(loops))
    idle = server.descriptors_without_connections()
    before = memory_bytes(server.pid)
    connections = [server.connect() for _ in range(CONNECTIONS)]
    server.until_descriptors(CONNECTIONS + idle, CONNECTIONS + idle)
    silent = each(server, before, "has said nothing")
    for connection in connections:
        echo(connection, b"1")
    heard = each(server, before, "has said something")
    # There are far fewer receive buffers: those that are idle hold none.
    for connection in reversed(connections):
        echo(connection, b"2")
    for connection in connections:
        connection.close()
    server.until_descriptors(0, idle)
    server.stop()
    print(f"ok: {loops} loops: {silent:.0f} bytes for each connection that has said nothing, "
          f"{heard:.0f} for each that has")


def main():
    if sanitizer() != "none":
        skip(f"it is built with -Db_sanitize={sanitizer()}")
    limit = raise_descriptor_limit()
    if limit < DESCRIPTORS:
        skip(f"{limit} descriptors are allowed, and {DESCRIPTORS} are needed")
    for loops in (1, 2):
        measure(loops)


main()
