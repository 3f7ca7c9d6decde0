#!/usr/bin/env python3
"""Installs the library and builds a server outside the tree against it, as a user would.

Installs the build folder GYRE_BUILD below a temporary folder, asks pkg-config there how to compile and
link, builds test/install/server.c with the shared and with the static library, and then has both echo
some bytes and end with 0 at SIGINT. The server takes what it binds to as its argument.
"""
import glob
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["GYRE_BUILD"]
CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
PATIENCE_S = 20


def run(command, **more):
    """The output of @command, which must succeed."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if ran.returncode != 0:
        raise SystemExit(f"failed: {shlex.join(command)}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def install(folder):
    """Installs below @folder; returns the folder of gyre.pc and the prefix there."""
    run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder])
    found = glob.glob(os.path.join(folder, "**", "gyre.pc"), recursive=True)
    if len(found) != 1:
        raise SystemExit(f"installed gyre.pc {len(found)} times")
    with open(found[0], encoding="utf-8") as file:
        prefix = file.readline().strip().removeprefix("prefix=")
    return os.path.dirname(found[0]), folder + prefix


def flags(pc_folder, prefix, *what):
    environment = dict(os.environ, PKG_CONFIG_PATH=pc_folder)
    command = ["pkg-config", f"--define-variable=prefix={prefix}", *what, "gyre"]
    return shlex.split(run(command, env=environment))


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


def serve(program, libraries):
    """Starts the server, has it echo, ends it, and looks at how it ended."""
    port = free_port()
    environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
    with subprocess.Popen([program, f"tcp://127.0.0.1:{port}"], env=environment) as server:
        try:
            sent = bytes(range(256)) * 256
            with connect(port, server) as client:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                got = b""
                while part := client.recv(65536):
                    got += part
            if got != sent:
                raise SystemExit(f"{program}: sent {len(sent)} bytes, other {len(got)} came back")
            server.send_signal(signal.SIGINT)
            status = server.wait(PATIENCE_S)
        except BaseException:
            server.kill()
            raise
    if status != 0:
        raise SystemExit(f"{program}: exit status {status} after SIGINT")


def main():
    outside = tempfile.mkdtemp(prefix="gyre-install.")
    try:
        pc_folder, prefix = install(os.path.join(outside, "installed"))
        source = shutil.copy(os.path.join(HERE, "server.c"), outside)
        libraries = os.path.dirname(pc_folder)
        compile_flags = flags(pc_folder, prefix, "--cflags")
        shared = flags(pc_folder, prefix, "--libs")
        static = ["-l:libgyre.a" if flag == "-lgyre" else flag
                  for flag in flags(pc_folder, prefix, "--static", "--libs")]
        for name, link_flags in (("shared", shared), ("static", static)):
            program = os.path.join(outside, name)
            run([*CC, "-Wall", "-Wextra", "-Werror", "-o", program, source, *compile_flags,
                 *link_flags], cwd=outside)
            serve(program, libraries)
            print(f"{name}: built outside the tree, echoed, ended")
    finally:
        shutil.rmtree(outside)
    return 0


if __name__ == "__main__":
    sys.exit(main())
