#!/usr/bin/env python3
"""gyre-kv beside a private redis-server: the same random commands, and each reply is the same bytes.

What is known to differ: the order in which hashes, sets and SCAN list what they hold, and which members a
random choice takes; an argument that is wrong is noticed after a key that is missing or of another type; a
transaction over keys of several shards is refused; words in a line have no quotes.
"""
import random
import sys

from echo_support import expect
from kv_support import Client, Kv, Redis, encode, parts

ROUNDS = 400
KEYS = [f"k{i}" for i in range(9)]
MEMBERS = ["a", "b", "c", "dd", "", "field with space", b"\x00\xff\r\n", "10", "member-that-is-longer-than-most"]
NUMBERS = [0, 1, 2, -1, -2, 5, 10, 100, 2**31, 2**63 - 1, -2**63]
SCORES = ["0", "1", "-1", "2.5", "1e3", "0.1", "-0.3", "inf", "-inf", "3", "17.25", "1e400", "-1e400", "1e-400"]
MISSING = [b":0\r\n", b"$-1\r\n", b"_\r\n", b"*0\r\n"]
UNORDERED = {"hgetall": 2, "smembers": 1}


class Choice:
    """Random arguments of each kind, of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def key(self):
        return self.random.choice(KEYS)

    def member(self):
        return self.random.choice(MEMBERS)

    def value(self):
        return self.random.choice([self.member(), self.random.choice(NUMBERS), "x" * self.random.randrange(2000),
                                   self.random.randrange(100)])

    def number(self):
        return self.random.choice(NUMBERS)

    def small(self):
        return self.random.randrange(-4, 8)

    def time(self):
        """No time that may be over before both have been asked."""
        return self.random.choice([0, -1, -2**63, 2**63 - 1, 100000, 10**7])

    def score(self):
        return self.random.choice(SCORES)

    def some(self, *kinds):
        """One to four times an argument of each kind."""
        return [getattr(self, kind)() for _ in range(self.random.randrange(1, 5)) for kind in kinds]

    def maybe(self, *words):
        return [word for word in words if self.random.random() < 0.3]


def strings(c):
    return [
        ["set", c.key(), c.value()], ["set", c.key(), c.value(), *c.maybe("nx", "xx")],
        ["set", c.key(), c.value(), "ex", 1000 + abs(c.small()), *c.maybe("xx")],
        ["set", c.key(), c.value(), "px", c.time()], ["set", c.key(), c.value(), "what"],
        ["get", c.key()], ["strlen", c.key()],
        ["append", c.key(), c.value()], ["getrange", c.key(), c.small(), c.small()], ["incr", c.key()],
        ["decr", c.key()], ["incrby", c.key(), c.number()], ["decrby", c.key(), c.number()], ["mget", *c.some("key")],
        ["mset", *c.some("key", "value")], ["mset", c.key()],
    ]


def keys(c):
    return [
        ["del", *c.some("key")], ["exists", *c.some("key")],
        ["expire", c.key(), 1000], ["expire", c.key(), c.small() - 8], ["ttl", c.key()],
        ["expire", c.key(), c.time()], ["dbsize"],
        ["flushall"] if c.random.random() < 0.05 else ["exists", c.key()], ["ping"], ["echo", c.value()],
        ["nonsense", c.member()], ["get"], ["ping", c.member()],
        ["ping", c.member(), c.member()], ["scan", 0, "count", c.random.choice([0, -1, -2**63])],
    ]


def hashes(c):
    return [
        ["hset", c.key(), *c.some("member", "value")],
        ["hset", c.key(), "a", 1, "b"], ["hget", c.key(), c.member()],
        ["hdel", c.key(), *c.some("member")], ["hgetall", c.key()], ["hlen", c.key()],
    ]


def lists(c):
    return [
        ["lpush", c.key(), *c.some("value")], ["rpush", c.key(), *c.some("value")], ["lpop", c.key()], ["rpop", c.key()],
        ["lrange", c.key(), c.small(), c.small()], ["lrange", c.key(), 0, -1],
        ["lindex", c.key(), c.small()], ["llen", c.key()],
    ]


def sets(c):
    return [
        ["sadd", c.key(), *c.some("member")], ["srem", c.key(), *c.some("member")], ["smembers", c.key()],
        ["sismember", c.key(), c.member()], ["scard", c.key()], ["sadd", c.key(), *c.some("value")],
    ]


def sorted_sets(c):
    return [
        ["zadd", c.key(), *c.some("score", "member")], ["zadd", c.key(), *c.some("score", "member")],
        ["zrem", c.key(), *c.some("member")], ["zscore", c.key(), c.member()], ["zcard", c.key()],
        ["zrange", c.key(), c.small(), c.small(), *c.maybe("withscores")], ["zrange", c.key(), 0, -1, "what"],
        ["zpopmin", c.key()], ["zrange", c.key(), 0, -1],
    ]


FAMILIES = [strings, keys, hashes, lists, sets, sorted_sets]


def in_order(command, reply):
    """A reply with what has no order in one."""
    width = UNORDERED.get(command[0])
    if not width or reply[:1] not in b"*~%":
        return reply
    found = parts(reply)
    return reply[:reply.index(b"\r\n")], sorted(zip(*[iter(found)] * width))


def is_noticed_later(ours, theirs):
    """A mistake in an argument, of which we tell only where the key is there and of the right type."""
    return theirs.startswith(b"-ERR") and (ours.startswith(b"-WRONGTYPE") or ours in MISSING)


def is_a_second_apart(command, ours, theirs):
    """Seconds are rounded, and the two servers are not asked at the same time."""
    return (command[0] == "ttl" and ours[:1] == theirs[:1] == b":" and
            abs(int(ours[1:]) - int(theirs[1:])) == 1 and min(int(ours[1:]), int(theirs[1:])) > 0)


def play(seed, clients):
    """Sends the same commands to both, cut into pieces that differ, and compares all replies."""
    choice = Choice(seed)
    commands = [choice.random.choice(choice.random.choice(FAMILIES)(choice))
                for _ in range(choice.random.randrange(1, 60))]
    stream = b"".join(encode(*command) for command in commands)
    for client in clients:
        at = 0
        while at < len(stream):
            size = choice.random.choice([1, 7, 100, 5000, len(stream)])
            client.send(stream[at:at + size])
            at += size
    for index, command in enumerate(commands):
        ours, theirs = (in_order(command, client.reply()) for client in clients)
        expect(ours == theirs or is_noticed_later(ours, theirs) or is_a_second_apart(command, ours, theirs),
               f"seed {seed}, command {index}, {command}: {ours!r}, Redis: {theirs!r}")


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    for loops in (1, 3):
        with Redis() as redis, Kv(loops=loops) as kv, Client(kv) as ours, Client(redis) as theirs:
            for seed in range(first, first + count):
                if seed % 100 == 50:
                    versions = [client.ask("hello", 3)[:4] for client in (ours, theirs)]
                    expect(versions == [b"%7\r\n"] * 2, f"no RESP3: {versions}")
                play(seed, (ours, theirs))


if __name__ == "__main__":
    main()
