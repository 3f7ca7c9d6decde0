"""What the tests of users outside the tree share: running tools, and trying out an echo server."""
import os
import shlex
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
PATIENCE_S = 20


def run(command, **more):
    """The output of @command, which must succeed."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if ran.returncode != 0:
        raise SystemExit(f"failed: {shlex.join(command)}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port, server):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        except ConnectionRefusedError:
            if server.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.01)


def serve(command, port, **variables):
    """Starts a server of TCP port @port, has it echo, ends it, and looks at how it ended."""
    with subprocess.Popen(command, env=dict(os.environ, **variables)) as server:
        try:
            sent = bytes(range(256)) * 256
            with connect(port, server) as client:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                got = b""
                while part := client.recv(65536):
                    got += part
            if got != sent:
                raise SystemExit(f"{command}: sent {len(sent)} bytes, other {len(got)} came back")
            server.send_signal(signal.SIGINT)
            status = server.wait(PATIENCE_S)
        except BaseException:
            server.kill()
            raise
    if status != 0:
        raise SystemExit(f"{command}: exit status {status} after SIGINT")


def serve_somewhere(program, **variables):
    """The same for test/install/server.c, which is told where to bind."""
    port = free_port()
    serve([program, f"tcp://127.0.0.1:{port}"], port, **variables)
