#!/usr/bin/env python3
"""An idle gyre-echo with open connections wakes up not once: no thread of it is switched to in two seconds."""
import os
import time

from echo_support import PATIENCE_S, Server, all_sleep, expect, receive_all, select_nothing

CONNECTIONS = 100
SETTLE_S = 0.2
LOOK_S = 2


def wake_ups(pid):
    """How often each thread has gone to sleep of its own accord."""
    counts = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("voluntary_ctxt_switches:"):
                    counts[thread] = int(line.split()[1])
    return counts


def until_settled(pid):
    """On a busy machine it may take long until a thread comes to its sleep."""
    end = time.monotonic() + PATIENCE_S
    while True:
        before = wake_ups(pid)
        select_nothing(SETTLE_S)
        if all_sleep(pid) and wake_ups(pid) == before:
            return before
        expect(time.monotonic() < end, f"it does not come to rest: {before} {wake_ups(pid)}")


def main():
    server = Server("--loops", "2")
    connections = [server.connect() for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.sendall(b"hello")
        receive_all(connection, 5)
    before = until_settled(server.pid)
    select_nothing(LOOK_S)
    after = wake_ups(server.pid)
    expect(before == after, f"it woke up: {before} {after}")
    for connection in connections:
        connection.close()
    server.stop()
    print(f"ok: {len(before)} threads slept for {LOOK_S} s")


main()
