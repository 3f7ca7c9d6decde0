#!/usr/bin/env python3
"""Builds the reference: HTML with a search, and manual pages, from the public headers.

usage: build_docs.py [--root ROOT] [--version VERSION] [--doxygen PROGRAM] FOLDER

FOLDER gets html/ (begin at html/index.html), man3/ and man7/, in the place of those of the last time. The
comments of include/gyre/*.h and the pages of concepts in scripts/doc/pages/ go through doc_filter.py, then
to doxygen, whose configuration is scripts/doc/Doxyfile and whose warnings are errors. The diagrams of the
pages are drawn by graphviz' dot. check_reference.py then holds the result to the contract and follows its
links. Exits 1, and leaves FOLDER without html/, when anything is amiss.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import check_reference
import csource
import doc_filter
import doc_man

DOC = os.path.join("scripts", "doc")
PAGES = os.path.join(DOC, "pages")
RESULTS = ("html", "man3", "man7")


def filtered(root, folder):
    """Writes all that doxygen reads into @folder, and returns the names in their order."""
    symbols = doc_filter.Symbols(root)
    texts = {"groups.dox": doc_filter.groups(root)}
    paths = csource.find(root, [PAGES], (".md",))
    for _, headers in doc_filter.contents(root):
        paths += [os.path.join(doc_filter.FOLDER, f"{name}.h") for name, _ in headers]
    for path in paths:
        texts[os.path.basename(path)] = doc_filter.convert(root, path, symbols)
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return list(texts)


def configuration(root, version, folder, names):
    """The text of the Doxyfile with what depends on this run."""
    with open(os.path.join(root, DOC, "Doxyfile"), encoding="utf-8") as file:
        text = file.read()
    inputs = " ".join(f'"{os.path.join(folder, "in", name)}"' for name in names)
    return (f'{text}\nPROJECT_NUMBER = "{version}"\nINPUT = {inputs}\n'
            f'OUTPUT_DIRECTORY = "{folder}"\nSTRIP_FROM_PATH = "{folder}/in"\n'
            f'DOTFILE_DIRS = "{os.path.join(root, PAGES)}"\n'
            f'IMAGE_PATH = "{os.path.join(root, PAGES)}"\n'
            f'USE_MDFILE_AS_MAINPAGE = "{folder}/in/index.md"\n')


def build(root, version, doxygen, folder):
    """Builds into the empty @folder. Returns whether all is well; what is not has been printed."""
    os.mkdir(os.path.join(folder, "in"))
    try:
        names = filtered(root, os.path.join(folder, "in"))
    except ValueError as error:
        print(error)
        return False
    ran = subprocess.run([doxygen, "-"], input=configuration(root, version, folder, names), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, cwd=folder)
    output = ran.stdout.replace(os.path.join(folder, "in") + os.sep, "").strip()
    if ran.returncode != 0 or output:
        print(output or f"doxygen failed with status {ran.returncode}")
        return False
    doc_man.convert(os.path.join(folder, "man", "man3"), folder, version)
    return check_reference.main([root, folder]) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=csource.default_root())
    parser.add_argument("--version", default="")
    parser.add_argument("--doxygen", default="doxygen")
    parser.add_argument("folder", metavar="FOLDER")
    chosen = parser.parse_args()
    os.makedirs(chosen.folder, exist_ok=True)
    for name in RESULTS:
        shutil.rmtree(os.path.join(chosen.folder, name), ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="reference.", dir=chosen.folder) as folder:
        if not build(os.path.abspath(chosen.root), chosen.version, chosen.doxygen,
                     os.path.abspath(folder)):
            return 1
        for name in RESULTS:
            os.rename(os.path.join(folder, name), os.path.join(chosen.folder, name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
