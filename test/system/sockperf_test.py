#!/usr/bin/env python3
"""sockperf against a server of its protocol, over UDP and TCP: it gets all its messages back, each once and in order."""
import os
import re
import shutil
import signal
import subprocess

from echo_support import BUILD, PATIENCE_S, expect, skip

PONG = os.path.join(BUILD, "test", "system-pong")
SECONDS = (1, 5, 20)  # on a machine that hardly moves the first may be over before anything is back


def play(port, options, seconds):
    """How many messages came back, none of them twice or out of order."""
    ran = subprocess.run(["sockperf", "ping-pong", "-i", "127.0.0.1", "-p", str(port), "-t", str(seconds), *options],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"sockperf: {ran.stdout!r} {ran.stderr!r}")
    counts = re.search(r"SentMessages=(\d+); ReceivedMessages=(\d+)", ran.stdout)
    if counts is None:
        expect("No messages were received" in ran.stdout, f"sockperf says something else: {ran.stdout!r}")
        return 0
    wrong = re.search(r"# dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)",
                      ran.stdout)
    if wrong is not None:
        dropped, *others = map(int, wrong.groups())
        # The last one may be under way, and counts as dropped where it has been so for long.
        expect(dropped <= 1 and others == [0, 0], f"{wrong.group(0)}")
    sent, received = int(counts.group(1)), int(counts.group(2))
    expect(received >= sent - 1, f"{received} came back of {sent}")
    return received


def main():
    if not shutil.which("sockperf"):
        skip("there is no sockperf")
    server = subprocess.Popen([PONG], stdout=subprocess.PIPE, text=True)
    udp, tcp = map(int, server.stdout.readline().split())
    total = 0
    for options in ([], ["-m", "1400"], ["--tcp"], ["--tcp", "-m", "3000", "-r", "2000"]):
        port = tcp if "--tcp" in options else udp
        received = next((count for count in (play(port, options, seconds) for seconds in SECONDS) if count > 0), 0)
        expect(received > 0, f"nothing came back with {options}")
        total += received
    server.send_signal(signal.SIGTERM)
    expect(server.wait(PATIENCE_S) == 0, f"exit {server.returncode}")
    print(f"ok: {total} messages came back")


main()
