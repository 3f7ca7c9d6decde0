#!/usr/bin/env python3
"""Three nodes: one with a counter is halted, for longer and shorter than after what it is down, and two
ask it again and again. Nothing is started anew by hand, and nobody hears from a life that is over."""
import signal
import time

from echo_support import expect
from nodes_support import DOWN_MS, CounterClient, Pair, expect_ends, free_port

OWN_EXIT = 75


def pause(pair, clients, downs):
    """In parts of the time after which it is down: how long it is halted is what is tested."""
    before = [client.counts() for client in clients]
    pair.server.send(signal.SIGSTOP)
    if downs < 1:
        time.sleep(DOWN_MS * downs / 1000)
    else:
        for client in clients:
            client.until("node 1 is down$")
        time.sleep(DOWN_MS * (downs - 1) / 1000)
    pair.server.send(signal.SIGCONT)
    for client, count in zip(clients, before):
        if downs >= 1:
            client.until("node 1 is up$")
        expect(client.counts() > count, "the same counter counts on")


def halted():
    pair = Pair()
    clients = [pair.client, CounterClient(3, f"tcp://127.0.0.1:{free_port()}", "--peer",
                                          pair.address(0))]
    for downs in (0.3, 1, 3, 0.3):
        ends = [client.ends() for client in clients]
        pause(pair, clients, downs)
        for client, count in zip(clients, ends):
            if downs < 1:
                expect(client.ends() == count, "it was not down")
            else:
                expect(client.ends() == count + 1, "its end was told once")
    for client in clients:
        expect_ends(client)
        client.stop()
    pair.server.stop()
    lives = sum("goes on with a new life" in line for line in pair.server.said)
    expect(lives >= 2, f"it took another life each time that it was down: {pair.server.said}")


def client_halted():
    """It finds itself declared down, and asks on."""
    pair = Pair()
    before = pair.client.counts()
    pair.client.send(signal.SIGSTOP)
    pair.server.until("node 2 is down$")
    pair.client.send(signal.SIGCONT)
    pair.client.until("is quarantined$")
    pair.client.until("the counter is")
    expect(pair.client.counts() > before, "it asks on")
    pair.stop()


def ends_itself():
    pair = Pair(client_options=("--end-when-declared-down",))
    pair.client.until("the counter is")
    pair.client.send(signal.SIGSTOP)
    pair.server.until("node 2 is down$")
    pair.client.send(signal.SIGCONT)
    pair.client.until("it ends, as its options say")
    out, _ = pair.client.process.communicate(timeout=60)
    expect(pair.client.process.returncode == OWN_EXIT, f"{pair.client.process.returncode}: {out}")
    pair.server.stop()


halted()
client_halted()
ends_itself()
