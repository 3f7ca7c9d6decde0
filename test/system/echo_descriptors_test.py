#!/usr/bin/env python3
"""gyre-echo with fewer descriptors than clients: it says so once, serves whom it can, and in the end everybody."""
import resource
import selectors
import socket
import time

from echo_support import PATIENCE_S, Server, expect, without_stalls

DESCRIPTORS = 40
CLIENTS = 120


def connect_all(port):
    clients = []
    for i in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        client.sendall(bytes([i]))
        clients.append(client)
    return clients


def serve_all(clients):
    """Each that is answered makes room for another; returns how many were answered at first."""
    selector = selectors.DefaultSelector()
    for i, client in enumerate(clients):
        selector.register(client, selectors.EVENT_READ, i)
    left = CLIENTS
    first = 0
    end = time.monotonic() + 3 * PATIENCE_S
    while left > 0:
        expect(time.monotonic() < end, f"{left} of {CLIENTS} were never served")
        ready = selector.select(1)
        first = first or len(ready)
        for key, _ in ready:
            expect(key.fileobj.recv(2) == bytes([key.data]), "it sent back something else")
            selector.unregister(key.fileobj)
            key.fileobj.close()
            left -= 1
    selector.close()
    return first


def main():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
    server = Server("--loops", "1")
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    clients = connect_all(server.port)
    served = serve_all(clients)
    expect(served < CLIENTS, "there was no lack")
    server.process.terminate()
    _, errors = server.process.communicate(timeout=PATIENCE_S)
    expect(server.process.returncode == 0, f"exit {server.process.returncode}: {errors}")
    lines = without_stalls(errors)
    expect(len(lines) == 1 and "ulimit -n" in lines[0], f"it said: {errors}")
    print(f"ok: {CLIENTS} clients, {served} of them at first")


main()
