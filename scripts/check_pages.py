#!/usr/bin/env python3
"""Pages: the pages of concepts are reached, their code compiles, and no header is left out.

usage: check_pages.py [ROOT]

scripts/doc/pages/index.md lists every other page as a \\subpage, by the label gyre-NAME that NAME.md gives
itself. The code of a page, which stands between ```c and ```, is one file in its order: with gyre/gyre.h
before it, it compiles as C11 without a warning, with gcc and with clang, as far as they are found. What
stands between ```cpp and ``` is another file, in C++17, and what stands between ```cpp20 and ``` one in C++20.
Each diagram (.dot) is shown by a page, and each header
of include/gyre/ is named by one; the functions that they name exist. A line has at most 120 columns, but for
rows of tables. Exits 77 when no compiler works.
"""
import os
import re
import sys

import check_headers
import csource

PAGES = os.path.join("scripts", "doc", "pages")
INDEX = os.path.join(PAGES, "index.md")
COLUMNS_MAX = 120
C11 = ["-x", "c", "-std=c11"]
CXX17 = check_headers.CXX17
# By the word behind the fence of a block.
LANGUAGES = {
    "c": [("gcc", "C11", C11), ("clang", "C11", C11)],
    "cpp": [("g++", "C++17", CXX17), ("clang++", "C++17", CXX17)],
    # gcc warns of members that an initialiser leaves out, unlike in C.
    "cpp20": [(name, "C++20", [*check_headers.CXX20, "-Wno-missing-field-initializers"]) for name in ("g++", "clang++")],
}
# Functions of a page are called by nobody there.
CALM = ["-Wno-unused-function", "-Wno-unused-const-variable"]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def code_of(text, language):
    """The code of a page in one language, each line where it stands, so that a compiler names the right one."""
    lines, inside = ["#include <gyre/gyre.h>"], False
    for line in text.split("\n")[1:]:
        if line.startswith("```"):
            inside = line == "```" + language
            line = "```"
        lines.append(line if inside and line != "```" else "")
    return "\n".join(lines) + "\nextern int gy_nothing;\n"


def check_code(root, paths, compilers, problems):
    flags = ["-I", os.path.join(root, "include"), *CALM]
    for path in paths:
        text = read(root, path)
        for language, found in compilers.items():
            if f"\n```{language}\n" not in text:
                continue
            for compiler in found:
                complaint = compiler.complaint(code_of(text, language), flags)
                if complaint:
                    problems.append((path, 0, f"{compiler.name}: {complaint}"))


def check_reached(root, paths, problems):
    listed = re.findall(r"^- \\subpage (\S+)$|^- @subpage (\S+)$", read(root, INDEX), re.MULTILINE)
    labels = {first or second for first, second in listed}
    for path in paths:
        if path == INDEX:
            continue
        label = "gyre-" + os.path.basename(path)[:-3]
        if not re.match(rf"# \S.* \{{#{label}\}}\n", read(root, path)):
            problems.append((path, 1, f"does not begin with a title and its label {{#{label}}}"))
        if label not in labels:
            problems.append((path, 0, f"is no subpage of {INDEX}"))


def check_named(root, paths, problems):
    text = "\n".join(read(root, path) for path in paths)
    for path in csource.find(root, [PAGES], (".dot",)):
        if f"@dotfile {os.path.basename(path)} " not in text:
            problems.append((path, 0, "is shown by no page"))
    for path in csource.find(root, [os.path.join("include", "gyre")], (".h", ".hpp")):
        name = os.path.basename(path)
        if name != "gyre.h" and not re.search(rf"(?<![\w]){re.escape(name)}", text):
            problems.append((path, 0, "is named by no page of scripts/doc/pages/"))


def check_calls(root, problems):
    """A function that a page or a diagram names, as gyre_name(), stands in a header."""
    known = set()
    for path in csource.find(root, [os.path.join("include", "gyre")], (".h",)):
        known.update(re.findall(r"\bgyre_\w+", read(root, path)))
    for path in csource.find(root, [PAGES], (".md", ".dot")):
        for line, text in enumerate(read(root, path).split("\n"), 1):
            for name in re.findall(r"(gyre_\w+)\(\)", text.replace("\\n", " ")):
                if name not in known:
                    problems.append((path, line, f"{name}() stands in no header"))


def check_lines(root, path, problems):
    for line, text in enumerate(read(root, path).split("\n"), 1):
        if len(text.expandtabs(8)) > COLUMNS_MAX and not text.startswith("|"):
            problems.append((path, line, f"has more than {COLUMNS_MAX} columns"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    compilers = {language: check_headers.compilers(each) for language, each in LANGUAGES.items()}
    if not compilers["c"]:
        print("pages: no compiler works, skipped")
        return check_headers.SKIPPED
    paths = csource.find(root, [PAGES], (".md",))
    check_reached(root, paths, problems)
    check_named(root, paths, problems)
    check_calls(root, problems)
    for path in paths:
        check_lines(root, path, problems)
    check_code(root, paths, compilers, problems)
    return csource.report("pages", problems, f"{len(paths)} pages")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
