#!/usr/bin/env python3
"""What gyre-kv refuses, in Redis's words, and clients that flood it or do not read."""
import contextlib
import select
import socket

from echo_support import PATIENCE_S, expect, sanitizer
from kv_support import Client, Kv, encode, parts

BIG = 1 << 20
FLOOD = 3000
KEYS = 20000
SCANS = 1000
ROOM_KIB = 150 << 10


def refusals_are_those_of_redis(kv):
    for sent, wanted in (
            (b"*1\r\n!4\r\nPING\r\n", b"-ERR Protocol error: expected '$', got '!'\r\n"),
            (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
            (b"*1\r\n$99999999999\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
            (b"*99999999\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
            (b"*x\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
            (b"x" * 70000, b"-ERR Protocol error: too big inline request\r\n"),
            (b"x " * 70000 + b"\n", b"-ERR Protocol error: too big inline request\r\n")):
        with Client(kv) as client:
            client.send(encode("ping") + sent)
            got = client.rest()
            expect(got == b"+PONG\r\n" + wanted, f"{sent[:30]!r}: {got!r}")


def limits_on_arguments(kv):
    too_long = b"-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n"
    with Client(kv) as client:
        client.expect(b"+OK\r\n", "set", "k", "x" * (1 << 16))
        for command in (["set", "k" * 65537, 1], ["mset", "k", 1, "k" * 65537, 2], ["mget", "k", "k" * 65537],
                        ["del", "none", "none", "k" * 65537]):
            client.expect(too_long, *command)
        client.expect(too_long, "append", "k", "x" * BIG)
        client.expect(b"*0\r\n", "lrange", "none", 0, -1)
        client.send(encode("mget", *["k"] * 70000))
        expect(client.rest() == b"-ERR Protocol error: invalid multibulk length\r\n", "too many arguments")


def memory_has_a_limit(loops):
    oom = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    with Kv("--memory-max", str(4 * BIG), loops=loops) as kv, Client(kv) as client:
        replies = {client.ask("set", f"m{i}", "x" * 10000) for i in range(1000)}
        expect(replies == {b"+OK\r\n", oom}, f"{replies}")
        client.expect(b"$10000\r\n" + b"x" * 10000 + b"\r\n", "get", "m0")
        expect(client.ask("del", *[f"m{i}" for i in range(1000)]) != b":0\r\n", "nothing was there")
        client.expect(b"+OK\r\n", "set", "m0", 1)


def is_served(kv):
    with Client(kv) as client:
        client.send(encode("ping") + encode("quit"))
        return client.rest() == b"+PONG\r\n+OK\r\n"


def clients_are_counted():
    with Kv("--clients-max", "2") as kv, Client(kv) as one, Client(kv) as two:
        one.expect(b"+PONG\r\n", "ping")
        two.expect(b"+PONG\r\n", "ping")
        for _ in range(20):
            with Client(kv) as three:
                expect(three.rest() == b"-ERR max number of clients reached\r\n", "a third client is served")
        one.expect(b"+PONG\r\n", "ping")
        two.send(encode("quit"))
        expect(two.rest() == b"+OK\r\n", "it goes on")
        while not is_served(kv):
            pass


def fill(client, data):
    """Sends until nothing more is taken, and says how much that was."""
    client.socket.setblocking(False)
    taken = 0
    try:
        while taken < len(data):
            taken += client.socket.send(data[taken:taken + 65536])
    except BlockingIOError:
        pass
    client.socket.settimeout(60)
    return taken


def who_does_not_read_holds_little(kv):
    """Each asks for gigabytes; the server keeps a few replies for him, and serves the others."""
    with Client(kv) as client:
        for i in range(8):
            client.expect(b"+OK\r\n", "set", f"big{i}", "x" * BIG)
        before = kv.memory_kib()
        flood = b"".join(encode("get", f"big{i % 8}") for i in range(FLOOD))
        silent = [Client(kv, small=True) for _ in range(10)]
        for each in silent:
            fill(each, flood)
            client.expect(b"+PONG\r\n", "ping")
        for i in range(200):
            client.expect(b"$1048576\r\n" + b"x" * BIG + b"\r\n", "get", f"big{i % 8}")
        held = kv.memory_kib() - before
        expect(held < ROOM_KIB or sanitizer() != "none", f"{held} KiB are held for clients that do not read")
        # One of them reads after all, and misses nothing.
        for i in range(100):
            expect(len(silent[0].reply()) == BIG + 12, f"reply {i} is not whole")
        for each in silent:
            each.socket.close()
        client.expect(b"+PONG\r\n", "ping")


def a_reply_that_is_too_long_ends_its_connection(kv):
    """And leaves no memory behind, however often it is asked for."""
    with Client(kv) as client:
        before = kv.memory_kib()
        for bytes_each in (BIG, 1000000, 900000):  # the room for a reply grows in other steps
            client.expect(b"+OK\r\n", "set", "big", "x" * bytes_each)
            with Client(kv) as greedy:
                greedy.send(encode("mget", *["big"] * 300))
                try:
                    expect(greedy.socket.recv(1) == b"", "there is a reply")
                except ConnectionResetError:
                    pass
        client.expect(b"+PONG\r\n", "ping")
        held = kv.memory_kib() - before
        expect(held < ROOM_KIB or sanitizer() != "none", f"{held} KiB are held for replies that were too long")


def who_floods_waits(kv):
    """Small commands without end, of which no reply is read."""
    with Client(kv) as client, Client(kv, small=True) as flooder:
        flood = b"".join(encode("set", f"f{i % 100}", "y" * 100) for i in range(400000))
        taken = fill(flooder, flood)
        expect(taken < len(flood), "the flood was taken")
        client.expect(b"+PONG\r\n", "ping")
        expect(flooder.reply() == b"+OK\r\n", "no reply")


def who_floods_while_another_shard_works_waits(kv, loops):
    """What comes behind slow commands for another loop's shard is not read until they are done."""
    with Client(kv) as client, Client(kv) as flooder:
        client.send(b"".join(encode("set", f"slow{i}", i) for i in range(KEYS)))
        expect({client.reply() for _ in range(KEYS)} == {b"+OK\r\n"}, "not all are set")
        other = (int(flooder.ask("client", "id")[1:]) + 1) % loops
        echo = encode("echo", "x" * 1000)
        flood = echo * FLOOD * 30
        flooder.send(encode("scan", other, "match", "none", "count", 10**9) * SCANS + echo * 100)
        flooder.socket.setblocking(False)
        taken = 0
        while taken < len(flood) and not select.select([flooder.socket], [], [], 0)[0]:
            if select.select([flooder.socket], [flooder.socket], [])[1]:
                taken += flooder.socket.send(flood[taken:taken + 65536])
        flooder.socket.settimeout(PATIENCE_S)
        expect(taken < len(flood) // 2, f"{taken} bytes were taken while another shard works")
        for i in range(SCANS):
            expect(flooder.reply().endswith(b"*0\r\n"), f"reply {i} is of no scan")
        for i in range(100):
            expect(len(flooder.reply()) == 1009, f"reply {i} is not whole")
        client.expect(b"+OK\r\n", "flushall")


def a_subscriber_that_does_not_read_is_cut_off(kv):
    with Client(kv) as teller, Client(kv, small=True) as subscriber:
        subscriber.ask("subscribe", "news")
        for _ in range(200):
            if teller.ask("publish", "news", "x" * BIG) == b":0\r\n":
                break
        else:
            expect(False, "it is kept for ever")


def a_subscriber_may_be_late_by_a_few_large_values(kv):
    with Client(kv) as teller, Client(kv, small=True) as subscriber:
        subscriber.ask("subscribe", "large")
        for i in range(3):
            teller.expect(b":1\r\n", "publish", "large", bytes([97 + i]) * (8 * BIG))
        for i in range(3):
            wanted = b"*3\r\n$7\r\nmessage\r\n$5\r\nlarge\r\n$8388608\r\n" + bytes([97 + i]) * (8 * BIG) + b"\r\n"
            expect(subscriber.reply() == wanted, f"message {i} is not whole")


def a_large_value_is_published_on_many_loops(kv):
    """By one command, of which there are not as many copies as loops."""
    with Client(kv) as teller, Client(kv) as subscriber:
        subscriber.ask("subscribe", "large")
        teller.expect(b":1\r\n", "publish", "large", "x" * (8 * BIG))
        wanted = b"*3\r\n$7\r\nmessage\r\n$5\r\nlarge\r\n$8388608\r\n" + b"x" * (8 * BIG) + b"\r\n"
        expect(subscriber.reply() == wanted, "the message is not whole")


def what_many_keys_hold_is_replied_bit_by_bit(kv, loops):
    """Also from the shard of the client's own loop, when one of the keys is elsewhere."""
    with Client(kv) as client:
        own = int(client.ask("client", "id")[1:]) % loops
        names = [f"split{i}" for i in range(30)]
        for name in names:
            client.expect(b"+OK\r\n", "set", name, "x" * BIG)
        listed = client.ask("scan", own, "match", "split*", "count", 10**9).split()
        here = next(name for name in names if name.encode() in listed)
        there = next(name for name in names if name.encode() not in listed)
        before = kv.memory_kib()
        client.send(encode("mget", *[here] * 300, there))
        got = client.socket.recv(6, socket.MSG_WAITALL)
        expect(got == b"*301\r\n", f"{got!r}")
        for i in range(301):
            expect(client.reply() == b"$1048576\r\n" + b"x" * BIG + b"\r\n", f"value {i} is not whole")
        held = kv.memory_kib() - before
        expect(held < ROOM_KIB or sanitizer() != "none", f"{held} KiB are held for one reply")
        client.expect(b":30\r\n", "del", *names)


def what_is_published_stands_between_replies(kv):
    """And not within one that comes from several shards bit by bit, because it is long or not read."""
    keys = [f"long{i}" for i in range(10)]
    push = b">3\r\n$7\r\nmessage\r\n$5\r\nwords\r\n$1\r\nx\r\n"
    with Client(kv) as teller, Client(kv, small=True) as reader:
        for key in keys:
            teller.expect(b"+OK\r\n", "set", key, "x" * BIG)
        reader.ask("hello", 3)
        reader.ask("subscribe", "words")
        reader.send(encode("mget", *keys) * 2)
        select.select([reader.socket], [], [], PATIENCE_S)
        for _ in range(20):
            teller.expect(b":1\r\n", "publish", "words", "x")
        replies = [reader.reply() for _ in range(22)]
        expect(replies.count(push) == 20, "not all that was published came by itself")
        for reply in replies:
            expect(reply == push or parts(reply) == [b"$1048576\r\n" + b"x" * BIG + b"\r\n"] * 10,
                   "a reply is not whole")
        teller.expect(b":10\r\n", "del", *keys)


def a_command_in_pieces(kv):
    """Each byte by itself, and large arguments that many receives bring."""
    with Client(kv) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in encode("set", "piecemeal", "a\r\nb") + b"get  piecemeal \r\n":
            client.send(bytes([byte]))
        expect(client.reply() + client.reply() == b"+OK\r\n$4\r\na\r\nb\r\n", "wrong bytes")
        pairs = [word for i in range(300) for word in (f"large{i}", bytes([i % 256]) * 30000)]
        client.expect(b"+OK\r\n", "mset", *pairs)
        for i in range(0, 300, 37):
            client.expect(b"$30000\r\n" + bytes([i % 256]) * 30000 + b"\r\n", "get", f"large{i}")


def many_keys_are_asked_for_at_once(kv):
    """By one command, of which each shard replies more than a round brings at a time."""
    keys = [f"many{i}" for i in range(60000)]
    with Client(kv) as client:
        client.send(b"".join(encode("set", key, f"value-of-{key}") for key in keys[::2]))
        expect({client.reply() for _ in keys[::2]} == {b"+OK\r\n"}, "not all are set")
        got = parts(client.ask("mget", *keys))
        wanted = [b"$%d\r\nvalue-of-%s\r\n" % (len(key) + 9, key.encode()) if i % 2 == 0 else b"$-1\r\n"
                  for i, key in enumerate(keys)]
        expect(got == wanted, "wrong values")
        client.expect(b":30000\r\n", "del", *keys)


def memory_that_was_short_comes_back(loops):
    """What subscribers that do not read took is given back when they have gone, though nothing else happens then."""
    value = b"x" * 3000
    with Kv("--set", "memory_limit_bytes=150000000", loops=loops, warns=True) as kv:
        with contextlib.ExitStack() as subscribers, Client(kv) as talker:
            for _ in range(60):
                subscribers.enter_context(Client(kv, small=True)).ask("subscribe", "channel")
            talker.send(encode("publish", "channel", value) * 1500)
            line = kv.process.stderr.readline()
            while "memory is short" not in line:
                expect(line, "memory is never short")
                line = kv.process.stderr.readline()
        with Client(kv) as client:
            client.expect(b"+PONG\r\n", "ping")


def main():
    clients_are_counted()
    for loops in (1, 2) if sanitizer() == "none" else ():  # which keep what is freed
        memory_that_was_short_comes_back(loops)
    with Kv() as kv:
        a_subscriber_may_be_late_by_a_few_large_values(kv)
    with Kv("--spin", "never", loops=33) as kv:
        a_large_value_is_published_on_many_loops(kv)
    for loops in (1, 3):
        memory_has_a_limit(loops)
        with Kv("--value-max", str(BIG), loops=loops) as kv:
            refusals_are_those_of_redis(kv)
            limits_on_arguments(kv)
            many_keys_are_asked_for_at_once(kv)
            a_command_in_pieces(kv)
            a_reply_that_is_too_long_ends_its_connection(kv)
            who_floods_waits(kv)
            if loops > 1:
                who_floods_while_another_shard_works_waits(kv, loops)
                what_many_keys_hold_is_replied_bit_by_bit(kv, loops)
            a_subscriber_that_does_not_read_is_cut_off(kv)
            what_is_published_stands_between_replies(kv)
            who_does_not_read_holds_little(kv)


if __name__ == "__main__":
    main()
