#!/usr/bin/env python3
"""Tutorial: each piece of C on its page stands so in the compiled source that it names.

usage: check_tutorial.py [ROOT]

A block of apps/tutorial/README.md that is C begins with ```c and the name of a source beside the page, as
```c step1.c. Its lines must stand in that source, whole and one after the other. A block of C without a
source, one that is empty or not closed, a source that is not there, and a source of which the page shows
nothing are faults too.
"""
import os
import sys

import csource

FOLDER = os.path.join("apps", "tutorial")
PAGE = os.path.join(FOLDER, "README.md")
FENCE = "```"


class Block:
    """A fenced block: what stands behind the fence, and its lines."""

    def __init__(self, line, information):
        self.line = line
        self.information = information.split()
        self.lines = []

    @property
    def is_c(self):
        return self.information[:1] == ["c"]


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def blocks_of(lines, problems):
    blocks = []
    block = None
    for at, line in enumerate(lines, 1):
        if not line.startswith(FENCE):
            if block is not None:
                block.lines.append(line)
        elif block is None:
            block = Block(at, line[len(FENCE):])
        else:
            blocks.append(block)
            block = None
    if block is not None:
        problems.append((PAGE, block.line, "this block is not closed"))
    return blocks


def stands_in(source, lines):
    count = len(lines)
    return any(source[at:at + count] == lines for at in range(len(source) - count + 1))


def first_stranger(source, lines):
    """The number, from 0, of the first line of a block that is not in its source, or of the first."""
    return next((at for at, line in enumerate(lines) if line not in source), 0)


def check_block(block, sources, problems):
    """A block of C against the source that it names."""
    if len(block.information) != 2:
        problems.append((PAGE, block.line, "this block names no source, as ```c step1.c does"))
        return
    name = block.information[1]
    if name not in sources:
        problems.append((PAGE, block.line, f"there is no {name} beside the page"))
    elif not any(block.lines):
        problems.append((PAGE, block.line, "this block is empty"))
    elif not stands_in(sources[name], block.lines):
        at = block.line + 1 + first_stranger(sources[name], block.lines)
        problems.append((PAGE, at, f"{name} does not say so"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    folder = os.path.join(root, FOLDER)
    sources = {name: read_lines(os.path.join(folder, name))
               for name in sorted(os.listdir(folder)) if name.endswith(".c")}
    blocks = [block for block in blocks_of(read_lines(os.path.join(root, PAGE)), problems)
              if block.is_c]
    for block in blocks:
        check_block(block, sources, problems)
    for name in sorted(sources.keys() - {block.information[-1] for block in blocks}):
        problems.append((os.path.join(FOLDER, name), 0, "the page shows nothing of it"))
    return csource.report("tutorial", problems, f"{len(blocks)} blocks of {len(sources)} sources")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
