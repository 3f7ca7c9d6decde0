#!/usr/bin/env python3
"""Nodes that have their links over Unix sockets, as processes: killed and started again, with a secret,
beside others over TCP, and with another user at the other end."""
import os
import pathlib
import stat
import tempfile

from echo_support import expect
from nodes_support import CounterClient, Node, Process, NODES, free_port

SECRET = "8ad0c2f04be1f7a36dd46c9b95a6f0a2"
NOBODY = 65534


def serve(address, *options):
    server = Node(1, address, *options)
    server.until("the counter is ready")
    return server


def answers(folder, *options):
    """And no file is left."""
    server = serve(f"unix:{folder}/one", *options)
    mode = stat.S_IMODE(os.stat(f"{folder}/one").st_mode)
    expect(mode == 0o600, f"the file is for the own user: {mode:o}")
    client = CounterClient(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one", *options)
    client.until("the counter is 5$")
    client.stop()
    server.stop()
    expect(os.listdir(folder) == [], f"{os.listdir(folder)}")


def killed_again_and_again(folder):
    """Each leaves its file, which the next one replaces."""
    server = serve(f"unix:{folder}/one")
    client = CounterClient(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one")
    for _ in range(5):
        client.until("the counter is 1$")
        server.kill()
        expect(os.path.exists(f"{folder}/one"), "it is still there")
        server = serve(f"unix:{folder}/one")
    client.until("the counter is 1$")
    client.stop()
    server.stop()


def mixed(folder):
    """One node is asked over TCP and over a Unix socket, and answers each the same way."""
    port = free_port()
    server = serve(f"tcp://127.0.0.1:{port}", "--listen-local", f"unix:{folder}/one")
    near = CounterClient(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one")
    far = CounterClient(3, f"tcp://127.0.0.1:{free_port()}", "--peer", f"tcp://127.0.0.1:{port}")
    for client in (near, far, near, far):
        client.until(r"the counter is \d+$")
    for node in (near, far, server):
        node.stop()


def no_file(folder):
    """It is waited for, as for a port that nobody listens on."""
    client = CounterClient(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one")
    client.until("cannot find the counter")
    server = serve(f"unix:{folder}/one")
    client.until("the counter is 1$")
    client.stop()
    server.stop()


def as_nobody(node, listen, *options):
    """As Node, of another user."""
    return Process("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", NODES,
                   "--node", str(node), "--listen", listen, "--interval-ms", "50", *options)


def other_user(folder):
    """Refused by both, each of which names the other's process; and let in where both allow it."""
    os.chmod(folder, 0o777)
    me = os.geteuid()
    server = serve(f"unix:{folder}/one", "--users", "4242")
    client = as_nobody(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one", "--users", str(me))
    server.until(rf"node 1: a connection to its Unix socket is refused: it is of user {NOBODY}, "
                 rf"process {client.process.pid}, and this node runs as user {me}: .* \(users\)")
    client.until(r"it does not allow the user of this process \(users\)")
    client.stop()
    client = as_nobody(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one")
    client.until(rf"node 2: a link to node 1 is refused: at unix:{folder}/one listens user {me}, "
                 rf"process {server.process.pid}, and this node runs as user {NOBODY}: .* \(users\)")
    client.stop()
    server.stop()
    server = serve(f"unix:{folder}/one", "--users", f"4242,{NOBODY}")
    client = as_nobody(2, f"unix:{folder}/two", "--peer", f"unix:{folder}/one", "--users", str(me))
    client.until("the counter is 2$")
    client.stop()
    server.stop()


def play(part, *arguments):
    with tempfile.TemporaryDirectory(prefix="gyre-nodes-") as folder:
        part(folder, *arguments)


def readable_by_all(path):
    """Whether another user can run it."""
    return all(stat.S_IMODE(os.stat(at).st_mode) & 0o001 for at in pathlib.Path(path).resolve().parents)


play(answers)
play(answers, "--secret", SECRET)
play(answers, "--secret", SECRET, "--no-encryption")
play(killed_again_and_again)
play(mixed)
play(no_file)
if os.geteuid() == 0 and readable_by_all(NODES):
    play(other_user)
else:
    print("not as the superuser, or in a folder that others may not read: the part with another user was left out")
