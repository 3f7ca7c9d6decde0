#!/usr/bin/env python3
"""gyre-kv with the clients of Redis: redis-cli, redis-benchmark and python3-redis, on one loop and on several."""
import contextlib
import importlib
import shutil
import subprocess
import sys
import threading

from echo_support import PATIENCE_S, expect, skip
from kv_support import Client, Kv, encode, parts

BENCHMARK_REQUESTS = 2000
THREADS = 4
INCREMENTS = 500


def redis_module():
    """That of Debian, also where another Python comes first in the path."""
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        return importlib.import_module("redis")
    except ImportError:
        return skip("there is no python3-redis")


def run(*command, text=None):
    if not shutil.which(command[0]):
        skip(f"there is no {command[0]}")
    ran = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"{command}: exit {ran.returncode}, {ran.stdout}{ran.stderr}")
    return ran.stdout


def redis_cli_is_served(kv):
    out = run("redis-cli", "-p", kv.port, text="set a 1\nincr a\nlpush l x y z\nlrange l 0 -1\nhset h f v\nhgetall h\n")
    expect(out.split() == ["OK", "2", "3", "z", "y", "x", "1", "f", "v"], out)
    expect(run("redis-cli", "-3", "-p", kv.port, "hgetall", "h") == "f v\n", "no map under RESP3")
    out = run("redis-cli", "-p", kv.port, "--scan", "--pattern", "[al]")
    expect(sorted(out.split()) == ["a", "l"], out)
    expect("role:master" in run("redis-cli", "-p", kv.port, "info"), "no info")
    run("redis-cli", "-p", kv.port, "flushall")
    expect(run("redis-cli", "-p", kv.port, "dbsize") == "0\n", "keys are left")


def redis_benchmark_is_served(kv):
    """All that it plays by default, with keys in every shard."""
    for depth in (1, 16):
        out = run("redis-benchmark", "-p", kv.port, "-n", BENCHMARK_REQUESTS, "-c", 20, "-P", depth, "-r", 1000,
                  "--csv")
        tests = [line.split(",")[0].strip('"') for line in out.splitlines()[1:]]
        for name in ("PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "SADD", "HSET",
                     "SPOP", "ZADD", "ZPOPMIN", "LRANGE_600 (first 600 elements)", "MSET (10 keys)"):
            expect(name in tests, f"{name} is not in {tests}")


def python_redis_is_served(kv):
    client = redis_module().Redis(port=kv.port, socket_timeout=PATIENCE_S, client_name="tester")
    expect(client.ping() and client.client_getname() == "tester", "no ping, or no name")
    expect(client.mset({f"m{i}": i for i in range(50)}), "no mset")
    expect(client.mget([f"m{i}" for i in range(60)]) == [b"%d" % i for i in range(50)] + [None] * 10, "wrong mget")
    expect(client.delete(*[f"m{i}" for i in range(60)]) == 50, "wrong delete")
    expect(client.zadd("z", {"one": 1, "two": 2, "three": 3}) == 3, "wrong zadd")
    expect(client.zrange("z", 0, 1, withscores=True) == [(b"one", 1.0), (b"two", 2.0)], "wrong zrange")
    with client.pipeline(transaction=True) as pipe:
        pipe.set("{t}a", 1).incr("{t}a").get("{t}a").rpush("{t}l", "x")
        expect(pipe.execute() == [True, 2, b"2", 1], "wrong transaction")
    with client.pipeline(transaction=False) as pipe:
        for i in range(500):
            pipe.set(f"p{i}", i)
            pipe.get(f"p{i}")
        expect(pipe.execute() == [x for i in range(500) for x in (True, b"%d" % i)], "wrong pipeline")
    expect(client.dbsize() == 503, f"{client.dbsize()} keys")
    expect(len(set(client.scan_iter(count=7))) == 503, "scan leaves keys out")
    expect(client.info()["db0"]["keys"] >= 1, "no keys in info")
    client.flushall()


