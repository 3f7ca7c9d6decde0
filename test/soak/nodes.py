#!/usr/bin/env python3
"""Soak of nodes: three talk to each other while some are paused, killed and started again.

usage: nodes.py SECONDS SEED

No mail of a life may come after its end was told (the talkers say so), and after each round all have to
talk to all again, without help. GYRE_BUILD is the build folder. Prints counts; exits 1 on a failure.
"""
import collections
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

PROGRAM = os.path.join(os.environ["GYRE_BUILD"], "test", "soak-talkers")
NODES = 3
DOWN_S = 1.0
HEAL_S = 60
SAID_MAX = 60


def free_ports():
    """The first of NODES + 1 ports in a row that nobody has."""
    for port in range(20000 + os.getpid() % 5000, 60000, NODES + 1):
        try:
            for number in range(port, port + NODES + 1):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue
    raise SystemExit("nodes: no free ports")


class Node:
    """A running node, and what it says."""

    def __init__(self, number, port):
        self.heard = {}
        self.said = collections.deque(maxlen=SAID_MAX)
        self.violations = []
        self.ends = 0
        self.process = subprocess.Popen([PROGRAM, str(number), str(NODES), str(port)],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            match = re.match(r"heard (\d+) from (\d+)", line)
            if match:
                self.heard[int(match[2])] = int(match[1])
                continue
            self.said.append(line.rstrip("\n"))
            self.ends += line.startswith("ended")
            if line.startswith("violated") or re.search("ERROR|runtime error|WARNING: Thread", line):
                self.violations.append(line.rstrip("\n"))

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)
        self.reader.join(60)
        return self.process.returncode


def check(nodes):
    for number, node in nodes.items():
        if node.violations:
            raise SystemExit(f"nodes: node {number}: {node.violations[:5]}; it said {list(node.said)}")
        if node.process.poll() is not None:
            raise SystemExit(f"nodes: node {number} ended with {node.process.returncode}: "
                             f"{list(node.said)}")


def until_all_talk(nodes):
    """Each hears more from each other than it had."""
    before = {number: dict(node.heard) for number, node in nodes.items()}
    end = time.monotonic() + HEAL_S
    while True:
        silent = [(a, b) for a in nodes for b in nodes
                  if a != b and nodes[a].heard.get(b, 0) <= before[a].get(b, 0)]
        check(nodes)
        if not silent:
            return
        if time.monotonic() > end:
            said = {number: list(node.said)[-20:] for number, node in nodes.items()}
            raise SystemExit(f"nodes: these do not hear those {HEAL_S} s later: {silent}; {said}")
        time.sleep(0.2)


def pause(nodes, chosen, draw):
    for number in chosen:
        nodes[number].process.send_signal(signal.SIGSTOP)
    time.sleep(DOWN_S * draw.uniform(0.3, 3))
    for number in chosen:
        nodes[number].process.send_signal(signal.SIGCONT)


def kill(nodes, chosen, draw, port):
    for number in chosen:
        nodes[number].end(signal.SIGKILL)
    time.sleep(draw.choice((0, DOWN_S * draw.uniform(0, 2))))
    for number in chosen:
        nodes[number] = Node(number, port)


def main(seconds, seed):
    draw = random.Random(seed)
    port = free_ports()
    nodes = {number: Node(number, port) for number in range(1, NODES + 1)}
    end = time.monotonic() + seconds
    counts = collections.Counter()
    try:
        until_all_talk(nodes)
        while time.monotonic() < end:
            chosen = draw.sample(list(nodes), draw.choice((1, 1, 2, 3)))
            if draw.random() < 0.7:
                pause(nodes, chosen, draw)
                counts["paused"] += len(chosen)
            else:
                kill(nodes, chosen, draw, port)
                counts["killed"] += len(chosen)
            until_all_talk(nodes)
            counts["rounds"] += 1
        ends = sum(node.ends for node in nodes.values())
        heard = sum(sum(node.heard.values()) for node in nodes.values())
        statuses = [node.end(signal.SIGTERM) for node in nodes.values()]
    finally:
        for node in nodes.values():
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
                node.process.kill()
    if any(statuses):
        raise SystemExit(f"nodes: exit statuses {statuses}")
    print(f"nodes: seed {seed}: {counts['rounds']} rounds, {counts['paused']} paused, "
          f"{counts['killed']} killed; those that ran in the end heard {heard} words and {ends} ends")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(float(sys.argv[1]), int(sys.argv[2]))
