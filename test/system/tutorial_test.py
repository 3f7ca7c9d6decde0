#!/usr/bin/env python3
"""The steps of apps/tutorial: what each promises to two clients, up to the whole chat of the last."""
import os
import re
import signal
import socket
import struct
import subprocess
import threading

from echo_support import BUILD, PATIENCE_S, expect, is_silent

LINE_BYTES_MAX = 512


class Step:
    """A running step of the tutorial."""

    def __init__(self, number):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "apps", "tutorial", f"gyre-tutorial-step{number}"), "tcp://127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.fullmatch(r"listening on port (\d+)\n", line)
        if not match:
            self.process.kill()
            expect(False, f"its first line is {line!r}: {self.process.stderr.read()}")
        self.port = int(match.group(1))
        self.ending = False

    def end(self):
        """A second signal would not wait for the drain."""
        self.process.send_signal(signal.SIGTERM)
        self.ending = True

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if not self.ending:
            self.process.send_signal(signal.SIGTERM if kind is None else signal.SIGKILL)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        if kind is None:
            expect(self.process.returncode == 0 and is_silent(errors),
                   f"exit {self.process.returncode}: {errors}")


class Client:
    """One that types lines and reads lines."""

    def __init__(self, step, greeting, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", step.port))
        self.file = self.socket.makefile("rb")
        heard = self.hear()
        expect(re.fullmatch(greeting, heard), f"{heard!r}, not {greeting}")
        self.name = heard.split()[3].rstrip(";") if heard.startswith("* you are") else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def type(self, *lines):
        self.socket.sendall("".join(line + "\n" for line in lines).encode())

    def hear(self):
        line = self.file.readline()
        expect(line.endswith(b"\n"), f"it closed: {line!r}")
        return line[:-1].decode()

    def expect(self, *lines):
        for line in lines:
            heard = self.hear()
            expect(heard == line, f"{heard!r}, not {line!r}")

    def reset(self):
        """Goes without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def rest(self):
        return self.file.read().decode()


def test_step1():
    with Step(1) as step, Client(step, r"\* welcome"), Client(step, r"\* welcome"):
        pass


TOO_LONG = "x" * (LINE_BYTES_MAX + 1)
REFUSAL = f"* a line has at most {LINE_BYTES_MAX} bytes"


def test_step2():
    with Step(2) as step, Client(step, r"\* welcome") as ann, Client(step, r"\* welcome") as bob:
        ann.type("one", TOO_LONG, "two")
        ann.expect("one", REFUSAL, "two")
        bob.type("three")
        bob.expect("three")


def test_step3():
    with Step(3) as step, Client(step, r"\* welcome") as ann, Client(step, r"\* welcome") as bob:
        for number in range(100):
            ann.type(f"ann {number}")
            bob.expect(f"ann {number}")
            bob.type(f"bob {number}")
            ann.expect(f"bob {number}")
        ann.type(TOO_LONG)
        ann.expect(REFUSAL)
        bob.reset()
        ann.type("is anybody there?")
        with Client(step, r"\* welcome") as eve:
            eve.type("yes")
            ann.expect("yes")


def test_step4():
    with Step(4) as step:
        rooms(step)


GREETING = r"\* you are guest\d+\.\d+; /name NAME, /join ROOM(, /quit)?"


def join(step, name, room, **more):
    client = Client(step, GREETING, **more)
    client.type(f"/name {name}", f"/join {room}")
    client.expect(f"* you are {name}", f"* you are in {room}")
    return client


def rooms(step):
    with join(step, "ann", "one") as ann, join(step, "bob", "one") as bob:
        ann.expect("* bob has joined one")
        ann.type("hello, bob")
        bob.expect("<ann> hello, bob")
        bob.type("/name ann", "/name rob", "/join two", "anybody?", "/join one")
        bob.expect("* that name is taken", "* you are rob", "* you are in two", "* you are in one")
        ann.expect("* bob is now rob", "* rob has left one", "* rob has joined one")
        bob.type(TOO_LONG, "/join a b", "/join " + "r" * 25, "/name " + "n" * 25, "/name ")
        bob.expect(REFUSAL, *["* Invalid argument"] * 4)
        ann.reset()
        bob.expect("* ann has left one")
        bob.type("/name ann")
        bob.expect("* you are ann")
    with Client(step, GREETING) as eve:
        eve.type("alone")
        eve.expect("* you are in no room: /join one")


def quitting(step):
    with join(step, "ann", "end") as ann, join(step, "bob", "end") as bob:
        ann.expect("* bob has joined end")
        bob.type("bye", "/quit", "too late")
        expect(bob.rest() == "* goodbye\n", "more after goodbye")
        ann.expect("<bob> bye", "* bob has left end")


def one_order(step):
    """All in a room hear what is said there in the same order, and all of it if they read."""
    hearers = [join(step, f"hearer{i}", "order") for i in range(4)]
    speakers = [join(step, f"speaker{i}", "order") for i in range(4)]
    count = 200
    for speaker in speakers:
        speaker.type(*[f"line {number}" for number in range(count)])
    for i, hearer in enumerate(hearers):
        hearer.expect(*[f"* hearer{j} has joined order" for j in range(i + 1, len(hearers))],
                      *[f"* speaker{j} has joined order" for j in range(len(speakers))])
    heard = [[hearer.hear() for _ in range(len(speakers) * count)] for hearer in hearers]
    expect(all(lines == heard[0] for lines in heard), "not all heard the same")
    for i in range(len(speakers)):
        own = [line for line in heard[0] if line.startswith(f"<speaker{i}>")]
        expect(own == [f"<speaker{i}> line {number}" for number in range(count)], "lines of one out of order")
    for client in hearers + speakers:
        client.close()


def flood(step):
    """Lines that come faster than they are passed on are all done with, also before an end of input."""
    count = 5000
    with join(step, "ann", "flood") as ann, join(step, "bob", "flood") as bob:
        ann.expect("* bob has joined flood")

        def type_all():
            bob.type(*[str(number) for number in range(count)])
            bob.socket.shutdown(socket.SHUT_WR)

        typist = threading.Thread(target=type_all)
        typist.start()
        ann.expect(*[f"<bob> {number}" for number in range(count)], "* bob has left flood")
        typist.join()


def end_of_input(step):
    """What a client typed before its end of input is done with."""
    with join(step, "ann", "pipe") as ann, Client(step, GREETING) as bob:
        bob.type("/name bob", "/join pipe", "from a pipe")
        bob.socket.shutdown(socket.SHUT_WR)
        expect(bob.rest() == "* you are bob\n* you are in pipe\n* goodbye\n", "other answers")
        ann.expect("* bob has joined pipe", "<bob> from a pipe", "* bob has left pipe")


def slow_reader(step):
    """A client that does not read misses lines, is told how many, and holds nobody up."""
    with join(step, "ann", "slow") as ann, join(step, "bob", "slow", receive_bytes=4096) as bob:
        ann.expect("* bob has joined slow")
        text, count = "x" * 500, 20000
        ann.type(*[text] * count, "/name eve")
        ann.expect("* you are eve")
        heard = missed = 0
        while heard + missed < count + 1:
            line = bob.hear()
            if line.startswith("* you missed "):
                missed += int(line.split()[3])
            else:
                expect(line in (f"<ann> {text}", "* ann is now eve"), line)
                heard += 1
        expect(missed > 0, "it missed nothing")


def test_step5():
    with Step(5) as step:
        rooms(step)
        quitting(step)
        one_order(step)
        flood(step)
        end_of_input(step)
        slow_reader(step)
        with join(step, "ann", "end") as ann:
            step.end()
            expect(ann.rest() == "* the server ends\n", "no farewell")


def play(name, *arguments, status=0):
    """Runs a program that serves nobody to its end; what it has printed."""
    ran = subprocess.run([os.path.join(BUILD, "apps", "tutorial", f"gyre-tutorial-{name}"), *arguments],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == status and is_silent(ran.stderr), f"exit {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def test_chat_test():
    lines = play("chat_test").splitlines()
    expect(len(lines) == 5 and all(line.startswith("the chat ") for line in lines), f"other output: {lines}")


def test_chat_sim():
    """A planted bug is found by a seed, and by it again; without the bug no seed finds one."""
    said = play("chat_sim", "--planted", "--seeds", "200", status=1)
    found = re.fullmatch(r"seed (\d+) finds a bug: hearer\d heard .*\ndigest [0-9a-f]{16}; once more: .*\n", said)
    expect(found, f"other output: {said}")
    again = play("chat_sim", "--planted", "--seed", found.group(1), "--seeds", "1", status=1)
    expect(again == said, f"{said} and then {again}")
    expect(play("chat_sim", "--seed", found.group(1), "--seeds", "20") == "20 seeds: all heard the same\n",
           "a bug that nobody has planted")
    ran = subprocess.run([os.path.join(BUILD, "apps", "tutorial", "gyre-tutorial-chat_sim"), "--unknown"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 2 and ran.stderr.startswith("usage: "), f"exit {ran.returncode}: {ran.stderr}")


def main():
    test_chat_test()
    test_chat_sim()
    test_step1()
    test_step2()
    test_step3()
    test_step4()
    test_step5()


main()
