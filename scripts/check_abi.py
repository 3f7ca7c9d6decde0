#!/usr/bin/env python3
"""Compatibility: what programs have compiled into them stays as it was when its soname began.

usage: check_abi.py [ROOT] [--keep]

lib/system/layouts_frozen.c and layouts_growing.c list every structure of include/gyre, with its size and
where each member stands; lib/gyre.inline every inline function and macro with parameters, with a digest of its text. The compiler
holds the headers to the numbers; this check holds the lists to the headers:

- every structure and every member is listed. A structure that the calls pass with its size GROWS, and is in
  layouts_growing.c: new members come at its end. Any other is FROZEN, and in layouts_frozen.c: it stands
  inside of others, in arrays or in messages, or inline functions read it.
- every inline function and macro is listed, and its text is the one that was listed. Comments and spaces
  do not count.
- include/gyre/version.h tells the version of meson.build, and the soname is its first two numbers.

--keep writes the lists anew from the headers, with the C compiler (CC). What the difference shows is
compatible if it only adds; else the commit raises the soname, and says why.
"""
import argparse
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile

import check_docs
import csource

LISTS = {"FROZEN": os.path.join("lib", "system", "layouts_frozen.c"),
         "GROWS": os.path.join("lib", "system", "layouts_growing.c")}
MACROS = os.path.join("lib", "system", "layouts.h")
INLINES = os.path.join("lib", "gyre.inline")
VERSION = os.path.join("include", "gyre", "version.h")
HEADERS = os.path.join("include", "gyre")
# The size of a type and its encoding stands in the type; snapshots and lines of the log are the library's memory.
SELF_SIZED = {"gyre_encoding", "gyre_log_line", "gyre_snapshot", "gyre_type"}
ADVICE = "scripts/check_abi.py --keep lists it; an incompatible change raises the soname"
ENTRY = re.compile(r'^(FROZEN|GROWS|AT|TAIL)\(([^)]*)\);', re.MULTILINE)
MACROS_TEXT = """/*
 * What programs have compiled into them: sizes of public structures and places of their members.
 * Another value is another soname; see CONTRIBUTING.md. lib/gyre.inline lists what headers inline.
 *
 * Structures that are FROZEN keep their size, those that GROW may get members at their ends.
 * Written by scripts/check_abi.py --keep, as are the lists.
 */
#ifndef GY_SYSTEM_LAYOUTS_H
#define GY_SYSTEM_LAYOUTS_H

#include <gyre/gyre.h>

#include <stddef.h>

#define FROZEN(NAME, BYTES) \\
	_Static_assert(sizeof(struct NAME) == (BYTES), "struct " #NAME " has another size")
#define GROWS(NAME, BYTES) \\
	_Static_assert(sizeof(struct NAME) >= (BYTES), "struct " #NAME " has lost members")
#define AT(NAME, MEMBER, OFFSET, BYTES)                                          \\
	_Static_assert(offsetof(struct NAME, MEMBER) == (OFFSET) &&              \\
			       sizeof(((struct NAME *)NULL)->MEMBER) == (BYTES), \\
		       #MEMBER " of struct " #NAME " was moved or has another size")
#define TAIL(NAME, MEMBER, OFFSET, BYTES)                                           \\
	_Static_assert(offsetof(struct NAME, MEMBER) == (OFFSET) &&                 \\
			       sizeof(((struct NAME *)NULL)->MEMBER[0]) == (BYTES), \\
		       #MEMBER " of struct " #NAME " was moved or has other elements")

#endif
"""
PREAMBLES = {"FROZEN": """/*
 * The public structures that keep their size: they stand inside of others, in arrays or in
 * messages, or programs read them themselves. Written by scripts/check_abi.py --keep, which also
 * compares the list with the headers.
 */
#include "system/layouts.h"
""", "GROWS": """/*
 * The public structures that calls pass with their size: new members come at their ends. Written by
 * scripts/check_abi.py --keep, which also compares the list with the headers.
 */
#include "system/layouts.h"
"""}
INLINES_PREAMBLE = """# What the public headers compile into programs, with a digest of its text: frozen with the soname.
# Written by scripts/check_abi.py --keep, which also compares it with the headers.
"""


