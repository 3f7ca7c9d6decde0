#!/usr/bin/env python3
"""A node that the other one is told to dial where nobody listens: its asks fail at once, and both say
why; it is told itself where the other one is, and is answered."""
from echo_support import expect
from nodes_support import Node, free_port


def play():
    ports = free_port(), free_port(), free_port()
    address = [f"tcp://127.0.0.1:{port}" for port in ports]
    # Both ask, for what neither of them has: that is an answer as well.
    first = Node(1, address[0], "--peer", address[2], "--peer-node", "2", "--down-ms", "600000")
    second = Node(2, address[1], "--peer", address[0], "--down-ms", "600000")
    first.until(rf"node 2 has a link to this node, but cannot be dialled at {address[2]}: Connection refused")
    second.until(rf"node 1 cannot dial this node at {address[2]}: Connection refused")
    for _ in range(3):
        second.until("cannot find the counter: Cannot assign requested address")
    lines = [line for line in second.said if "cannot dial this node" in line]
    expect(len(lines) == 1, f"it says so once: {lines}")
    first.stop()
    second.stop()


play()
