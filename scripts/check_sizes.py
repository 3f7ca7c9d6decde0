#!/usr/bin/env python3
"""Sizes and banned words: the limits of the style that a machine can measure.

usage: check_sizes.py [ROOT]

In lib, include, apps, perf and test: functions of at most 70 lines, 6 parameters and 4 levels of braces
(the body is the first), files of at most 800 lines, lines of at most 100 columns with tabs of 8. Braces
always, goto only forward, structs not typedef'd, nothing left for later. Calls that are unsafe, that
wait by sleeping, that go round the log or round the one way to the heap are banned where they are
wrong; BANNED tells each one's place and reason. Comments and strings are not looked at for calls.
"""
import os
import re
import sys

import csource

FOLDERS = ["lib", "include", "apps", "perf", "test"]
FUNCTION_LINES = 70
FUNCTION_PARAMETERS = 6
GIVEN_PARAMETERS = {  # functions whose parameters another library decides
    ("lib/sim/process/hash_table_calls.c", "__wrap__cds_lfht_new"): "those of liburcu",
    ("lib/net/connect/resolve.c", "receive_theirs"): "the receive call of struct ares_socket_functions",
}
DECLARING = {"GY_SIM_WRAPPED"}  # macros that declare functions of other libraries
FUNCTION_LEVELS = 4
FILE_LINES = 800
LINE_COLUMNS = 100
TAB = 8
LEFT_OPEN = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
CASES = ("Test", "ParameterizedTest", "Theory")  # Criterion's, whose arguments are options

# Names, the folders where they are banned, the files that may all the same, and the reason.
BANNED = [
    ("strcpy strcat sprintf vsprintf gets stpcpy", FOLDERS, [], "does not know the buffer's size"),
    ("strtok rand srand localtime gmtime asctime ctime", FOLDERS, [], "has hidden global state"),
    ("atoi atol atoll atof", FOLDERS, [], "does not tell errors: use strtoul()"),
    ("alloca", FOLDERS, [], "makes a frame of unknown size"),
    ("usleep sleep nanosleep clock_nanosleep", ["lib", "test"], ["lib/base/clock.c", "lib/sim/", "test/unit/sim/",
                                                         "test/simulate/", "test/system/sim_digest.c", "test/system/sim_planted.c"],
     "waits by sleeping: wait for the event"),
    ("gy_clock_sleep", ["lib", "test"],
     ["lib/base/clock.c", "lib/base/clock.h", "lib/net/listen/listen.c", "lib/net/bind.c", "test/unit/base/"],
     "waits by sleeping: wait for the event"),
    ("printf fprintf vprintf vfprintf dprintf perror puts fputs putchar", ["lib"],
     ["lib/base/log/log.c", "lib/sim/", "lib/system/observe/snapshot_print.c"], "goes round the log: use gy_log()"),
    ("malloc calloc realloc reallocarray free aligned_alloc posix_memalign strdup strndup", ["lib"],
     ["lib/base/", "lib/sim/process/memory.c"], "goes round the one way to the heap: use base/memory/memory.h or a pool"),
    ("exit", ["lib"], [], "is the program's decision: return an error"),
]


def is_banned(path, folders, allowed):
    path = path.replace(os.sep, "/")
    if path.split("/")[0] not in folders:
        return False
    return not any(path == a or (a.endswith("/") and path.startswith(a)) for a in allowed)


def check_calls(source, problems):
    reasons = {}
    for names, folders, allowed, reason in BANNED:
        if is_banned(source.path, folders, allowed):
            reasons.update(dict.fromkeys(names.split(), reason))
    for token in csource.calls(source):
        name = token.text.removeprefix("__builtin_")
        if name in reasons:
            problems.append((source.path, token.line, f"{token.text}() {reasons[name]}"))