class Headers:
    """What the public headers declare: @structs, a name with its members, and @texts, a name with a digest."""

    def __init__(self, root):
        self.structs, self.places, self.inside, self.sized = {}, {}, set(), set()
        texts = {}
        for path in csource.find(root, [HEADERS], (".h",)):
            if os.path.basename(path) in csource.SIMULATOR_HEADERS:
                continue
            source = csource.load(root, path)
            for declaration in source.declarations:
                self._declaration(path, declaration)
            for function in source.functions:
                self.places.setdefault(function.name, (path, function.line))
                texts.setdefault(function.name, []).extend(words(function.decl) + words(function.body))
                self._sizes(function)
            for name, line, text in macros(source):
                self.places.setdefault(name, (path, line))
                texts.setdefault(name, []).extend(text)
        self.texts = {name: digest(text) for name, text in texts.items()}

    def _declaration(self, path, declaration):
        said = declaration.words()
        if said[0] != "struct" or not declaration.body:
            return
        self.structs[said[1]] = [name for name, _ in check_docs.members(declaration.body)]
        self.places[said[1]] = (path, declaration.line)
        body = words(declaration.body)
        for i in range(len(body) - 2):
            if body[i] == "struct" and body[i + 2] != "*" and body[i + 2] != "(":
                self.inside.add(body[i + 1])

    def _sizes(self, function):
        """The structures whose sizes an inline function passes to the library."""
        if not any(word.endswith("_sized") for word in words(function.body)):
            return
        types = {}
        for parameter in function.parameters:
            said = words(parameter)
            if "struct" in said:
                types[csource.parameter_name(parameter)] = said[said.index("struct") + 1]
        for match in re.finditer(r"sizeof \( (?:\* (\w+)|struct (\w+)) \)", " ".join(words(function.body))):
            self.sized.add(match.group(2) or types.get(match.group(1), match.group(1)))

    def grows(self, name):
        return name in self.sized | SELF_SIZED and name not in self.inside


def words(tokens):
    return [t.text for t in tokens if t.kind != "comment"]


def digest(text):
    return hashlib.sha256(" ".join(text).encode()).hexdigest()[:12]


def macros(source):
    """Name, line and text of every macro with parameters."""
    called = {(line, name) for line, name, has_parameters in source.macros() if has_parameters}
    for i, token in enumerate(source.tokens):
        if token.kind != "directive" or token.text != "define":
            continue
        name, text = source.tokens[i + 1], []
        for following in source.tokens[i + 2 :]:
            if not following.pp or following.kind == "directive":
                break
            if following.kind != "comment":
                text.append(following.text)
        if (name.line, name.text) in called:
            yield name.text, name.line, text


def read(root, path, problems):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        problems.append((path, 0, "is missing"))
        return ""


def listed_structs(root, problems):
    """Structures with their kind and members, as they are listed."""
    structs = {}
    for match in ENTRY.finditer("".join(read(root, path, problems) for path in LISTS.values())):
        kind, fields = match.group(1), [field.strip() for field in match.group(2).split(",")]
        if kind in ("AT", "TAIL"):
            structs.setdefault(fields[0], ["FROZEN"]).append(fields[1])
        else:
            structs[fields[0]] = [kind]
    return structs


def listed_texts(root, problems):
    """Inlined names with their digests, as they are listed."""
    lines = read(root, INLINES, problems).splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def check_structs(headers, listed, problems):
    for name, members in headers.structs.items():
        place = headers.places[name]
        kind = "GROWS" if headers.grows(name) else "FROZEN"
        if name not in listed:
            problems.append((*place, f"struct {name} is not in {LISTS[kind]}: {ADVICE}"))
            continue
        path = LISTS[listed[name][0]]
        if listed[name][0] != kind:
            problems.append((*place, f"struct {name} is {kind}, and {listed[name][0]} in {path}: {ADVICE}"))
        for member in members:
            if member not in listed[name][1:]:
                problems.append((*place, f"{member} of struct {name} is not in {path}: {ADVICE}"))
        known = [member for member in members if member in listed[name][1:]]
        if members[: len(known)] != known:
            problems.append((*place, f"a new member of struct {name} is not at its end"))
    for name in listed:
        if name not in headers.structs:
            problems.append((LISTS[listed[name][0]], 0, f"struct {name} is in no public header"))


