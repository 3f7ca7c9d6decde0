#!/usr/bin/env python3
"""Installs packages in a clean root and does there what the README says; for scripts/package --check.

usage: clean_root.py TREE FOLDER PACKAGE ...

FOLDER is the root of a Debian with apt, in which /proc and /dev are mounted. The packages, a compiler and
pkg-config are installed there by apt, so that what a package should depend on and does not is missing.
Then the README's server is built by the README's command, on a free port instead of its own, echoes some
bytes and ends with 0 at SIGINT; and each program of the packages starts.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

from outside import free_port, run, serve

TRIAL = "trial"  # the folder in there
TOOLS = ["gcc", "libc6-dev", "pkg-config"]
README_PORT = 7000


def readme(tree):
    """The source of the README's server, and the command that builds it."""
    with open(os.path.join(tree, "README.md"), encoding="utf-8") as file:
        text = file.read()
    sources = [code for code in re.findall(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
               if "int main(" in code and f":{README_PORT}" in code]
    commands = re.findall(r"^cc server\.c .*-o server$", text, re.MULTILINE)
    if len(sources) != 1 or len(commands) != 1:
        raise SystemExit(f"README.md has {len(sources)} servers and {len(commands)} commands for them")
    return sources[0], commands[0]


def install(root, packages):
    for package in packages:
        shutil.copy(package, os.path.join(root, TRIAL))
    names = [f"/{TRIAL}/{os.path.basename(package)}" for package in packages]
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["chroot", root, "apt-get", "-q", "-y", "--no-install-recommends", "install", *TOOLS, *names],
        env=environment)


def explain(root, program):
    """Has a program say how it is used, which it cannot where a library is missing."""
    ran = subprocess.run(["chroot", root, program, "--help"], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "usage: " not in ran.stdout:
        raise SystemExit(f"{program} --help: status {ran.returncode}: {ran.stdout}")


def main(arguments):
    tree, root, *packages = arguments
    os.makedirs(os.path.join(root, TRIAL))
    install(root, packages)
    source, command = readme(tree)
    port = free_port()
    with open(os.path.join(root, TRIAL, "server.c"), "w", encoding="utf-8") as file:
        file.write(source.replace(f":{README_PORT}", f":{port}"))
    run(["chroot", root, "sh", "-c", f"cd /{TRIAL} && {command}"])
    serve(["chroot", root, f"/{TRIAL}/server"], port)
    print("clean root: the README's server was built, echoed, ended")
    programs = glob.glob(os.path.join(root, "usr", "bin", "gyre-*"))
    if not programs:
        raise SystemExit("no package brings a program")
    for program in sorted(programs):
        explain(root, "/usr/bin/" + os.path.basename(program))
    print(f"clean root: {len(programs)} programs start")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