def check_lines(source, problems):
    lines = source.text.split("\n")
    count = len(lines) - (lines[-1] == "")
    if count > FILE_LINES:
        problems.append((source.path, 0, f"{count} lines, at most {FILE_LINES}"))
    for at, line in enumerate(lines, 1):
        columns = len(line.expandtabs(TAB))
        if columns > LINE_COLUMNS:
            problems.append((source.path, at, f"{columns} columns, at most {LINE_COLUMNS}"))
        if LEFT_OPEN.search(line):
            problems.append((source.path, at, "leaves something open: do it, or open an issue"))


def check_functions(source, problems):
    for function in source.functions:
        lines = function.end_line - function.line + 1
        where = (source.path, function.line)
        if lines > FUNCTION_LINES:
            text = f"{function.name}() has {lines} lines, at most {FUNCTION_LINES}"
            problems.append((*where, text))
        if function.level > FUNCTION_LEVELS:
            text = f"{function.name}() has {function.level} levels, at most {FUNCTION_LEVELS}"
            problems.append((source.path, function.level_line, text))
        if function.name not in CASES:
            check_parameters(where, function.name, function.parameters, problems)
        check_statements(source, function, problems)
    for declaration in source.declarations:
        declared = csource.declarator(declaration.tokens)
        if declared and declaration.tokens[0].text not in ("typedef", "_Static_assert"):
            where = (source.path, declaration.line)
            check_parameters(where, declared[0].text, declared[1], problems)


def check_parameters(where, name, parameters, problems):
    if name in DECLARING:
        return
    if len(parameters) > FUNCTION_PARAMETERS and (where[0], name) not in GIVEN_PARAMETERS:
        text = f"{name}() has {len(parameters)} parameters, at most {FUNCTION_PARAMETERS}"
        problems.append((*where, text))


def after_parenthesis(tokens, at):
    """The index behind the parenthesis that opens at index @at."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i + 1
    return len(tokens)


def ends_do(tokens, at):
    """Whether the while at index @at is the end of a do loop."""
    if at == 0 or tokens[at - 1].text != "}":
        return False
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += {"}": 1, "{": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i > 0 and tokens[i - 1].text == "do"
    return False


def check_statements(source, function, problems):
    """Braces after every if, else and loop; goto only to a label further down."""
    tokens = [t for t in function.body if t.kind != "comment"]
    labels = {}
    for i in range(len(tokens) - 1):
        before = tokens[i - 1].text if i > 0 else "{"
        if tokens[i].kind == "ident" and tokens[i + 1].text == ":" and before in "{};:":
            labels.setdefault(tokens[i].text, tokens[i].line)
    for i, token in enumerate(tokens):
        following = None
        if token.text in ("if", "for", "while") and not (
            token.text == "while" and ends_do(tokens, i)
        ):
            following = after_parenthesis(tokens, i + 1)
        elif token.text in ("else", "do"):
            following = i + 1
        if following is not None and following < len(tokens):
            text = tokens[following].text
            if text != "{" and not (token.text == "else" and text == "if"):
                problems.append((source.path, token.line, f"{token.text} without braces"))
        if token.text == "goto" and i + 1 < len(tokens):
            label = tokens[i + 1].text
            if labels.get(label, token.line + 1) <= token.line:
                problems.append((source.path, token.line, f"goto {label} goes back"))


def check_typedefs(source, problems):
    tokens = [t for t in source.tokens if t.kind != "comment"]
    for i, (first, second) in enumerate(zip(tokens, tokens[1:])):
        # What a callback returns may have a name.
        callback = [token.text for token in tokens[i + 3:i + 5]] == ["(", "*"]
        if first.text == "typedef" and second.text in ("struct", "union", "enum") and not callback:
            problems.append((source.path, first.line, f"typedef {second.text}: leave the name be"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    files = csource.find(root, FOLDERS)
    for path in files:
        source = csource.load(root, path)
        check_lines(source, problems)
        check_functions(source, problems)
        check_calls(source, problems)
        check_typedefs(source, problems)
    return csource.report("sizes", problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
