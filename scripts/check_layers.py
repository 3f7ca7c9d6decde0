#!/usr/bin/env python3
"""Floors: a file of lib/ includes only its own floor and those below it.

usage: check_layers.py [ROOT]

The floors, from low to high, are those of FLOORS. A file in lib/<floor>/ names what it includes of the
library by floor ("loop/wheel.h"), and only from its own floor or a lower one; public headers are for
all. A folder lib/<floor>/<room>/ is a room: a part of its floor that the floors above may use. The core
of a floor is what stands directly in lib/<floor>/. By ROOMS the rooms of a floor are

  closed   no room knows another, and the core calls them through tables of functions only
  apart    no room knows another, and the core may use them all
  open     they call each other: rooms only say where to look

PARTS names the rooms that count as the core of their floor, since they only say where to look in it.
EXCEPTIONS names the files that may include another room all the same, with the reason.
Only lib/ring/ knows io_uring. Public headers include nothing but public and system headers, the
programs in apps/ see what a user sees, and nothing in lib/ or include/ knows perf/, test/ or apps/.
"""
import os
import re
import sys

import csource

FLOORS = ["base", "ring", "loop", "actor", "buffer", "channel", "net", "remote", "stream", "system", "sim"]
ROOMS = {"base": "open", "actor": "open", "channel": "closed", "net": "closed", "remote": "open", "stream": "open", "system": "apart",
         "sim": "open"}
PARTS = {"channel/input", "channel/output", "channel/pipeline"}
EXCEPTIONS = {
    ("lib/channel/pipeline/events.c", "channel/file/region.h"):
        "the head of a pipeline takes regions of files, as it takes bytes",
    ("lib/system/outside/outside.c", "system/directory/directory.h"):
        "threads outside send to names and groups as actors do",
    ("lib/system/outside/outside.c", "system/directory/groups.h"):
        "threads outside send to names and groups as actors do",
    ("lib/system/outside/foreign_ask.c", "system/directory/groups.h"):
        "threads outside ask groups as actors do",
}
IO_URING = re.compile(r"<(liburing(\.h|/.*)|linux/io_uring.*)>")
CONFIG = "gyre_config.h"


def library_include(floor, name):
    """Why a file of @floor must not include "name", or None."""
    if name == CONFIG or name.startswith("gyre/"):
        return None
    if ".." in name.split("/"):
        return f'"{name}" climbs out of its folder: name the floor'
    if "/" not in name:
        return f'"{name}" does not name its floor: write "{floor}/{name}"'
    other = name.split("/")[0]
    if other not in FLOORS:
        return f'"{name}" is not of the library'
    if FLOORS.index(other) > FLOORS.index(floor):
        return f'"{name}" is of floor {other}, which is above {floor}'
    return None


def room_of(path):
    """lib/channel/codec/line.c is in "channel/codec"; lib/channel/channel.c is in no room."""
    parts = path.split("/")
    room = "/".join(parts[1:3]) if len(parts) > 3 else None
    return None if room in PARTS else room


def room_include(path, name):
    """Why a file, which may use its floor, must not include "name" of a room; or None."""
    room, other = room_of(path), room_of("lib/" + name)
    floor = path.split("/")[1]
    rule = ROOMS.get(floor, "closed")
    if other is None or other == room or floor != name.split("/")[0] or rule == "open":
        return None
    if room is None and rule == "apart":
        return None
    if (path, name) in EXCEPTIONS:
        return None
    place = f"room {room}" if room else f"the core of floor {floor}"
    return f'"{name}" is of room {other}, which {place} must not know'


def check_exceptions(root, problems):
    for (path, name), _ in EXCEPTIONS.items():
        if os.path.exists(os.path.join(root, path)):
            texts = [text for _, text in csource.load(root, path).includes()]
            if f'"{name}"' not in texts:
                problems.append((path, 0, f'does not include "{name}": take the exception back'))


def check_library(root, problems):
    files = csource.find(root, ["lib"])
    check_exceptions(root, problems)
    for path in files:
        parts = path.split(os.sep)
        floor = parts[1]
        if len(parts) < 3 or floor not in FLOORS:
            problems.append((path, 0, "is in no floor; the floors are " + " ".join(FLOORS)))
            continue
        for line, text in csource.load(root, path).includes():
            name = text[1:-1]
            if IO_URING.match(text):
                if floor != "ring":
                    problems.append((path, line, f"{text} is for lib/ring/ alone"))
            elif text.startswith('"'):
                reason = library_include(floor, name) or room_include(path, name)
                if reason:
                    problems.append((path, line, reason))
            elif os.path.exists(os.path.join(root, "lib", name)):
                problems.append((path, line, f'{text} is ours: write "{name}"'))
    return len(files)


def is_private(root, text):
    """Whether an include (with its quotes) reaches what no user of the library has."""
    name = text[1:-1]
    first = name.lstrip("./").split("/")[0]
    if name == CONFIG or os.path.exists(os.path.join(root, "lib", name)):
        return True
    return text.startswith('"') and first in FLOORS + ["lib", "perf", "test"]


def check_outside(root, folder, problems):
    """include/ and apps/: public headers only, and no io_uring."""
    files = csource.find(root, [folder])
    for path in files:
        for line, text in csource.load(root, path).includes():
            name = text[1:-1]
            if IO_URING.match(text):
                problems.append((path, line, f"{text} is for lib/ring/ alone"))
            elif text.startswith('"') and folder == "include" and not name.startswith("gyre/"):
                problems.append((path, line, f"{text} is not a public header"))
            elif is_private(root, text):
                problems.append((path, line, f"{text} is inside the library"))
    return len(files)


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    count = check_library(root, problems)
    count += check_outside(root, "include", problems)
    count += check_outside(root, "apps", problems)
    return csource.report("layers", problems, f"{count} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
