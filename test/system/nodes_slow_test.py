#!/usr/bin/env python3
"""A node that takes nothing for a while: who sends to it is told that the link is full, takes no more
memory for it, and goes on afterwards; each message comes once and in order."""
import os
import signal

from echo_support import BUILD, expect, sanitizer
from nodes_support import Process, free_port, resident_bytes

NOTICES_BIN = os.path.join(BUILD, "test", "system-notices")
NOTICES = 5000  # of 4 KiB each
GROWTH_MAX = 16 << 20
ROUND = r"(\d+) sent, (\d+) taken, (\d+) wrong"


def expect_all(match):
    """All that was sent when it was asked; and more may have come since."""
    sent, taken, wrong = (int(number) for number in match.groups())
    expect(taken >= sent and wrong == 0, match[0])


def halt(taker, sender):
    """Until the sender is refused again and again."""
    taker.send(signal.SIGSTOP)
    sender.until("^full$")
    resident = resident_bytes(sender.process.pid)
    taker.send(signal.SIGCONT)
    return resident


def play():
    at = f"tcp://127.0.0.1:{free_port()}"
    taker = Process(NOTICES_BIN, "take", at)
    taker.until("ready")
    sender = Process(NOTICES_BIN, "send", "tcp://127.0.0.1:0", at, str(NOTICES))
    for _ in range(2):
        expect_all(sender.until(ROUND))
    base = [resident_bytes(each.process.pid) for each in (sender, taker)]
    for _ in range(3):
        resident = halt(taker, sender)
        expect(sanitizer() != "none" or resident - base[0] < GROWTH_MAX,
               f"{resident - base[0]} bytes more for a peer that halts")
        expect_all(sender.until(ROUND))
    for _ in range(10):
        expect_all(sender.until(ROUND))
    for each, before in zip((sender, taker), base):
        more = resident_bytes(each.process.pid) - before
        expect(sanitizer() != "none" or more < GROWTH_MAX, f"{more} bytes more after the traffic")
    sender.stop()
    taker.stop()


play()
