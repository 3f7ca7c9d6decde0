#!/usr/bin/env python3
"""gyre-chat with real clients: names, rooms, order, slow readers, long lines, a crowd, and its end."""
import signal
import socket

from chat_support import Chat, Client
from echo_support import expect

CROWD = 500


def until_rooms(client, wanted):
    """Asks for rooms until the answers, which may come late, are those wanted, twice in a row."""
    right = 0
    while right < 2:
        client.type("/rooms", "/what")
        heard = set()
        while (line := client.hear()) != "* there is no such command; see /help":
            heard.add(line)
        right = right + 1 if heard == wanted else 0


def test_commands(chat):
    ann = Client(chat, "ann", "one")
    bob = Client(chat, "bob", "one")
    ann.expect("* bob has joined one")
    ann.type("hello, bob")
    bob.expect("<ann> hello, bob")
    bob.type("/nick ann")
    bob.expect("* somebody there has that nick")
    bob.type("/nick rob")
    bob.expect("* you are rob")
    ann.expect("* bob is now rob")
    ann.type("/who", "/rooms")
    ann.expect("* ann is in one", "* rob is in one", "* one: 2")
    bob.type("/leave", "anybody?")
    bob.expect("* you have left", "* you are in no room: /join one")
    ann.expect("* rob has left one")
    bob.type("/nick ann", "/join one")
    bob.expect("* you are ann", "* somebody there has that nick")
    for wrong in ("/nick", "/nick " + "n" * 25, "/nick a b"):
        bob.type(wrong)
        bob.expect("* a nick has 1 to 24 bytes and no space")
    bob.type("/nick guest0", "/nick guest7.1")
    bob.expect(*2 * ["* only guests have such a nick"])
    bob.type("/join", "/what", "/who", "", "/help")
    bob.expect("* a room has 1 to 24 bytes and no space", "* there is no such command; see /help",
               "* you are in no room")
    expect(bob.hear().startswith("* /nick"), "no help")
    ann.type("/join two")
    ann.expect("* you are in a room: /leave it first")
    ann.type("/quit")
    expect(ann.rest() == "* goodbye\n", "no goodbye")
    ann.close()
    until_rooms(bob, {"* there are no rooms"})  # the room has missed ann
    bob.close()


def test_end_of_input(chat):
    """What a client typed before its end of input is done with."""
    ann = Client(chat, "ann", "pipe")
    bob = Client(chat)
    bob.type("/nick bob", "/join pipe", "from a pipe", "/who")
    bob.socket.shutdown(socket.SHUT_WR)
    answers = "* you are bob\n* you are in pipe\n* ann is in pipe\n* bob is in pipe\n* goodbye\n"
    expect(bob.rest() == answers, "other answers")
    ann.expect("* bob has joined pipe", "<bob> from a pipe", "* bob has left pipe")
    ann.close()


def test_disconnect(chat):
    """Who is gone without a word leaves the room, which ends when it is empty."""
    ann = Client(chat, "ann", "short")
    bob = Client(chat, "bob", "short")
    ann.expect("* bob has joined short")
    bob.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    bob.close()
    ann.expect("* bob has left short")
    ann.close()
    eve = Client(chat, "eve", "other")
    until_rooms(eve, {"* other: 1"})  # the room has missed ann
    eve.close()


def test_long_line(chat):
    ann = Client(chat, "ann", "long")
    bob = Client(chat, "bob", "long")
    ann.expect("* bob has joined long")
    bob.type("x" * 512, "y" * 513, "z" * 100000, "still here")
    bob.expect("* a line has at most 512 bytes", "* a line has at most 512 bytes")
    ann.expect("<bob> " + "x" * 512, "<bob> still here")
    eve = Client(chat)
    eve.type("/nick eve", "/join long", "w" * 600, "hi", "/leave", "v" * 600, "/join other")
    ann.expect("* eve has joined long", "<eve> hi", "* eve has left long")
    for client in (ann, bob, eve):
        client.close()


