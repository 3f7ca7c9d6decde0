#!/usr/bin/env python3
"""Headers: each compiles alone, and twice in one file, in every language we promise.

usage: check_headers.py [ROOT] [--build BUILD]

A public header must compile as C11 with -pedantic-errors and as C++17, without a warning, with gcc and
with clang, as far as they are found; one whose name ends in .hpp as C++20, with and without exceptions.
With --build, the build folder that holds gyre_config.h, the private headers of lib/ must compile alone too,
as gnu17 with one compiler. Most are not compiled for this: where a source that BUILD compiles includes a
header before all else, the header has been compiled alone there, with the warnings of the build; and its
guard, read here, makes it empty the second time. gyre/gyre.h, where it is, must include every other public
header but those of gyre-sim, and gyre/gyre.hpp those of C++20. Exits 77 when no compiler works.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import csource

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
C11 = ["-x", "c", "-std=c11", "-pedantic-errors"]
CXX17 = ["-x", "c++", "-std=c++17"]
CXX20 = ["-x", "c++", "-std=c++20", "-pedantic-errors"]
GNU17 = ["-x", "c", "-std=gnu17", "-D_GNU_SOURCE"]
FIRST_INCLUDE = re.compile(r'(?:\s|/\*.*?\*/|//[^\n]*\n)*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.DOTALL)
SKIPPED = 77


class Compiler:
    """A compiler with the flags of one language; @name is for messages."""

    def __init__(self, name, command):
        self.name = name
        self.command = command

    def complaint(self, text, flags):
        """What it says about the C text @text, or an empty string when it is content."""
        with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
            file.write(text)
            file.flush()
            ran = subprocess.run(self.command + flags + [file.name], capture_output=True,
                                 text=True, check=False)
        if ran.returncode == 0:
            return ""
        lines = [line for line in ran.stderr.splitlines() if "error:" in line]
        return (lines or ran.stderr.splitlines() or ["fails"])[0].replace(file.name, "(alone)")


def compilers(languages):
    """Those of @languages, triples of program, name and flags, that compile a trivial file."""
    found = []
    for program, name, flags in languages:
        path = shutil.which(program)
        if path:
            compiler = Compiler(f"{program} as {name}", [path] + flags + WARNINGS)
            if not compiler.complaint("#include <stddef.h>\nint gy_nothing;\n", []):
                found.append(compiler)
    return found


def alone(include):
    return f"#include {include}\n#include {include}\nextern int gy_nothing;\n"


def first_include(root, path):
    """What a source includes before there is any other code or directive in it; or None."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        found = FIRST_INCLUDE.match(file.read())
    return found and found.group(1)


def is_guarded(source):
    """Whether all of a header is between its #ifndef, with the #define of that name, and its #endif."""
    tokens = [token for token in source.tokens if token.kind != "comment"]
    words = [token.text for token in tokens[:4]]
    if len(words) < 4 or (words[0], words[2]) != ("ifndef", "define") or words[1] != words[3]:
        return False
    depth = 0
    for token in tokens:
        if token.kind == "directive" and token.text in ("if", "ifdef", "ifndef"):
            depth += 1
        elif token.kind == "directive" and token.text == "endif":
            depth -= 1
        elif token.kind == "directive" and token.text in ("else", "elif") and depth == 1:
            return False
        if depth == 0 and token is not tokens[-1]:
            return False
    return depth == 0


def built_alone(root, build):
    """The private headers, by their names in lib, that a source of the build's library includes first."""
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            entries = json.load(file)
    except OSError:
        return set()
    found = set()
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        # A test may compile a source of the library once more, with other headers.
        if path.startswith("lib" + os.sep) and entry.get("output", "").startswith("lib" + os.sep):
            found.add(first_include(root, path))
    return found


def jobs_of(root, build):
    """Tuples of path, compiler, text and flags, one for each thing to compile."""
    public = compilers([("gcc", "C11", C11), ("clang", "C11", C11), ("g++", "C++17", CXX17),
                        ("clang++", "C++17", CXX17)])
    include = os.path.join(root, "include")
    jobs = []
    for path in csource.find(root, [os.path.join("include", "gyre")], (".h",)):
        text = alone(f"<gyre/{os.path.basename(path)}>")
        jobs += [(path, compiler, text, ["-I", include]) for compiler in public]
    newest = compilers([("g++", "C++20", CXX20), ("clang++", "C++20", CXX20),
                        ("g++", "C++20 without exceptions", [*CXX20, "-fno-exceptions"])])
    for path in csource.find(root, [os.path.join("include", "gyre")], (".hpp",)):
        text = alone(f"<gyre/{os.path.basename(path)}>")
        jobs += [(path, compiler, text, ["-I", include]) for compiler in newest]
    if build:
        private = compilers([("gcc", "gnu17", GNU17), ("clang", "gnu17", GNU17)])[:1]
        flags = ["-I", include, "-I", os.path.join(root, "lib"), "-I",
                 os.path.join(build, "include")]
        built = built_alone(root, build)
        for path in csource.find(root, ["lib"], (".h",)):
            include = '"' + os.path.relpath(path, "lib") + '"'
            if include in built and is_guarded(csource.load(root, path)):
                continue
            text = alone(include)
            jobs += [(path, compiler, text, flags) for compiler in private]
    return jobs, [compiler.name for compiler in public]


def reached(root, path):
    """What a header includes, and in C++20, whose headers have an order, what those include."""
    included = {text for _, text in csource.load(root, path).includes()}
    for text in list(included):
        if path.endswith(".hpp") and re.fullmatch(r"<gyre/\w+\.hpp>", text):
            included |= reached(root, os.path.join("include", text[1:-1]))
    return included


# Of another library: a server does not want it.
SIMULATOR = tuple(os.path.join("include", "gyre", name) for name in csource.SIMULATOR_HEADERS)


def check_umbrella(root, ending, problems):
    whole = os.path.join("include", "gyre", "gyre" + ending)
    if not os.path.exists(os.path.join(root, whole)):
        return
    included = reached(root, whole)
    for path in csource.find(root, [os.path.dirname(whole)], (ending,)):
        if path not in (whole, *SIMULATOR) and f"<gyre/{os.path.basename(path)}>" not in included:
            problems.append((path, 0, f"is not included by gyre/gyre{ending}"))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=csource.default_root())
    parser.add_argument("--build")
    options = parser.parse_args(arguments)
    jobs, names = jobs_of(os.path.abspath(options.root), options.build)
    if not names:
        print("headers: no compiler works, skipped")
        return SKIPPED
    problems = []
    for ending in (".h", ".hpp"):
        check_umbrella(os.path.abspath(options.root), ending, problems)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = pool.map(lambda job: job[1].complaint(job[2], job[3]), jobs)
        for (path, compiler, _, _), text in zip(jobs, complaints):
            if text:
                problems.append((path, 0, f"{compiler.name}: {text}"))
    return csource.report("headers", problems, f"{len(jobs)} compilations ({', '.join(names)})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
