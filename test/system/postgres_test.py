#!/usr/bin/env python3
"""gyre-example-postgres against a real PostgreSQL: rows come, and each failure says its cause."""
import os
import signal
import socket
import subprocess
import threading
import time

from echo_support import BUILD, PATIENCE_S, all_sleep, expect, is_silent, select_nothing, skip
from postgres_support import Cluster

PROGRAM = os.path.join(BUILD, "apps", "examples", "gyre-example-postgres")
PATIENCE_MS = str(1000 * PATIENCE_S)
SHORT_MS = "300"
NO_ANSWER = "no answer; allow a slow server more MILLISECONDS\n"
SLEEP = "select pg_sleep(3600)"
# Nothing of the account that runs the test.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def start(conninfo, query, timeout_ms=PATIENCE_MS):
    return subprocess.Popen([PROGRAM, conninfo, query, timeout_ms], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=ENVIRONMENT)


def end(client, status=0):
    """Waits for its end, and returns what it printed, or why it failed."""
    try:
        out, errors = client.communicate(timeout=2 * PATIENCE_S)
    except subprocess.TimeoutExpired:
        client.kill()
        expect(False, "the client does not end")
    expect(client.returncode == status, f"exit {client.returncode}, not {status}: {out[:1000]}{errors}")
    expect(status != 0 or is_silent(errors), f"it said: {errors}")
    return out if status == 0 else errors


def until_it_sleeps(client):
    """Waits until it can do no more by itself."""
    last = time.monotonic() + PATIENCE_S
    while not all_sleep(client.pid):
        expect(time.monotonic() < last, "the client is busy")
        select_nothing(0.02)


def query(conninfo, text):
    return end(start(conninfo, text))


def failure(conninfo, text="select 1", timeout_ms=PATIENCE_MS):
    return end(start(conninfo, text, timeout_ms), status=1)


class Relay:
    """Lets one client reach the server by TCP, but holds up a query after its first bytes.

    Segments are small, so that the kernel of the client takes a long query in parts only.
    """

    def __init__(self, path):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 500)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.connect(path)
        self.query_came = threading.Event()
        self.query_may_go = threading.Event()
        self.thread = threading.Thread(target=self.relay, daemon=True)
        self.thread.start()

    @property
    def conninfo(self):
        return f"hostaddr=127.0.0.1 port={self.listener.getsockname()[1]} user=gyre dbname=postgres"

    def relay(self):
        client, _ = self.listener.accept()
        back = threading.Thread(target=self.copy, args=(self.server, client), daemon=True)
        back.start()
        self.copy(client, self.server)
        back.join(PATIENCE_S)
        client.close()

    def copy(self, source, target):
        while data := source.recv(4096):
            if data.startswith(b"Q"):
                self.query_came.set()
                self.query_may_go.wait(PATIENCE_S)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def close(self):
        self.thread.join(PATIENCE_S)
        expect(not self.thread.is_alive(), "the relay does not end")
        self.server.close()
        self.listener.close()


def refusing_port():
    """A socket whose port is taken, and refuses."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def check_rows(cluster):
    info = cluster.conninfo
    expect(query(info, "values (1, 'one', null), (2, '', 'x')") == "1\tone\t\n2\t\tx\n", "other rows")
    expect(query(info, "select 1; create temporary table t (i int); select 2") == "1\n2\n", "other results")
    expect(query(info, "") == query(info, "select 1 where false") == "", "rows of nothing")
    rows = query(info, "select n, repeat('x', 100) from generate_series(1, 100000) as n").splitlines()
    expect(rows == [f"{n}\t{'x' * 100}" for n in range(1, 100001)], f"{len(rows)} rows: {rows[:2]}")


def check_ways(cluster):
    """The second host is taken where the first refuses, and a query goes out in as many parts as it must."""
    with refusing_port() as refuses:
        info = f"host=127.0.0.1,{cluster.folder.name} port={refuses.getsockname()[1]},5432 user=gyre dbname=postgres"
        expect(query(info, "select 'second'") == "second\n", "the first host")
    relay = Relay(cluster.socket)
    client = start(relay.conninfo, f"select length('{'x' * 130000}')")
    expect(relay.query_came.wait(PATIENCE_S), "no query came")
    until_it_sleeps(client)
    relay.query_may_go.set()
    expect(end(client) == "130000\n", "another length")
    relay.close()


def check_refusals(cluster):
    info = cluster.conninfo
    for text, cause in (("select 1/0", "ERROR:  division by zero"), ("selekt", 'syntax error at or near "selekt"'),
                        ("copy (select 1) to stdout", "no result; COPY is not supported here"),
                        ("copy pg_am from stdin", "no result; COPY is not supported here")):
        said = failure(info, text)
        expect(cause in said, f"{text}: {said}")
    rows = failure(info, "select 1 / (2 - n) from generate_series(1, 3) as n")
    expect("division by zero" in rows, rows)
    said = failure(info.replace("user=gyre", "user=nobody"))
    expect('FATAL:  role "nobody" does not exist' in said, said)
    expect('missing "="' in failure("nonsense"), "nonsense is taken")


def check_absence():
    said = failure("host=/nowhere user=gyre")
    expect("No such file or directory" in said and "Is the server running locally" in said, said)
    with refusing_port() as refuses:
        said = failure(f"hostaddr=127.0.0.1 port={refuses.getsockname()[1]} user=gyre")
        expect("Connection refused" in said and "Is the server running on that host" in said, said)
        expect("COPY" not in said, said)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = failure(f"hostaddr=127.0.0.1 port={silent.getsockname()[1]} user=gyre", timeout_ms=SHORT_MS)
        expect(said.endswith(NO_ANSWER), said)


def check_waits(cluster):
    """While a query waits: the time runs out, the program is told to stop, the server dies."""
    expect(failure(cluster.conninfo, SLEEP, SHORT_MS) == NO_ANSWER, "another cause")
    cluster.until(SLEEP)
    for number, status in ((signal.SIGTERM, 0), (signal.SIGINT, 0)):
        client = start(cluster.conninfo, SLEEP)
        cluster.until(SLEEP)
        client.send_signal(number)
        expect(end(client, status) == "", "it printed something")
    client = start(cluster.conninfo, SLEEP)
    cluster.until(SLEEP)
    cluster.stop(signal.SIGKILL)
    said = end(client, status=1)
    expect("server closed the connection unexpectedly" in said, said)
    expect("Is the server running locally" in failure(cluster.conninfo), "a dead server answers")
    cluster.start()  # which also puts in order what a killed one leaves
    expect(query(cluster.conninfo, "select 'back'") == "back\n", "it is not back")


def main():
    if not os.path.exists(PROGRAM):
        skip("built without libpq")
    check_absence()
    with Cluster() as cluster:
        check_rows(cluster)
        check_ways(cluster)
        check_refusals(cluster)
        check_waits(cluster)
    print("ok")


main()