def threads_agree(kv):
    """Counters that all increment from connections of every loop."""
    def work():
        with Client(kv) as client:
            client.send(b"".join(encode("incr", f"counter{i % 7}") for i in range(INCREMENTS)))
            for _ in range(INCREMENTS):
                expect(client.reply().startswith(b":"), "no number")
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Client(kv) as client:
        total = sum(int(parts(client.ask("mget", f"counter{i}"))[0].split(b"\r\n")[1]) for i in range(7))
        expect(total == THREADS * INCREMENTS, f"{total} increments")


def a_command_sees_those_before_it(kv):
    """In one pipeline, whichever shards the keys are in."""
    with Client(kv) as client:
        stream, wanted = b"", b""
        for i in range(300):
            stream += encode("set", f"s{i}", i) + encode("mset", f"s{i}", "x", f"t{i}", "yy")
            stream += encode("mget", f"t{i}", f"s{i}", "none") + encode("del", f"s{i}", f"t{i}", "none")
            stream += encode("exists", f"s{i}", f"t{i}") + encode("nonsense")
            wanted += b"+OK\r\n+OK\r\n*3\r\n$2\r\nyy\r\n$1\r\nx\r\n$-1\r\n:2\r\n:0\r\n"
            wanted += b"-ERR unknown command 'nonsense', with args beginning with: \r\n"
        client.send(stream)
        got = b"".join(client.reply() for _ in range(300 * 6))
        expect(got == wanted, "wrong replies in a pipeline")


def a_transaction_is_of_one_shard(kv, loops):
    with Client(kv) as client:
        client.expect(b"-ERR EXEC without MULTI\r\n", "exec")
        client.expect(b"+OK\r\n", "multi")
        client.expect(b"-ERR MULTI calls can not be nested\r\n", "multi")
        client.expect(b"+QUEUED\r\n", "set", "{x}1", 5)
        client.expect(b"+QUEUED\r\n", "incr", "{x}1")
        client.expect(b"+QUEUED\r\n", "ping")
        client.expect(b"*3\r\n+OK\r\n:6\r\n+PONG\r\n", "exec")
        client.expect(b"+OK\r\n", "multi")
        client.expect(b"-ERR wrong number of arguments for 'get' command\r\n", "get")
        client.expect(b"-EXECABORT Transaction discarded because of previous errors.\r\n", "exec")
        client.expect(b"+OK\r\n", "multi")
        client.expect(b"+QUEUED\r\n", "set", "{x}1", "gone")
        client.expect(b"+OK\r\n", "discard")
        client.expect(b"$1\r\n6\r\n", "get", "{x}1")
        client.expect(b"+OK\r\n", "multi")
        replies = {client.ask("set", f"k{i}", 1) for i in range(50)}
        crossed = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n"
        expect(replies == ({b"+QUEUED\r\n"} if loops == 1 else {b"+QUEUED\r\n", crossed}), f"{replies}")
        client.ask("exec")


def clients_name_themselves(kv):
    with Client(kv) as client:
        client.expect(b"$0\r\n\r\n", "client", "getname")
        expect(client.ask("hello", 3, "setname", "ada")[:4] == b"%7\r\n", "no greeting")
        client.expect(b"$3\r\nada\r\n", "client", "getname")
        client.expect(b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
                      "hello", 2, "setname", "a b")
        client.expect(b"-ERR Syntax error in HELLO option 'setname'\r\n", "hello", 2, "setname")
        client.expect(b"-ERR unknown subcommand or wrong number of arguments for 'none'. Try CLIENT HELP.\r\n",
                      "client", "none")
        client.expect(b"-ERR unknown subcommand or wrong number of arguments for 'none'. Try CONFIG HELP.\r\n",
                      "config", "none", "x")


