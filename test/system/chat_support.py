"""What the tests of gyre-chat share: its processes and its clients."""
import os
import signal
import socket
import subprocess

from echo_support import BUILD, PATIENCE_S, expect, fail, is_silent

CHAT = os.path.join(BUILD, "apps", "gyre-chat")


class Chat:
    """A running gyre-chat."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [CHAT, "--bind", "tcp://127.0.0.1:0", "--loops", "2", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on tcp://"):
            self.process.kill()
            fail(f"no listening line: {line!r} {self.process.stderr.read()}")
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.wait()

    def wait(self):
        try:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail("it does not end")
        expect(self.process.returncode == 0 and is_silent(errors), f"exit {self.process.returncode}: {errors}")


class Client:
    """One that types lines and reads lines."""

    def __init__(self, chat, nick=None, room=None, small=False):
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", chat.port))
        self.file = self.socket.makefile("rb")
        expect(self.hear().startswith("* you are guest"), "no greeting")
        if nick:
            self.type(f"/nick {nick}")
            self.expect(f"* you are {nick}")
        if room:
            self.type(f"/join {room}")
            self.expect(f"* you are in {room}")

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

    def rest(self):
        """What comes until the end."""
        return self.file.read().decode()

    def close(self):
        self.file.close()
        self.socket.close()
