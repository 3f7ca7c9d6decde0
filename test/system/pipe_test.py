#!/usr/bin/env python3
"""A filter between standard input and output: pipes, files, a terminal, and a reader that goes away."""
import os
import pty
import signal
import subprocess
import tempfile
import tty

from echo_support import BUILD, PATIENCE_S, expect

FILTER = os.path.join(BUILD, "test", "system-filter")
TEXT = b"".join(b"line %d of what is filtered\n" % i for i in range(100000))


def start(stdin, stdout):
    return subprocess.Popen([FILTER], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)


def expect_end(process, reason=0):
    said = process.stderr.read()
    process.stderr.close()
    expect(process.wait(PATIENCE_S) == 0, f"the filter exits with {process.returncode}: {said}")
    expect(b"ended %d\n" % reason in said, f"the filter says {said}")
    return said


def pipes():
    process = start(subprocess.PIPE, subprocess.PIPE)
    with process.stdout:
        out = bytearray()
        writer = os.fork()
        if writer == 0:
            process.stdin.write(TEXT)
            process.stdin.close()
            os._exit(0)
        process.stdin.close()
        out = process.stdout.read()
    os.waitpid(writer, 0)
    expect(out == TEXT.upper(), "what came out of a pipe is what went in, in capitals")
    expect_end(process)


def files():
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
        source.write(TEXT)
        source.seek(5)
        sink.write(b"before ")
        sink.flush()
        process = start(source, sink)
        expect_end(process)
        sink.seek(0)
        expect(sink.read() == b"before " + TEXT[5:].upper(), "a file is read and written in place")


def nothing():
    with open(os.devnull, "r+b") as null:
        expect_end(start(null, null))


def terminal():
    master, slave = pty.openpty()
    tty.setraw(slave)
    process = start(slave, slave)
    os.close(slave)
    for text in (b"one", b"two"):
        os.write(master, text)
        out = b""
        while len(out) < len(text):
            out += os.read(master, 100)
        expect(out == text.upper(), f"a terminal shows {out}")
    process.send_signal(signal.SIGTERM)
    expect_end(process)
    os.close(master)


def reader_goes_away():
    process = start(subprocess.PIPE, subprocess.PIPE)
    process.stdout.close()
    process.stdin.write(b"for nobody")
    process.stdin.flush()
    expect_end(process, -32)
    process.stdin.close()


def hangups():
    process = start(subprocess.PIPE, subprocess.PIPE)
    expect(process.stderr.readline() == b"ready\n", "the filter is ready")
    for _ in range(3):
        process.send_signal(signal.SIGHUP)
        expect(process.stderr.readline() == b"hangup\n", "a signal that is watched is an event")
    process.stdin.close()
    expect(process.stdout.read() == b"", "nothing comes of nothing")
    process.stdout.close()
    expect_end(process)


for check in (pipes, files, nothing, terminal, reader_goes_away, hangups):
    check()
