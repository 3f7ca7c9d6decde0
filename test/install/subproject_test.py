#!/usr/bin/env python3
"""Builds a server in whose project gyre is a subproject, by scripts/gyre.wrap, as a user would.

The tree as it stands becomes a repository in a temporary folder; a project beside it has the wrap file,
with only its url changed to that repository, and the line that the README shows. Meson clones, configures
and builds; the server then echoes some bytes and ends with 0 at SIGINT. Done twice: with the README's
line, which names the fallback, and by the name "gyre" alone, which the wrap file provides.
"""
import os
import re
import shutil
import sys
import tempfile

from outside import CC, HERE, run, serve_somewhere

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
PARTS = ("LICENSE", "include", "lib", "meson.build", "meson_options.txt")
SKIPPED = 77
MESON_BUILD = """project('server', 'c', meson_version: '>=1.0.0', default_options: ['c_std=c11'])
{line}
executable('server', 'server.c', dependencies: gyre)
"""


def publish(repository):
    """Makes a repository of the library alone, so that a subproject which builds more fails."""
    os.mkdir(repository)
    for part in PARTS:
        source, target = os.path.join(ROOT, part), os.path.join(repository, part)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    git = ["git", "-C", repository, "-c", "user.name=gyre", "-c", "user.email=gyre@localhost"]
    run(["git", "init", "-q", repository])
    run([*git, "add", "-A"])
    run([*git, "commit", "-q", "-m", "tree: as it stands"])


def readme_line():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        found = re.findall(r"^gyre = dependency\('gyre'.*fallback:.*\)$", file.read(), re.MULTILINE)
    if len(found) != 1:
        raise SystemExit(f"README.md shows {len(found)} lines that use gyre as a subproject")
    return found[0]


def project(folder, repository, line):
    """Writes a project of a user's own into @folder."""
    os.makedirs(os.path.join(folder, "subprojects"))
    shutil.copy(os.path.join(HERE, "server.c"), folder)
    with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as file:
        file.write(MESON_BUILD.format(line=line))
    with open(os.path.join(ROOT, "scripts", "gyre.wrap"), encoding="utf-8") as file:
        wrap, changed = re.subn(r"^url = .*$", "url = " + repository, file.read(), flags=re.MULTILINE)
    if changed != 1:
        raise SystemExit(f"scripts/gyre.wrap has {changed} urls")
    with open(os.path.join(folder, "subprojects", "gyre.wrap"), "w", encoding="utf-8") as file:
        file.write(wrap)


def configure(folder):
    """The build folder of a project that finds no installed gyre."""
    build = os.path.join(folder, "build")
    environment = dict(os.environ, CC=" ".join(CC))
    run(["meson", "setup", "--buildtype=plain", "--force-fallback-for=gyre", build, folder],
        env=environment)
    return build


def main():
    if shutil.which("git") is None:
        print("git is not there, skipped")
        return SKIPPED
    outside = tempfile.mkdtemp(prefix="gyre-subproject.")
    try:
        repository = os.path.join(outside, "gyre.git")
        publish(repository)
        named = os.path.join(outside, "named")
        project(named, repository, readme_line())
        build = configure(named)
        run(["ninja", "-C", build])
        serve_somewhere(os.path.join(build, "server"))
        print("subproject: cloned, built, echoed, ended")
        provided = os.path.join(outside, "provided")
        project(provided, repository, "gyre = dependency('gyre')")
        configure(provided)
        print("subproject: found by its name")
    finally:
        shutil.rmtree(outside)
    return 0


if __name__ == "__main__":
    sys.exit(main())
