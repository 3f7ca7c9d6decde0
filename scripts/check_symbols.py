#!/usr/bin/env python3
"""Exported symbols: headers, lib/gyre.map and the built library name the same ones.

usage: check_symbols.py [ROOT] [--library LIBGYRE.SO]

What the headers but those of the simulator mark GYRE_API, what the version nodes of lib/gyre.map list as global, and what the
built library exports must be three equal sets: a function that was forgotten in one of them, or one
that is declared and not defined, is found here and not by a user. Nothing hidden (gy_) may be exported,
and a pattern in the map would hide a mistake. Without --library only headers and map are compared.
"""
import argparse
import os
import re
import subprocess
import sys

import csource

MAP = os.path.join("lib", "gyre.map")
# What libgyre-sim alone exports.
SIMULATOR = tuple(os.path.join("include", "gyre", name) for name in csource.SIMULATOR_HEADERS)


def from_headers(root):
    """Exported name -> (file, line) for every declaration marked GYRE_API."""
    found = {}
    for path in csource.find(root, [os.path.join("include", "gyre")], (".h",)):
        if path in SIMULATOR:
            continue
        for declaration in csource.load(root, path).declarations:
            if "GYRE_API" in declaration.words():
                declared = csource.declarator(declaration.tokens)
                plain = [t for t in declaration.tokens if t.kind == "ident"]
                name = declared[0].text if declared else plain[-1].text
                found[name] = (path, declaration.line)
    return found


def from_map(root, problems):
    """Name -> line for what the map lists as global."""
    try:
        with open(os.path.join(root, MAP), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        problems.append((MAP, 0, "is missing"))
        return {}
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    text = re.sub(r"#.*", "", text)
    found, share = {}, "global"
    for match in re.finditer(r"[^\s{};]+|[{};]", text):
        word = match.group()
        line = text.count("\n", 0, match.start()) + 1
        if word in ("global:", "local:"):
            share = word[:-1]
        elif word == "}":
            share = "node"
        elif word == "{":
            share = "global"
        elif word != ";" and share == "global" and not re.match(r"GYRE_\d", word):
            if re.search(r"[*?\[]", word):
                problems.append((MAP, line, f"{word} is a pattern: name each symbol"))
            elif word in found:
                problems.append((MAP, line, f"{word} is listed twice"))
            else:
                found[word] = line
    return found


def from_library(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                         text=True).stdout
    names = set()
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the version nodes themselves
            names.add(name.split("@")[0])
    return names


def compare(root, library):
    problems = []
    headers = from_headers(root)
    listed = from_map(root, problems)
    for name in headers.keys() - listed.keys():
        problems.append((*headers[name], f"{name} is GYRE_API and not in {MAP}"))
    for name in listed.keys() - headers.keys():
        problems.append((MAP, listed[name], f"{name} is no GYRE_API of any header"))
    for name in headers.keys() | listed.keys():
        if not name.startswith("gyre_"):
            where = headers.get(name) or (MAP, listed[name])
            problems.append((*where, f"{name} is exported and does not begin with gyre_"))
    if library is not None:
        exported = from_library(library)
        shown = os.path.basename(library)
        for name in headers.keys() - exported:
            problems.append((*headers[name], f"{name} is declared and {shown} does not export it"))
        for name in exported - headers.keys():
            problems.append((shown, 0, f"{name} is exported and in no public header"))
    return problems, len(headers)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=csource.default_root())
    parser.add_argument("--library")
    options = parser.parse_args(arguments)
    problems, count = compare(os.path.abspath(options.root), options.library)
    return csource.report("symbols", problems, f"{count} symbols")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