def what_is_published_reaches_all(kv):
    with Client(kv) as one, Client(kv) as two, Client(kv) as three, Client(kv) as teller:
        two.ask("hello", 3)
        for client, kind in ((one, b"*"), (two, b">")):
            client.expect(kind + b"3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n", "subscribe", "news")
        three.expect(b"*3\r\n$10\r\npsubscribe\r\n$3\r\nn*s\r\n:1\r\n", "psubscribe", "n*s")
        teller.expect(b":3\r\n", "publish", "news", "hello")
        teller.expect(b":0\r\n", "publish", "olds", "hello")
        expect(one.reply() == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n", "no message")
        expect(two.reply() == b">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n", "no push")
        expect(three.reply() == b"*4\r\n$8\r\npmessage\r\n$3\r\nn*s\r\n$4\r\nnews\r\n$5\r\nhello\r\n", "no pattern")
        one.expect(b"*2\r\n$4\r\npong\r\n$0\r\n\r\n", "ping")
        expect(one.ask("get", "x").startswith(b"-ERR Can't execute 'get'"), "a subscriber may read keys")
        one.expect(b"*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n", "unsubscribe")
        one.expect(b"$-1\r\n", "get", "x")
        teller.expect(b":2\r\n", "publish", "news", "again")


def what_is_published_comes_in_the_order_of_the_commands(kv):
    for _ in range(8):  # on different loops, if there are several
        with Client(kv) as both, Client(kv) as teller:
            while teller.ask("publish", "news", 0) != b":0\r\n":
                pass  # the connections before are closed, but not yet forgotten
            both.ask("subscribe", "news")
            both.ask("psubscribe", "n*")
            teller.send(encode("publish", "news", 1) + encode("publish", "news", 2))
            expect([teller.reply() for _ in range(2)] == [b":2\r\n"] * 2, "not both")
            comes = [both.reply() for _ in range(4)]
            message = b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n%d\r\n"
            pmessage = b"*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$1\r\n%d\r\n"
            expect(comes == [message % 1, pmessage % 1, message % 2, pmessage % 2], f"{comes}")


def a_client_hears_what_it_publishes_between_replies(kv, loops):
    """Not before that to SUBSCRIBE, and not within that of a transaction."""
    push = b">3\r\n$7\r\nmessage\r\n$4\r\nself\r\n$1\r\nx\r\n"
    with Client(kv) as client:
        client.ask("hello", 3)
        client.send(encode("subscribe", "self") + (encode("publish", "self", "x") + encode("ping")) * 3)
        replies = [client.reply() for _ in range(10)]
        expect(replies[0].startswith(b">3\r\n$9\r\nsubscribe\r\n"), f"{replies}")
        expect([reply for reply in replies[1:] if reply != push] == [b":1\r\n", b"+PONG\r\n"] * 3, f"{replies}")
        if loops == 1:
            client.send(encode("multi") + encode("publish", "self", "x") * 2 + encode("exec"))
            replies = sorted(client.reply() for _ in range(6))
            expect(replies == [b"*2\r\n:1\r\n:1\r\n", b"+OK\r\n"] + [b"+QUEUED\r\n"] * 2 + [push] * 2, f"{replies}")


def what_is_published_does_not_count_as_removed(kv, loops):
    """However many hear it, and wherever."""
    keys = [f"removed{i}" for i in range(16)]
    with Client(kv) as client, contextlib.ExitStack() as subscribers:
        for _ in range(8):
            subscribers.enter_context(Client(kv)).ask("subscribe", "removal")
        client.send(b"".join(encode("set", key, 1) + encode("publish", "removal", key) + encode("del", key)
                             for key in keys))
        replies = [client.reply() for _ in range(3 * len(keys))]
        expect(replies == [b"+OK\r\n", b":8\r\n", b":1\r\n"] * len(keys), f"{replies}")
        if loops == 1:
            client.send(encode("multi") + encode("publish", "removal", "x") + encode("del", "removed") + encode("exec"))
            replies = [client.reply() for _ in range(4)]
            expect(replies[3] == b"*2\r\n:8\r\n:0\r\n", f"{replies}")


def subscriptions_end_with_what_has_them(kv):
    with Client(kv) as stays, Client(kv) as teller:
        stays.expect(b"*3\r\n$10\r\npsubscribe\r\n$2\r\nn*\r\n:1\r\n", "psubscribe", "n*")
        stays.ask("psubscribe", "n*")  # twice is once
        with Client(kv) as leaves:
            leaves.ask("psubscribe", "n*")
            leaves.ask("subscribe", "news")
            teller.expect(b":3\r\n", "publish", "news", "x")
            stays.reply()
        while (reply := teller.ask("publish", "news", "x")) != b":1\r\n":
            expect(reply in (b":2\r\n", b":3\r\n"), f"a client has gone, and {reply} get it")
            stays.reply()
        stays.reply()
        stays.ask("subscribe", "a")
        stays.ask("subscribe", "b")
        stays.send(encode("unsubscribe"))
        replies = {stays.reply() for _ in range(2)}
        expect({b"*3\r\n$11\r\nunsubscribe\r\n$1\r\n" + rest for rest in (b"a\r\n:2\r\n", b"b\r\n:1\r\n")} == replies
               or {b"*3\r\n$11\r\nunsubscribe\r\n$1\r\n" + rest for rest in (b"b\r\n:2\r\n", b"a\r\n:1\r\n")} == replies,
               f"{replies}")
        stays.expect(b"*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:1\r\n", "unsubscribe")
        stays.expect(b"*3\r\n$12\r\npunsubscribe\r\n$2\r\nn*\r\n:0\r\n", "punsubscribe")
        teller.expect(b":0\r\n", "publish", "news", "x")
        stays.expect(b"-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n", "subscribe", "x" * 65537)
        teller.expect(b":0\r\n", "publish", "x" * 65537, "x")
        stays.ask("subscribe", "x" * 65536)
        teller.expect(b":1\r\n", "publish", "x" * 65536, "x")


def keys_end_in_time(kv):
    with Client(kv) as client:
        for i in range(200):
            client.expect(b"+OK\r\n", "set", f"brief{i}", 1, "px", 1)
        client.expect(b"+OK\r\n", "set", "long", 1, "ex", 1000)
        while client.ask("dbsize") != b":1\r\n":  # the timers of the shards remove them, nobody asks for them
            pass
        client.expect(b"$-1\r\n", "get", "brief0")
        client.expect(b":1000\r\n", "ttl", "long")
        client.expect(b"+OK\r\n", "set", "long", 2)
        client.expect(b":-1\r\n", "ttl", "long")
        client.expect(b":1\r\n", "expire", "long", 1)
        while client.ask("exists", "long") != b":0\r\n":
            pass
        client.expect(b":-2\r\n", "ttl", "long")


def who_ends_his_side_gets_all(kv):
    with Client(kv) as client:
        client.send(b"PING\r\n" + b"".join(encode("set", f"e{i}", i) for i in range(1000)) + b"get e7\r\nquit\r\n")
        client.socket.shutdown(1)
        expect(client.rest() == b"+PONG\r\n" + b"+OK\r\n" * 1000 + b"$1\r\n7\r\n+OK\r\n", "replies are missing")


def main():
    for loops in (1, 2, 3):
        with Kv(loops=loops) as kv:
            redis_cli_is_served(kv)
            redis_benchmark_is_served(kv)
            with Client(kv) as client:
                client.expect(b"+OK\r\n", "flushall")
            python_redis_is_served(kv)
            threads_agree(kv)
            a_command_sees_those_before_it(kv)
            a_transaction_is_of_one_shard(kv, loops)
            what_is_published_reaches_all(kv)
            clients_name_themselves(kv)
            what_is_published_comes_in_the_order_of_the_commands(kv)
            a_client_hears_what_it_publishes_between_replies(kv, loops)
            what_is_published_does_not_count_as_removed(kv, loops)
            subscriptions_end_with_what_has_them(kv)
            with Client(kv) as client:
                client.expect(b"+OK\r\n", "flushall")
            keys_end_in_time(kv)
            who_ends_his_side_gets_all(kv)


if __name__ == "__main__":
    main()
