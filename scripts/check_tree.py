#!/usr/bin/env python3
"""Tree: what is kept is source, is at home anywhere, and is taken part in.

usage: check_tree.py [ROOT]

Looks at what git tracks or would track (without git: at everything but build folders). The top level
holds only the names of ALLOWED; no file is a binary or names a folder of somebody's machine; text ends
in a newline, with no space at the end of a line; what starts with #! is executable; every source,
public header, test and page is named in a meson.build of its part of the tree, so that none is forgotten;
and every picture is shown by a page, by a relative link.
"""
import os
import re
import subprocess
import sys

import csource

ALLOWED = set(
    "meson.build meson_options.txt lib include apps test perf scripts README.md LICENSE CHANGELOG.md "
    "CONTRIBUTING.md SECURITY.md .clang-format .clang-tidy .editorconfig .gitignore .ci .git".split()
)
# The names are spelt with a class, so that this file does not name a folder of a machine itself.
MACHINE = re.compile(
    r"(?:^|[^A-Za-z0-9_.])/(?:[w]ork|[f]arm|[r]oot|[h]ome/\w+|[U]sers/\w+|tmp/(?:bash_jobs|studio))/"
)
SHOWN = re.compile(r"!\[[^]]*\]\(([^)]+)\)")  # a picture of a page in markdown
# What must be named in a meson.build below the first folder: where it stands, and how it ends.
LISTED = [
    ("apps", ".c"),
    ("apps", ".cc"),
    ("include/gyre", ".h"),
    ("include/gyre", ".hpp"),
    ("lib", ".c"),
    ("test/cpp", ".cc"),
    ("test/unit", ".c"),
    ("test/model", ".c"),
    ("test/stress", ".c"),
    ("test/random", ".c"),
    ("test/simulate", ".c"),
    ("test/soak", ".c"),
    ("test/fuzz", ".c"),
    ("test/system", "_test.py"),
    ("test/system", "_test.sh"),
    ("test/check", "_test.py"),
    ("scripts/doc/pages", ".md"),
    ("scripts/doc/pages", ".dot"),
    ("test/install", "_test.py"),
]


def kept(root):
    """The files that git keeps or would keep, relative to @root."""
    if os.path.exists(os.path.join(root, ".git")):
        ran = subprocess.run(["git", "-c", f"safe.directory={root}", "-C", root, "ls-files", "-z",
                              "--cached", "--others", "--exclude-standard"], check=False,
                             capture_output=True, text=True)
        if ran.returncode == 0:
            names = {name for name in ran.stdout.split("\0") if name}
            return sorted(n for n in names if os.path.lexists(os.path.join(root, n)))
    return csource.find(root, ["."], ("",)) + hidden(root)


def hidden(root):
    """Without git: the files at the top whose names begin with a dot, and those of .ci."""
    names = [n for n in os.listdir(root) if n.startswith(".")]
    files = [n for n in names if os.path.isfile(os.path.join(root, n))]
    return sorted(files + [os.path.join(".ci", n) for n in os.listdir(os.path.join(root, ".ci"))]
                  if ".ci" in names else files)


def check_text(path, data, problems):
    for line, text in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if MACHINE.search(text):
            problems.append((path, line, "names a folder of one machine"))
        if text != text.rstrip():
            problems.append((path, line, "ends in space"))
    if data and not data.endswith(b"\n"):
        problems.append((path, 0, "does not end in a newline"))


def check_files(root, files, problems):
    for path in files:
        whole = os.path.join(root, path)
        if os.path.islink(whole) or not os.path.isfile(whole):
            continue
        with open(whole, "rb") as file:
            data = file.read()
        if b"\0" in data:
            problems.append((path, 0, "is a binary"))
            continue
        check_text(path, data, problems)
        if data.startswith(b"#!") and not os.access(whole, os.X_OK):
            problems.append((path, 0, "starts with #! and is not executable"))


def check_top(files, problems):
    for name in sorted({path.split(os.sep)[0] for path in files} - ALLOWED):
        problems.append((name, 0, "does not belong at the top level"))


def build_text(root, files, top):
    """All meson.build files below the folder @top, without their comments."""
    found = ""
    for path in files:
        if path.startswith(top + "/") and os.path.basename(path) == "meson.build":
            with open(os.path.join(root, path), encoding="utf-8") as file:
                found += re.sub(r"#.*", "", file.read())
    return found


def check_listed(root, files, problems):
    texts = {}
    for path in files:
        for folder, ending in LISTED:
            if path.startswith(folder + "/") and path.endswith(ending):
                top = folder.split("/", maxsplit=1)[0]
                if top not in texts:
                    texts[top] = build_text(root, files, top)
                # With or without its ending: a list may hold bare names.
                stem = re.escape(os.path.basename(path).rsplit(".", 1)[0])
                if not re.search(rf"['/]{stem}(\.\w+)?'", texts[top]):
                    problems.append((path, 0, f"is named in no meson.build of {top}/"))


def check_pictures(root, files, problems):
    shown = set()
    for path in files:
        if path.endswith(".md"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                shown.update(os.path.normpath(os.path.join(os.path.dirname(path), link))
                             for link in SHOWN.findall(file.read()))
    for path in files:
        if path.endswith(".svg") and path not in shown:
            problems.append((path, 0, "is shown by no page"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    files = [os.path.normpath(path) for path in kept(root)]
    check_top(files, problems)
    check_files(root, files, problems)
    check_listed(root, files, problems)
    check_pictures(root, files, problems)
    return csource.report("tree", problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
