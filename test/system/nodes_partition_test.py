#!/usr/bin/env python3
"""Three nodes in network namespaces of their own, each with a line to each other: two ask a counter of
the third. Packets of one line are dropped, one way, the other, and both ways, and then all lines of one
node. Nothing is started anew by hand, and nobody hears from a life that is over."""
import os
import subprocess

from echo_support import expect, skip
from nodes_support import CounterClient, Node, expect_ends

NODES = (1, 2, 3)
LINES = ((1, 2), (1, 3), (2, 3))


def name(node):
    return f"gyre-{node}-{os.getpid()}"


def address(node):
    return f"10.99.99.{node}"


def device(node, other):
    """The end of a line that is @node's."""
    return f"v{node}{other}"


def end_address(node, other):
    return f"10.99.{min(node, other)}{max(node, other)}.{node}"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def inside(node, *words):
    return run("ip", "netns", "exec", name(node), *words)


def need(ran, what):
    if ran.returncode != 0:
        skip(f"{what}: {ran.stderr.strip()}")


def make_end(node, other):
    inside(node, "ip", "addr", "add", f"{end_address(node, other)}/24", "dev", device(node, other))
    inside(node, "ip", "link", "set", device(node, other), "up")
    need(inside(node, "ip", "route", "add", f"{address(other)}/32", "via", end_address(other, node),
                "src", address(node)), "no routes")


def make():
    for node in NODES:
        need(run("ip", "netns", "add", name(node)), "no network namespaces")
        inside(node, "ip", "link", "set", "lo", "up")
        inside(node, "ip", "addr", "add", f"{address(node)}/32", "dev", "lo")
    for node, other in LINES:
        need(run("ip", "link", "add", device(node, other), "netns", name(node), "type", "veth",
                 "peer", "name", device(other, node), "netns", name(other)), "no virtual links")
    for node, other in LINES:
        inside(node, "ip", "link", "set", device(node, other), "up")
        inside(other, "ip", "link", "set", device(other, node), "up")
        make_end(node, other)
        make_end(other, node)


def drop(node, other):
    """What @node sends to @other."""
    need(inside(node, "tc", "qdisc", "add", "dev", device(node, other), "root", "bfifo", "limit",
                "1"), "no queue that drops")


def heal(node, other):
    inside(node, "tc", "qdisc", "del", "dev", device(node, other), "root")


def start(kind, node, *options):
    return kind(node, f"tcp://{address(node)}:9000", "--secret", "known to all, and long enough",
                *options, prefix=("ip", "netns", "exec", name(node)))


NEW_LIFE = "goes on with a new life"


def partition(server, clients, ways, cut_off):
    """The counter goes on counting for all; those who are @cut_off from it hear of its end once. Who
    was declared down takes a new life: both, if no way was left."""
    before = {node: client.counts() for node, client in clients.items()}
    ends = {node: client.ends() for node, client in clients.items()}
    lives = {node: client.count(NEW_LIFE) for node, client in clients.items()}
    lives[1] = server.count(NEW_LIFE)
    downs = {node: server.count(f"node {node} is down$") for node in clients}
    both = [node for node in clients if {(1, node), (node, 1)} <= set(ways)]
    for way in ways:
        drop(*way)
    for node in cut_off:
        clients[node].until("node 1 is down$")
    for node in both:
        server.until_count(f"node {node} is down$", downs[node] + 1)
    for way in ways:
        heal(*way)
    for node in cut_off:
        clients[node].until("node 1 is up$")
    for node, client in clients.items():
        # The life that one of them has declared down is over for all of them.
        while client.ends() == ends[node] and node in cut_off:
            client.until("the counter has ended")
        expect(client.counts() > before[node], f"node {node}: it is the same counter")
        expect(client.ends() <= ends[node] + 1, f"node {node}: its end was told more than once")
    for node in both:
        clients[node].until_count(NEW_LIFE, lives[node] + 1)
        server.until_count(NEW_LIFE, lives[1] + 1)


def play():
    server = start(Node, 1)
    server.until("the counter is ready")
    clients = {node: start(CounterClient, node, "--peer", f"tcp://{address(1)}:9000")
               for node in (2, 3)}
    for ways, cut_off in ((((1, 2),), (2,)), (((2, 1),), (2,)), (((1, 3), (3, 1)), (3,)),
                          (((1, 2), (2, 1), (1, 3), (3, 1)), (2, 3))):
        partition(server, clients, ways, cut_off)
    for client in clients.values():
        expect_ends(client)
        client.stop()
    server.stop()


if os.geteuid() != 0:
    skip("only root makes network namespaces")
try:
    make()
    play()
finally:
    for number in NODES:
        run("ip", "netns", "del", name(number))
