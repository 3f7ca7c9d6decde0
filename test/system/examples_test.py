#!/usr/bin/env python3
"""The short programs of apps/examples that end by themselves: each does what the first line of its comment
says, a test for each."""
import os
import re
import subprocess
import sys
import tempfile

import examples_serving_test
from echo_support import PATIENCE_S, expect
from examples_support import check_same, names, program, report, run


def test_ask_all():
    out = run("ask_all")
    expect(out.startswith("of 6 shops 4 answer, the cheapest with 101 cents\n"), out)
    expect(re.search(r"\nthe first answer is 1\d\d cents, and [0-5] are given up\n", out) is not None, out)


def test_await():
    expect(run("await") == "mirror 2 answers first; the other ask: Operation canceled\n", "another mirror")


def test_batch():
    *writes, last = run("batch").splitlines()
    expect([int(n) for line in writes for n in line.split()] == list(range(100)), writes)
    expect(last == f"100 entries were kept by {len(writes)} writes" and len(writes) < 100, last)


def test_cause():
    expect(run("cause") == "50 cents: Permission denied, 35 more are due\n85 cents: receipt 1\n", "another postage")


def test_coroutine():
    if not os.path.exists(program("coroutine")):
        sys.exit(77)
    expect(run("coroutine") == "tea: 90 cents\nmilk: 180 cents\ncoffee: No such file or directory\n", "another shop")


def test_embed():
    lines = run("embed", given="abc\nhello\n").splitlines()
    expect(lines == ["4 bytes", "6 bytes"], f"it printed {lines}")
    lines = run("embed", given="x" * 300 + "\nend").splitlines()
    expect(lines == ["255 bytes", "46 bytes", "3 bytes"], f"it printed {lines}")
    # A line without its end does not keep it from hearing an answer.
    heard, terminal = os.openpty()
    with subprocess.Popen([program("embed")], stdin=subprocess.PIPE, stdout=terminal) as process:
        os.close(terminal)
        process.stdin.write(b"abc\nhel")
        process.stdin.flush()
        expect(os.read(heard, 100) == b"4 bytes\r\n", "another answer")
        process.stdin.write(b"lo\n")
        process.stdin.flush()
        expect(os.read(heard, 100) == b"6 bytes\r\n", "another answer")
        process.stdin.close()
        expect(process.wait(PATIENCE_S) == 0, "it failed")
    os.close(heard)


def test_libuv():
    if not os.path.exists(program("libuv")):
        sys.exit(77)
    lines = run("libuv").splitlines()
    expect(lines == [f"libuv's timer, number {i}" for i in (1, 2, 3)], f"it printed {lines}")


def test_encode():
    expect(run("encode") == "node 2: 12 pieces for Ann\n", "another order")


def test_event():
    lines = run("event").splitlines()
    expect(lines[:5] == [f"TWO {n} goes to {1 if n < 2 else 0}" for n in range(5)], lines)
    expect(lines[5:9] == ["TWO is 0", "TWO is 1", "missed 3", "ONE 100 goes to 2"], lines)
    expect(lines[9] == "ONE is 100", lines)


def test_file():
    with tempfile.TemporaryDirectory() as folder:
        source, copy = os.path.join(folder, "source"), os.path.join(folder, "copy")
        for data in (b"", os.urandom(1), os.urandom(700001)):
            with open(source, "wb") as file:
                file.write(data)
            expect(run("file", source, copy) == f"{len(data)} bytes\n", "another length")
            with open(copy, "rb") as file:
                expect(file.read() == data, "another copy")
        run("file", os.path.join(folder, "none"), copy, status=1)
        run("file", source, folder, status=1)
        check_same("file", folder)
        copied = subprocess.run([program("file"), source, "/dev/full"], capture_output=True, text=True,
                                timeout=PATIENCE_S, check=False)
        expect("No space left on device" in copied.stderr, copied.stderr)
    run("file", status=1)


def test_forward():
    expect(run("forward") == "three stamps cost 255 cents\nthe parcel finds nobody: No such process\n", "another desk")


def test_group():
    found = re.findall(r"customer (\d): order (\d) by worker (\S+)\n", run("group"))
    expect(len(found) == 18, found)
    for customer in "012345":
        own = [(order, worker) for who, order, worker in found if who == customer]
        expect([order for order, _ in own] == ["1", "2", "3"], own)
        expect(len({worker for _, worker in own}) == 1, own)


