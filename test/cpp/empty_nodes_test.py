#!/usr/bin/env python3
"""A program in C and one in C++ exchange messages without members, each as the server of the other."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

# pylint: disable=wrong-import-position
from echo_support import PATIENCE_S, expect
from nodes_support import Process, free_port


def exchange(server_program, client_program):
    address = f"tcp://127.0.0.1:{free_port()}"
    server = Process(server_program, "server", address)
    server.until("ready")
    client = Process(client_program, "client", address, f"tcp://127.0.0.1:{free_port()}")
    out, _ = client.process.communicate(timeout=PATIENCE_S)
    expect(client.process.returncode == 0, f"exit {client.process.returncode}: {out}")
    server.stop()


def main():
    programs = sys.argv[1:3]
    for server in programs:
        for client in programs:
            exchange(server, client)
            print(f"ok: {os.path.basename(client)} and {os.path.basename(server)}")


if __name__ == "__main__":
    main()
