#!/usr/bin/env python3
"""Installs the library and builds a server outside the tree against it, as a user would.

Installs the build folder GYRE_BUILD below a temporary folder, asks pkg-config there how to compile and
link, builds test/install/server.c with the shared and with the static library, and then has both echo
some bytes and end with 0 at SIGINT. The server takes what it binds to as its argument. A test of gyre-sim is
built too, and is refused where link-time optimization would hide its calls from the simulator. Each file
that is installed is in one Debian package, or scripts/package would fail.
"""
import fnmatch
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from outside import CC, HERE, run, serve_somewhere

BUILD = os.environ["GYRE_BUILD"]


def install(folder):
    """Installs below @folder; returns the folder of gyre.pc and the prefix there."""
    run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder])
    found = glob.glob(os.path.join(folder, "**", "gyre.pc"), recursive=True)
    if len(found) != 1:
        raise SystemExit(f"installed gyre.pc {len(found)} times")
    with open(found[0], encoding="utf-8") as file:
        prefix = file.readline().strip().removeprefix("prefix=")
    return os.path.dirname(found[0]), folder + prefix


def flags(pc_folder, prefix, *what, package="gyre"):
    environment = dict(os.environ, PKG_CONFIG_PATH=pc_folder)
    command = ["pkg-config", f"--define-variable=prefix={prefix}", *what, package]
    return shlex.split(run(command, env=environment))


def check_packages(prefix):
    packaged = []
    for path in glob.glob(os.path.join(HERE, "..", "..", "scripts", "debian", "*.install")):
        with open(path, encoding="utf-8") as file:
            packaged += file.read().split()
    for folder, _, names in os.walk(prefix):
        for name in names:
            path = os.path.join("usr", os.path.relpath(os.path.join(folder, name), prefix))
            found = [one for one in packaged if fnmatch.fnmatch(path, one) or path.startswith(one + os.sep)]
            if len(found) != 1:
                raise SystemExit(f"failed: {path} is in {len(found)} packages of scripts/debian")
    print("all that is installed is in a package")


def simulate(outside, pc_folder, prefix):
    source = shutil.copy(os.path.join(HERE, "simulated.c"), outside)
    program = os.path.join(outside, "simulated")
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(pc_folder))
    compile_flags = flags(pc_folder, prefix, "--cflags", package="gyre-sim")
    link = [*CC, "-o", program, program + ".o", *flags(pc_folder, prefix, "--libs", package="gyre-sim")]
    run([*CC, "-Wall", "-Wextra", "-Werror", "-c", "-o", program + ".o", source, *compile_flags], cwd=outside)
    run(link, cwd=outside)
    run([program], env=environment)
    print("simulated: built outside the tree, waited for half an hour")
    run([*CC, "-flto", "-c", "-o", program + ".o", source, *compile_flags], cwd=outside)
    refused = subprocess.run(link, cwd=outside, capture_output=True, check=False).returncode != 0
    if not refused:
        run([program], env=environment)
    print(f"simulated: with -flto {'refused' if refused else 'as well'}")


def main():
    outside = tempfile.mkdtemp(prefix="gyre-install.")
    try:
        pc_folder, prefix = install(os.path.join(outside, "installed"))
        check_packages(prefix)
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
            serve_somewhere(program, LD_LIBRARY_PATH=libraries)
            print(f"{name}: built outside the tree, echoed, ended")
        simulate(outside, pc_folder, prefix)
    finally:
        shutil.rmtree(outside)
    return 0


if __name__ == "__main__":
    sys.exit(main())
