"""gyre-kv, a private redis-server, and a client of both that sees each reply as it is on the wire."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from echo_support import BUILD, PATIENCE_S, expect, fail, is_silent, skip

KV = os.path.join(BUILD, "apps", "gyre-kv")


class Kv:
    """A running gyre-kv."""

    def __init__(self, *options, loops=2, warns=False):
        self.warns = warns
        self.process = subprocess.Popen([KV, "--bind", "tcp://127.0.0.1:0", "--loops", str(loops), *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on tcp://"):
            self.process.kill()
            fail(f"no listening line: {line!r} {self.process.stderr.read()}")
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
            print(self.process.communicate()[1])
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail("it does not end")
        expect(self.process.returncode == 0 and (self.warns or is_silent(errors)), f"exit {self.process.returncode}: {errors}")

    def memory_kib(self):
        """What the process has in memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


class Redis:
    """A running redis-server, in a folder of its own."""

    def __init__(self, *options):
        program = shutil.which("redis-server") or skip("there is no redis-server")
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-redis.", dir="/tmp")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             "--dir", self.folder.name, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)
        fail("redis-server does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def encode(*words):
    """A command as clients send it."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Client:
    """One that reads replies as bytes."""

    def __init__(self, server, small=False):
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", server.port))
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """The next reply, all of its bytes."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(f"it closed: {line!r}")
        kind, number = line[:1], line[1:-2]
        if kind in b"$=!" and number != b"-1":
            return line + self.file.read(int(number) + 2)
        if kind in b"*~>%" and number != b"-1":
            count = int(number) * (2 if kind == b"%" else 1)
            return line + b"".join(self.reply() for _ in range(count))
        return line

    def ask(self, *words):
        self.send(encode(*words))
        return self.reply()

    def expect(self, wanted, *words):
        got = self.ask(*words)
        expect(got == wanted, f"{words}: {got!r}, not {wanted!r}")

    def rest(self):
        """What comes until the end."""
        return self.file.read()


def parts(reply):
    """The elements of an array, a set or a map, as bytes."""
    def one(at):
        end = reply.index(b"\r\n", at) + 2
        kind, number = reply[at:at + 1], reply[at + 1:end - 2]
        if kind in b"$=!" and number != b"-1":
            return end + int(number) + 2
        if kind in b"*~>%" and number != b"-1":
            for _ in range(int(number) * (2 if kind == b"%" else 1)):
                end = one(end)
        return end
    at = reply.index(b"\r\n") + 2
    found = []
    while at < len(reply):
        end = one(at)
        found.append(reply[at:end])
        at = end
    return found
