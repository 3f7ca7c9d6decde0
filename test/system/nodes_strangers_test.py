#!/usr/bin/env python3
"""A node among what is none: other versions of the protocol, other protocols, garbage, and silence.
It refuses them, says why, and goes on serving its peers meanwhile."""
import os
import re
import socket
import subprocess

from echo_support import BUILD, PATIENCE_S, expect
from nodes_support import Pair

STRANGERS = os.path.join(BUILD, "test", "system-strangers")
REFUSED_VERSION = 2


def strangers(pair, *words):
    ran = subprocess.run([STRANGERS, str(pair.ports[0]), *words], capture_output=True, text=True,
                         timeout=2 * PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
    expect(ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr}")
    return ran.stdout.strip()


def versions(pair):
    for words in (("0", "0"), ("200", "300")):
        said = strangers(pair, "version", *words)
        expect(said == f"refused for {REFUSED_VERSION}", f"{words}: {said}")
    said = strangers(pair, "version", "0", "300")
    expect(said == "taken", f"a later one that still speaks ours: {said}")


def other_protocols(pair):
    for bytes_sent in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00" * 50,
                       b"\0" * 1000, b"\xff" * 100):
        with socket.create_connection(("127.0.0.1", pair.ports[0]), PATIENCE_S) as connection:
            connection.sendall(bytes_sent)
            try:
                while connection.recv(4096):
                    pass  # a refusal, and then the end
            except ConnectionResetError:
                pass


def silence(pair):
    with subprocess.Popen([STRANGERS, str(pair.ports[0]), "silent", "300"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        expect(process.stdout.readline() == "300 are open\n", "they cannot be opened")
        goes_on(pair)
        process.stdin.close()
        expect(process.wait(PATIENCE_S) == 0, "the strangers fail")


def goes_on(pair):
    """The client is answered, by the same counter."""
    before = int(pair.client.until(r"the counter is (\d+)")[1])
    after = int(pair.client.until(r"the counter is (\d+)")[1])
    expect(after > before, f"{before}, then {after}")


def play():
    pair = Pair("--down-ms", "600000")
    for disturb in (versions, other_protocols, silence):
        disturb(pair)
        goes_on(pair)
    for seed in range(1, 4):
        expect(strangers(pair, "garbage", str(seed), "300") == "said", "garbage")
        goes_on(pair)
    ends = [line for line in pair.client.said if re.match("the counter has ended", line)]
    expect(not ends, f"the counter has not ended: {ends}")
    pair.stop()


play()
