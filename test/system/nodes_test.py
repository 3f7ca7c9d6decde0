#!/usr/bin/env python3
"""Nodes as processes: killed, halted, started again, and told different things."""
import signal
import socket
import subprocess

from echo_support import PATIENCE_S, expect
from nodes_support import NODES, Node, Pair, free_port

SECRET = "8ad0c2f04be1f7a36dd46c9b95a6f0a2"
OTHER = "e1c5a30d26bf9e7a8c1a7d5b1f0c4e88"


def answers():
    pair = Pair("--secret", SECRET)
    pair.client.until("node 1 is up")
    pair.client.until("found the counter")
    pair.client.until("the counter is 5$")
    pair.stop()


def replaced():
    """The secret of one node after the other, while the other is asked."""
    old, both, new = ("--secret", OTHER), ("--secret", SECRET, "--secret-before", OTHER), ("--secret", SECRET)
    pair = Pair(*old, client_options=both)
    for pair.options in (both, new):
        pair.client.until("the counter is 2$")
        pair.server.kill()
        pair.server = pair.start_server()
    pair.client.until("the counter is 2$")
    pair.stop()


def short_secret():
    ran = subprocess.run([NODES, "--node", "1", "--listen", f"tcp://127.0.0.1:{free_port()}",
                          "--secret", "fifteen bytes.."], capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 1, f"exit {ran.returncode}")
    expect("openssl rand -hex 32" in ran.stderr, f"it said: {ran.stderr}")


def killed_and_started_again():
    pair = Pair()
    pair.client.until("the counter is 3$")
    pair.server.kill()
    pair.client.until("node 1 is suspect")
    pair.client.until("node 1 is down$")
    pair.server = pair.start_server()
    pair.client.until("node 1 is up")
    pair.client.until("the counter is 1$")
    ends = [line for line in pair.client.said if line.startswith("the counter has ended")]
    expect(len(ends) == 1, f"the end of the counter was told once, not {ends}")
    pair.stop()


def started_again_before_it_is_missed():
    """The new process says so, and nobody waits for the silence."""
    pair = Pair()
    pair.client.until("the counter is 3$")
    pair.server.kill()
    pair.server = pair.start_server()
    pair.client.until("the counter is 1$")
    ends = [line for line in pair.client.said if line.startswith("the counter has ended")]
    expect(len(ends) == 1, f"the end of the counter was told once, not {ends}")
    pair.stop()


def killed_again_and_again():
    """The kernel takes down the ring of a killed process, and its listener, some time after its
    end; who is started meanwhile waits for that."""
    pair = Pair()
    for _ in range(10):
        pair.client.until("the counter is 1$")
        pair.server.kill()
        pair.server = pair.start_server()
    pair.client.until("the counter is 1$")
    pair.stop()


def port_of_somebody_else():
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port()))
        other.listen()
        node = Node(1, f"tcp://127.0.0.1:{other.getsockname()[1]}")
        node.until("somebody still listens")
    node.until("the counter is ready")
    node.stop()
    waits = [line for line in node.said if "somebody still listens" in line]
    expect(len(waits) == 1, f"it is said once: {node.said}")


def halted():
    """It does not blame the other for its own halt, and has lost nothing."""
    pair = Pair()
    before = int(pair.client.until(r"the counter is (\d+)")[1])
    pair.server.send(signal.SIGSTOP)
    pair.client.until("node 1 is down$")
    pair.server.send(signal.SIGCONT)
    pair.client.until("node 1 is up$")
    after = int(pair.client.until(r"the counter is (\d+)")[1])
    expect(after > before, f"it is the same counter: {before}, then {after}")
    pair.client.send(signal.SIGSTOP)
    pair.server.until("node 2 is down$")
    pair.client.send(signal.SIGCONT)
    last = int(pair.client.until(r"the counter is (\d+)")[1])
    expect(last > after, f"it is the same counter: {after}, then {last}")
    pair.stop()


def same_id_twice():
    """The later process is believed, and the older one told why it is not."""
    pair = Pair()
    pair.client.until("the counter is 2$")
    port = free_port()
    twin = Node(2, f"tcp://127.0.0.1:{port}", "--peer", pair.address(0))
    twin.until("the counter is")
    pair.client.until("another process has come with this id")
    twin.stop()
    pair.client.stop()
    pair.server.stop()


def refused(says, options, client_options):
    pair = Pair(*options, client_options=client_options)
    pair.client.until(says)
    pair.client.until("cannot find the counter")
    pair.stop()
    expect(not any("found the counter" == line for line in pair.client.said), "it was refused")


def public_without_secret():
    ran = subprocess.run([NODES, "--node", "1", "--listen", f"tcp://0.0.0.0:{free_port()}"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 1, f"exit {ran.returncode}")
    expect("without a secret" in ran.stderr, f"it said: {ran.stderr}")


answers()
killed_and_started_again()
started_again_before_it_is_missed()
killed_again_and_again()
port_of_somebody_else()
halted()
same_id_twice()
refused("the secrets or the names of the clusters differ", ("--secret", SECRET), ("--secret", OTHER))
refused("do both have a secret or certificates", ("--secret", SECRET), ())
refused("the secrets differ", ("--secret", SECRET, "--no-encryption"), ())
refused("the secrets or the names of the clusters differ", ("--secret", SECRET, "--cluster", "one"),
        ("--secret", SECRET))
replaced()
short_secret()
refused("another cluster", ("--cluster", "one"), ("--cluster", "other"))
public_without_secret()
