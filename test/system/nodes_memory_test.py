#!/usr/bin/env python3
"""What 1,000 idle links of other nodes cost a node in memory of its own, and that it gets it back."""
import os
import subprocess

from echo_support import BUILD, PATIENCE_S, expect, raise_descriptor_limit, sanitizer, skip
from nodes_support import Node, free_port, resident_bytes

STRANGERS = os.path.join(BUILD, "test", "system-strangers")
LINKS = 1000
BYTES_MAX = 64 << 10


def open_links(port, count):
    process = subprocess.Popen([STRANGERS, str(port), "links", str(count)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    expect(process.stdout.readline() == f"{count} are open\n", "they cannot be opened")
    return process


def close_links(process):
    process.stdin.close()
    expect(process.wait(PATIENCE_S) == 0, "the strangers fail")
    process.stdout.close()


def main():
    if sanitizer() != "none":
        skip(f"it is built with -Db_sanitize={sanitizer()}")
    if raise_descriptor_limit() < LINKS + 200:
        skip("too few descriptors are allowed")
    port = free_port()
    # They say nothing more, and are not to be missed for that.
    node = Node(1, f"tcp://127.0.0.1:{port}", "--down-ms", "600000")
    node.until("the counter is ready")
    close_links(open_links(port, 10))
    before = resident_bytes(node.process.pid)
    for _ in range(3):
        links = open_links(port, LINKS)
        bytes_each = (resident_bytes(node.process.pid) - before) / LINKS
        expect(bytes_each < BYTES_MAX, f"{bytes_each:.0f} bytes for each idle link")
        close_links(links)
    print(f"ok: {bytes_each:.0f} bytes for each idle link")
    node.stop()


main()
