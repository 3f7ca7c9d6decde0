#!/usr/bin/env python3
"""Lint: clang-tidy has nothing to say about the library, the programs and the benchmarks.

usage: check_tidy.py [ROOT] --build BUILD [--jobs N]

Looks at each source of lib, apps and perf with the defines and folders by which BUILD compiles it, and at
their headers, with the checks of .clang-tidy and of the one that a folder of these may have. A finding in
a header is told once. What came out for a source is kept in BUILD/tidy/ under a hash of all that decides
it: the source, every header that it may reach, the flags, the configuration and the version; so a run
after a small change takes seconds. Other programs have priority over it. Version 14 is the one that
.clang-tidy is written for; exits 77 when it is not there, and 2 when BUILD has not been configured.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import csource

FOLDERS = ("lib", "apps", "perf")
VERSION = 14
# The analyzer's own limit is 225,000 steps a function, which found two things more in five times the
# time, both wrong; 16,000 takes half as long again as this, and found nothing.
ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=8000"]
SKIPPED = 77
# Which of the compiler's flags decide how a source is read; warnings are the builds' matter.
FLAG = re.compile(r"-(?:[DUI].|std=|isystem|iquote|include$)")
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
FINDING = re.compile(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$")
FAILURE = re.compile(r"^(?:error|fatal error): .*", re.MULTILINE)


def find_program():
    """The path of clang-tidy and what it says of its version, or None twice."""
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if f"version {VERSION}." in said.stdout:
                return path, said.stdout
    return None, None


def flags_of(command):
    """Those that decide how a source is read, of a whole compiler command."""
    words, flags = shlex.split(command), []
    for at, word in enumerate(words):
        if FLAG.match(word):
            flags.append(word)
            if word in ("-isystem", "-iquote", "-include"):
                flags.append(words[at + 1])
    return flags


def commands_of(root, build):
    """For each source of FOLDERS its flags and the folder that they count from."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        folder = path.split(os.sep)[0]
        # A test may compile a source of the library once more, with other headers.
        if folder in FOLDERS and entry.get("output", path).startswith(folder + os.sep):
            found[path] = (entry["directory"], flags_of(entry["command"]))
    return found


class Reach:
    """What a source may include, whatever is defined: read once for all that include the same."""

    def __init__(self):
        self.known = {}

    def file(self, path):
        """The hash of a file and the names that it includes; None when there is none."""
        if path not in self.known:
            try:
                with open(path, "rb") as file:
                    data = file.read()
                names = [name.decode() for name in INCLUDE.findall(data)]
                self.known[path] = (hashlib.sha256(data).digest(), names)
            except OSError:
                self.known[path] = None
        return self.known[path]

    def digest(self, source, folders):
        """A hash over @source and all that it reaches in its own folder and in @folders."""
        whole, seen, waiting = hashlib.sha256(), set(), [source]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            file = self.file(path)
            if file is not None:
                whole.update(path.encode() + b"\0" + file[0])
                for name in file[1]:
                    waiting += [os.path.normpath(os.path.join(folder, name))
                                for folder in [os.path.dirname(path), *folders]]
        return whole.digest()


def system_folders(program):
    """Where the compiler's and the system's headers are."""
    clang = os.path.join(os.path.dirname(os.path.realpath(program)), "clang")
    command = [clang if os.path.exists(clang) else "cc", "-E", "-v", "-x", "c", os.devnull]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    listed = re.search(r"search starts here:\n(.*?)End of search list", said, re.DOTALL)
    return [line.strip() for line in listed[1].splitlines() if line.startswith(" ")] if listed else []


class Tidy:
    """Runs clang-tidy, or remembers what it said."""

    def __init__(self, root, build):
        self.root = root
        self.program, self.version = find_program()
        self.store = os.path.join(build, "tidy")
        self.reach = Reach()
        self.used = set()
        self.base = (self.version or "").encode()
        self.runs = 0

    def prepare(self):
        own = [os.path.join(self.root, folder, ".clang-tidy") for folder in ("", *FOLDERS)]
        for path in [os.path.abspath(__file__), *filter(os.path.exists, own)]:
            with open(path, "rb") as file:
                self.base += hashlib.sha256(file.read()).digest()
        self.system = system_folders(self.program)
        os.makedirs(self.store, exist_ok=True)

    def name_of(self, path, directory, flags):
        """The name under which the findings of a source are kept."""
        folders = [os.path.join(directory, flag[2:]) for flag in flags if flag.startswith("-I")]
        key = hashlib.sha256(self.base + "\0".join([path, directory, *flags]).encode())
        key.update(self.reach.digest(os.path.join(self.root, path), folders + self.system))
        return key.hexdigest()

    def look(self, path, directory, flags):
        """The findings in one source and its headers: lists of path, line and text."""
        name = self.name_of(path, directory, flags)
        self.used.add(name)
        kept = os.path.join(self.store, name)
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                return json.load(file)
        command = [self.program, "--quiet", os.path.join(self.root, path), "--", *flags, *ANALYZER]
        ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        self.runs += 1
        found = self.findings(ran.stdout, directory)
        if ran.returncode != 0 and not found:
            said = FAILURE.search(ran.stderr)
            return [[path, 0, "clang-tidy fails: " + (said[0] if said else f"status {ran.returncode}")]]
        with open(kept + ".new", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(kept + ".new", kept)
        return found

    def findings(self, output, directory):
        found = []
        for line in output.splitlines():
            match = FINDING.match(line)
            if match:
                path = os.path.relpath(os.path.join(directory, match[1]), self.root)
                found.append([path, int(match[2]), match[3]])
        return found

    def forget(self):
        """Removes what was kept for sources as they are no longer."""
        for name in os.listdir(self.store):
            if name not in self.used:
                os.remove(os.path.join(self.store, name))


def main(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("root", nargs="?", default=csource.default_root())
    parser.add_argument("--build", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    root, build = os.path.realpath(options.root), os.path.realpath(options.build)
    tidy = Tidy(root, build)
    if tidy.program is None:
        print(f"tidy: clang-tidy {VERSION} is not there, skipped")
        return SKIPPED
    try:
        commands = commands_of(root, build)
    except OSError as error:
        print(f"tidy: configure {options.build} first: {error}")
        return 2
    os.nice(10)
    tidy.prepare()
    # The longest first, so that no core is left with one of them at the end.
    paths = sorted(commands, key=lambda path: -os.path.getsize(os.path.join(root, path)))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda path: tidy.look(path, *commands[path]), paths))
    tidy.forget()
    problems = [tuple(finding) for found in results for finding in found]
    missing = [path for path in csource.find(root, FOLDERS, (".c",)) if path not in commands]
    status = csource.report("tidy", problems, f"{len(paths)} sources, {tidy.runs} anew,")
    if missing:
        print(f"tidy: not compiled in {options.build} and not looked at: " + " ".join(missing))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
