#!/usr/bin/env python3
"""Soak of pipes: a filter between pipes whose writers and readers dawdle, stop and go away.

usage: pipes.py SECONDS SEED

What comes out is compared byte by byte. GYRE_BUILD is the build folder. Prints counts; exits 1 on a failure.
"""
import collections
import os
import random
import select
import signal
import subprocess
import sys
import time

PROGRAM = os.path.join(os.environ["GYRE_BUILD"], "test", "system-filter")
PATIENCE_S = 120


def fail(what):
    raise SystemExit(f"pipes: {what}")


def pump(process, data, draw, stop_at=None):
    """Writes @data and reads it back in capitals, up to @stop_at bytes of it."""
    source, sink = process.stdin.fileno(), process.stdout.fileno()
    expected = data.upper()
    end = len(data) if stop_at is None else stop_at
    sent = received = 0
    os.set_blocking(source, False)
    while received < end:
        readable, writable, _ = select.select([sink], [source] if sent < len(data) else [], [],
                                              PATIENCE_S)
        if not readable and not writable:
            fail(f"nothing moves after {sent} in, {received} out of {len(data)}")
        if writable:
            sent += os.write(source, data[sent:sent + draw.choice((1, 80, 4096, 65536))])
        if readable:
            part = os.read(sink, draw.choice((100, 4096, 65536)))
            if part != expected[received:received + len(part)] or not part:
                fail(f"other bytes from {received} on, or an end")
            received += len(part)
        if draw.random() < 0.01:
            time.sleep(draw.uniform(0, 0.01))


def play(draw):
    kind = draw.choice(("to the end", "to the end", "reader goes", "stopped"))
    data = bytes(draw.choices(b"abcdefghij klmnop\n", k=draw.choice((1, 500, 60000, 500000))))
    with subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, bufsize=0) as process:
        try:
            if kind == "to the end":
                pump(process, data, draw)
            else:
                pump(process, data, draw, 1 + draw.randrange(len(data)))  # it runs by then
            if kind == "stopped":
                process.send_signal(signal.SIGTERM)
            if kind == "reader goes":
                process.stdout.close()
            process.stdin.close()
            if kind == "to the end" and os.read(process.stdout.fileno(), 1):
                fail("bytes after the last")
            errors = process.stderr.read()
            status = process.wait(PATIENCE_S)
        finally:
            process.kill()
    if status != 0 or b"ERROR" in errors or b"runtime error" in errors:
        fail(f"{kind}: exit {status}: {errors}")
    return kind, len(data)


def main(seconds, seed):
    draw = random.Random(seed)
    end = time.monotonic() + seconds
    counts = collections.Counter()
    moved = 0
    while time.monotonic() < end:
        kind, count = play(draw)
        counts[kind] += 1
        moved += count
    print(f"pipes: seed {seed}: {dict(counts)}, {moved} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(float(sys.argv[1]), int(sys.argv[2]))
