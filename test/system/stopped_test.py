#!/usr/bin/env python3
"""A server that is stopped and continued, and that a debugger attaches to and leaves, loses no byte."""
import ctypes
import os
import signal
import threading

from echo_support import PATIENCE_S, Server, Stream, expect, run_streams

BYTES = 4 << 20
STREAMS = 8
TIMES_MAX = 200
DETACH, SEIZE, INTERRUPT = 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000  # __WALL

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def threads_of(pid):
    return [int(thread) for thread in os.listdir(f"/proc/{pid}/task")]


def hold(thread):
    """Whether the machine lets us do what a debugger does, and the thread is still there."""
    return libc.ptrace(SEIZE, thread, None, None) == 0 and libc.ptrace(INTERRUPT, thread, None, None) == 0


def leave(thread):
    """Once it stands. If that is for a signal, it gets it."""
    _, status = os.waitpid(thread, WAIT_ALL)
    sent = os.WSTOPSIG(status) if status >> 16 == 0 else 0
    expect(libc.ptrace(DETACH, thread, None, sent) == 0, f"cannot leave thread {thread}")


def attach(pid):
    held = [thread for thread in threads_of(pid) if hold(thread)]
    for thread in held:
        leave(thread)
    return len(held)


def stop(pid):
    """Continued when it has been seen to stand."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)
    os.kill(pid, signal.SIGCONT)


def sizes():
    while True:
        yield from (1, 100, 4096, 65536)


def under_load(server, disturb):
    """Disturbs it again and again while streams are echoed."""
    data = os.urandom(BYTES)
    streams = [Stream(server.connect(), data, sizes()) for _ in range(STREAMS)]
    failures = []

    def echo():
        try:
            run_streams(streams)
        except (OSError, SystemExit) as error:
            failures.append(error)

    load = threading.Thread(target=echo, daemon=True)
    load.start()
    times = 0
    while load.is_alive() and times < TIMES_MAX:
        disturb(server.pid)
        times += 1
    load.join(4 * PATIENCE_S)
    expect(not load.is_alive() and not failures, f"it is not done: {failures}")
    for stream in streams:
        stream.connection.close()
    return times


def main():
    server = Server("--loops", "2")
    times = under_load(server, stop)
    if attach(server.pid) > 0:
        times += under_load(server, attach)
    server.stop()
    print(f"ok: disturbed {times} times")


main()