def check_texts(headers, listed, problems):
    for name, text in headers.texts.items():
        if name not in listed:
            problems.append((*headers.places[name], f"{name} is inlined and not in {INLINES}: {ADVICE}"))
        elif listed[name] != text:
            problems.append((*headers.places[name], f"{name} is inlined and was changed: {ADVICE}"))
    for name in listed:
        if name not in headers.texts:
            problems.append((INLINES, 0, f"{name} is in no public header: programs may have it inlined"))


def find(root, path, pattern, problems):
    match = re.search(pattern, read(root, path, problems), re.DOTALL)
    if match is None:
        problems.append((path, 0, f"has no {pattern}"))
        return None
    return match.groups() if len(match.groups()) > 1 else match.group(1)


def check_versions(root, problems):
    version = find(root, "meson.build", r"project\([^)]*?version: '([^']+)'", problems)
    numbers = find(root, VERSION, r"_MAJOR (\d+)\n.*_MINOR (\d+)\n.*_PATCH (\d+)\n", problems)
    text = find(root, VERSION, r'GYRE_VERSION_TEXT "([^"]+)"', problems)
    soname = find(root, os.path.join("lib", "meson.build"), r"soversion: '([^']+)'", problems)
    if None in (version, numbers, text, soname):
        return
    for told in (".".join(numbers), text):
        if told != version:
            problems.append((VERSION, 0, f"tells version {told}, and meson.build {version}"))
    if soname != ".".join(version.split(".")[:2]):
        problems.append((os.path.join("lib", "meson.build"), 0,
                         f"the soname is {soname}, and the version {version}"))


def is_tail(root, headers, name, member):
    """Whether a member is an array without a length, which has the size of an element."""
    text = read(root, headers.places[name][0], [])
    return re.search(rf"struct {name} \{{[^}}]*\b{member}\[\];", text) is not None


def measure(root, headers):
    """The size of every structure, and offset and size of its members, by the compiler."""
    lines = ["#include <gyre/gyre.h>", "#include <stdio.h>", "int main(void) {"]
    for name, members in headers.structs.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        for member in members:
            element = "[0]" if is_tail(root, headers, name, member) else ""
            lines.append(f'printf("{name}.{member} %zu, %zu\\n", offsetof(struct {name}, {member}), '
                         f"sizeof(((struct {name} *)0)->{member}{element}));")
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "probe.c"), os.path.join(folder, "probe")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-I", os.path.join(root, "include"),
                        "-O2", source, "-o", program], check=True)
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in out.splitlines())


def write(root, path, lines):
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.writelines(lines)


def keep(root, headers):
    sizes = measure(root, headers)
    write(root, MACROS, [MACROS_TEXT])
    for kind, path in LISTS.items():
        lines = [f"{PREAMBLES[kind]}\n"]
        for name, members in sorted(headers.structs.items()):
            if headers.grows(name) != (kind == "GROWS"):
                continue
            lines.append(f"{kind}({name}, {sizes[name]});\n")
            for member in members:
                at = "TAIL" if is_tail(root, headers, name, member) else "AT"
                lines.append(f"{at}({name}, {member}, {sizes[f'{name}.{member}']});\n")
        write(root, path, lines)
    write(root, INLINES, [INLINES_PREAMBLE, *(f"{name} {text}\n" for name, text in sorted(headers.texts.items()))])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=csource.default_root())
    parser.add_argument("--keep", action="store_true", help="write the list anew")
    arguments = parser.parse_args(arguments)
    headers = Headers(arguments.root)
    if arguments.keep:
        keep(arguments.root, headers)
    problems = []
    check_structs(headers, listed_structs(arguments.root, problems), problems)
    check_texts(headers, listed_texts(arguments.root, problems), problems)
    check_versions(arguments.root, problems)
    return csource.report("abi", problems, f"{len(headers.structs)} structures, {len(headers.texts)} inlined")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