def test_grow():
    expect(run("grow") == "100 parcels are packed, by up to 4\n", "another number of packers")


def test_inspect():
    """The tree is of actors that live, the last lines are of actors that have ended."""
    out = run("inspect")
    expect(re.search(r"\nclass +actors +handled.*\n(.*\n)*net +1 .*\nplayer +2 ", out) is not None, out)
    expect(re.search(r"\n/\n  user\n    net-1  net \[.*\]\n      player-1  player \[.*\]\n"
                     r"      player-2  player \[.*\]\n  system\n", out) is not None, out)
    expect(out.endswith("\nnet: 100001 messages handled\nplayer: 100000 messages handled\n"), out)


def test_log():
    lines = run("log").splitlines()
    expect(any(line.startswith("[warning] actor worker /user/main-1/worker-") and
               line.endswith(": its handler of task failed: Input/output error") for line in lines), lines)
    expect("[lost] nobody understands a riddle" in lines, lines)
    own = [line for line in lines if line.startswith("[info] actor worker [0:")]
    expect([line.split("]: ")[1] for line in own] == ["cannot do a task: Input/output error", "goes"], lines)


def test_mailbox():
    lines = run("mailbox").splitlines()
    expect(lines[:2] == [f"job {n} is refused: No buffer space available" for n in (9, 10)], lines)
    jobs = [line for line in lines if line.endswith(" is done")]
    expect(jobs == [f"job {n} is done" for n in (7, 1, 2, 3, 4, 5, 6, 8)], lines)
    marks = [line for line in lines if "wait" in line]
    expect(marks == ["behind: 6 wait", "in time again: 2 wait"], lines)


def test_move():
    expect(run("move") == "the same block came back, and its first byte is 255\n"
           "to an actor that has stopped: No such process, and 0 blocks are left\n", "a copy")


def test_name():
    expect(run("name") == "a second service: File exists\nlookup: found\nasked 1 times\n"
           "lookup: No such file or directory\nlookup: found\nasked 1 times\n", "other answers")


def test_offload():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(b"foobar")
        expect(run("offload", path, path) == 2 * f"bf9cf968 {path}\n", "another sum")
        none = path + ".none"
        expect(run("offload", none, path, status=1) ==
               f"{none}: No such file or directory\nbf9cf968 {path}\n", "other lines")
    run("offload", status=1)


def test_outside():
    expect(run("outside") == 2 * "a thread has deposited: all\n" + "balance: 2000 (0)\n", "less")


def test_overflow():
    expect(run("overflow") == "log (all sent): 1 2 3\nscreen (all sent): 8 9 10\n14 readings were dropped\n",
           "other readings")


def test_overload():
    """What it says of its shortage of memory is no failure here."""
    ran = subprocess.run([program("overload"), "256"], capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr}")
    expect(re.fullmatch(r"busy with \d+ blocks\nrecovered\n", ran.stdout) is not None, ran.stdout)


def test_pact():
    expect(run("pact") == "line 1 is written\nline 2 is written\nline 3 is written\n"
           "the reader closes its file\nthe reader has ended: No space left on device\n", "another end")