def test_order(chat):
    """All in a room hear what is said there in the same order."""
    hearers = [Client(chat, f"hearer{i}", "order") for i in range(4)]
    for i, hearer in enumerate(hearers):
        hearer.expect(*[f"* hearer{j} has joined order" for j in range(i + 1, len(hearers))])
    speakers = [Client(chat, f"speaker{i}", "order") for i in range(4)]
    for speaker in speakers:
        speaker.type(*[f"line {n}" for n in range(200)])
    heard = [[hearer.hear() for _ in range(4 + 4 * 200)] for hearer in hearers]
    expect(all(lines == heard[0] for lines in heard), "not all heard the same")
    for i in range(4):
        own = [line for line in heard[0] if line.startswith(f"<speaker{i}>")]
        expect(own == [f"<speaker{i}> line {n}" for n in range(200)], "lines of one out of order")
    for client in hearers + speakers:
        client.close()


def test_slow_reader(chat):
    """Who does not read misses lines, is told how many, and holds nobody up."""
    ann = Client(chat, "ann", "slow")
    slow = Client(chat, "slow", "slow", small=True)
    ann.expect("* slow has joined slow")
    count = 20000
    text = "x" * 500
    ann.type(*[text] * count, "/who")
    ann.expect("* ann is in slow", "* slow is in slow")
    heard = missed = 0
    ann.type("now read")
    while heard + missed < count + 1:
        line = slow.hear()
        if line.startswith("* you missed "):
            missed += int(line.split()[3])
        else:
            expect(line in (f"<ann> {text}", "<ann> now read"), f"{line!r}")
            heard += 1
    expect(missed > 0, "it missed nothing")
    ann.type("and now")
    slow.expect("<ann> and now")
    for client in (ann, slow):
        client.close()


def test_races(chat):
    """Of many who make one room at the same time all are in one."""
    clients = [Client(chat, f"c{i}") for i in range(40)]
    for number in range(20):
        for client in clients:
            client.type(f"/join race{number}")
        for client in clients:
            while client.hear() != f"* you are in race{number}":
                pass
        clients[0].type("/who")
        seen = set()
        while len(seen) < len(clients):
            line = clients[0].hear()
            if " is in race" in line:
                seen.add(line)
        for client in clients:
            client.type("/leave")
        for client in clients:
            while client.hear() != "* you have left":
                pass
    for client in clients:
        client.close()


def test_crowd(chat):
    """Many in one room: each hears what one says."""
    clients = [Client(chat, f"c{i}") for i in range(CROWD)]
    for client in clients:
        client.type("/join crowd")
    for client in clients:
        while client.hear() != "* you are in crowd":
            pass
    for number in range(20):
        clients[number].type(f"line {number}")
    for number, client in enumerate(clients):
        expected = [f"<c{i}> line {i}" for i in range(20) if i != number]
        while expected:
            line = client.hear()
            if line in expected:
                expected.remove(line)
            else:
                expect(line.endswith("has joined crowd"), f"{line!r}")
    for client in clients:
        client.close()


def test_full_room():
    chat = Chat("--members-max", "2")
    ann = Client(chat, "ann", "small")
    bob = Client(chat, "bob", "small")
    eve = Client(chat, "eve")
    eve.type("/join small")
    eve.expect("* there is no place")
    ann.expect("* bob has joined small")
    chat.process.send_signal(signal.SIGTERM)
    for client in (ann, bob, eve):
        expect("* the server ends, goodbye\n" in client.rest(), "no goodbye")
        client.close()
    chat.wait()


def main():
    chat = Chat()
    test_commands(chat)
    test_end_of_input(chat)
    test_disconnect(chat)
    test_long_line(chat)
    test_order(chat)
    test_slow_reader(chat)
    test_races(chat)
    test_crowd(chat)
    chat.stop()
    test_full_room()


main()
