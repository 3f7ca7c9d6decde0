#!/usr/bin/env python3
"""Two nodes in network namespaces of their own, between which packets are dropped: those of one
side, of the other, and of both."""
import os
import subprocess

from echo_support import expect, skip
from nodes_support import Node

NAMES = (f"gyre-a-{os.getpid()}", f"gyre-b-{os.getpid()}")
ADDRESSES = ("10.99.99.1", "10.99.99.2")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def inside(side, *words):
    return run("ip", "netns", "exec", NAMES[side], *words)


def need(ran, what):
    if ran.returncode != 0:
        skip(f"{what}: {ran.stderr.strip()}")


def make():
    for name in NAMES:
        need(run("ip", "netns", "add", name), "no network namespaces")
    need(run("ip", "link", "add", "v0", "netns", NAMES[0], "type", "veth", "peer", "name", "v0",
             "netns", NAMES[1]), "no virtual links")
    for side in (0, 1):
        inside(side, "ip", "addr", "add", f"{ADDRESSES[side]}/24", "dev", "v0")
        inside(side, "ip", "link", "set", "v0", "up")
        inside(side, "ip", "link", "set", "lo", "up")


def drop(side):
    need(inside(side, "tc", "qdisc", "add", "dev", "v0", "root", "bfifo", "limit", "1"),
         "no queue that drops")


def heal(side):
    inside(side, "tc", "qdisc", "del", "dev", "v0", "root")


def start(side, *options):
    return Node(side + 1, f"tcp://{ADDRESSES[side]}:9000", "--secret", "known to both, and long enough", *options,
                prefix=("ip", "netns", "exec", NAMES[side]))


def partition(client, sides):
    """The same counter goes on counting afterwards; its end has been told once meanwhile."""
    before = int(client.until(r"the counter is (\d+)")[1])
    client.said.clear()
    for side in sides:
        drop(side)
    client.until("node 1 is down$")
    for side in sides:
        heal(side)
    client.until("node 1 is up$")
    after = int(client.until(r"the counter is (\d+)")[1])
    ends = [line for line in client.said if line.startswith("the counter has ended")]
    expect(after > before, f"it is the same counter: {before}, then {after}")
    expect(len(ends) == 1, f"the end of the counter was told once, not {ends}")


def play():
    server = start(0)
    server.until("the counter is ready")
    client = start(1, "--peer", f"tcp://{ADDRESSES[0]}:9000")
    for sides in ((0,), (1,), (0, 1)):
        partition(client, sides)
    client.stop()
    server.stop()


if os.geteuid() != 0:
    skip("only root makes network namespaces")
try:
    make()
    play()
finally:
    for name in NAMES:
        run("ip", "netns", "del", name)