def test_pipe():
    for given in ("one\n\nthree\n", "one\n\nthree"):
        expect(run("pipe", given=given) == "     1\tone\n     2\t\n     3\tthree\n", "other lines")
    many = run("pipe", given="x\n" * 100000).splitlines()
    expect(many[-1] == "100000\tx" and len(many) == 100000, many[-1])
    with subprocess.Popen([program("pipe")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left:
        left.stdout.close()  # nobody reads
        left.stdin.write(b"line\n")
        left.stdin.close()
        expect(left.wait(PATIENCE_S) == 0, f"exit {left.returncode}")


def test_place():
    lines = run("place").splitlines()
    expect(lines == ["the ticker is on loop 1 of its own", "the ticker has gone on meanwhile",
                     "another one: no loop is free", "when the first has stopped: here it is"], f"it printed {lines}")


def test_pools():
    lines = run("pools").splitlines()
    expect(lines == ["quick work is done", *(f"slow work {i} is done" for i in (1, 2, 3))], f"it printed {lines}")


def test_postgres():
    """Looked at alone: it needs a server of others, with which postgres_test.py runs it."""


def test_protocol():
    expect(run("protocol") == "of 100 cents: 3\nbalance: 120\n", "another account")


def test_request():
    expect(run("request") == "quick: 270 cents\nslow: 0 Connection timed out\n", "other prices")


def test_resize():
    expect(run("resize") == "1 loops: 30 0 0\n3 loops: 10 10 10\n2 loops: 15 15 0\n", "other loops")


def test_resolve():
    out = run("resolve", "127.0.0.1", "localhost", "[::1]")
    match = re.fullmatch(r"127.0.0.1: tcp://127.0.0.1:80\nlocalhost: (.*)\n"
                         r"\[::1\]: tcp://\[::1\]:80\n", out)
    expect(match and {"tcp://127.0.0.1:80", "tcp://[::1]:80"} & set(match.group(1).split()), out)
    out = run("resolve", "a b", "127.0.0.1", status=1)
    expect(out == "a b: Invalid argument\n127.0.0.1: tcp://127.0.0.1:80\n", out)
    expect(run("resolve", "a b", status=1) == "a b: Invalid argument\n", "it was found")
    run("resolve", status=1)


def test_restart():
    expect(run("restart") == "job 1 is done\njob 2 is done\njob 3 fails\n"
           "restart, with 2 jobs done\njob 4 is done\njob 5 is done\njob 6 fails\n"
           "restart, with 4 jobs done\njob 7 is done\njob 8 is done\njob 9 fails\n"
           "the worker has ended: Input/output error\n", "another life")


def test_service():
    expect(run("service") == "a clerk is on node 2\n2 apples: 42\nnobody serves any more\n", "another sale")


def test_shutdown():
    lines = run("shutdown").splitlines()
    expect(lines == [*(f"order {i} is packed" for i in (1, 2, 3)), "3 orders are in the books"], f"it printed {lines}")


def test_state():
    expect(run("state") == "guest 1 waits\nguest 2 waits\nguest 3 waits\nthe door is open for 3\n"
           "guest 1 is in\nguest 2 is in\nguest 3 is in\n", "another order")


def test_supervise():
    lines = run("supervise").splitlines()
    failed = "/user/main-1/desk-1/worker-{} has failed at job {}: Input/output error"
    restarts = ["/user/main-1/desk-1/worker-1 restarts", "/user/main-1/desk-1/worker-2 restarts"]
    # The workers take turns; one of them is at job 3 or 6 first.
    expect(sorted(line for line in lines if "has failed" in line)[-1].endswith("Input/output error"), lines)
    expect(sum("has failed" in line for line in lines) == 3, lines)
    expect(sorted(line for line in lines if "restarts" in line) == sorted(restarts * 2), lines)
    expect(lines[-1].startswith("the desk has ended at job "), lines)
    expect(any(line in (failed.format(2, 3), failed.format(1, 6)) for line in lines), lines)


def test_stop():
    *packed, clerk, shop, another = run("stop").splitlines()
    expect(sorted(packed) == [f"order {n} is packed" for n in (1, 2, 3)], packed)
    expect((clerk, shop) == ("the clerk goes", "the shop is closed"), (clerk, shop))
    expect(another == "another order: No such process", another)


def test_stream():
    expect(run("stream") == "22.0 degrees, of 3 readings: Success\n25.7 degrees, of 3 readings: Success\n"
           "28.5 degrees, of 2 readings: Success\n0.0 degrees, of 0 readings: Input/output error\n", "another mean")


def test_stream_actors():
    expect(run("stream_actors") == "1 2 3\n4 5 6\n7 8 9\n10 \n10 stones: Success\n", "other stones")


def test_suspend():
    expect(run("suspend") == "replica 2 was the first\n", "another replica")


def test_tail():
    expect(run("tail") == "line 0: 0 0 0 4 2 3\nline 1:\nline 2: 0 0 0 0 0 0 1\n", "words of a length")


def test_take():
    expect(run("take") == "taken, once\nthe book is gone, its page says: call me Ishmael\n", "another page")


def test_timer():
    match = re.fullmatch(r"saved (\d+) letters after (\d+) ms of quiet\n", run("timer"))
    expect(match and int(match.group(1)) >= 5 and int(match.group(2)) >= 50, match)


def test_watch():
    expect(run("watch") == "worker 1 has ended: Input/output error\n"
           "worker 2 has ended: stopped\nworker 3 works\n", "another life")


def main():
    return report([name for name in names() if name not in examples_serving_test.TESTED], globals())


if __name__ == "__main__":
    sys.exit(main())
