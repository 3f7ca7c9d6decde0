#!/usr/bin/env python3
"""Options: one list of tunables, told in five places, and the same in all of them.

usage: check_options.py [ROOT]

The integer options of meson_options.txt are gyre's tunables, and so are those that choose a word and are
fields of struct gyre_system_options: enums that count the words from 1 on. Each must be a field of the same
name there, a line OPTION(field, min, max) with the same bounds in lib/system/tunables.c, or WORDS(field, min, max,
words) where it chooses a word, with those words; and a GY_DEFAULT_ macro of include/meson.build. Every option, tunable
or not, has a row in the README's table of options, with its default in the second column. meson_options.txt is
alphabetical and each of its texts says something.
"""
import ast
import itertools
import operator
import os
import re
import sys

import csource

OPTIONS = "meson_options.txt"
HEADER = os.path.join("include", "gyre", "system.h")
SOURCE = os.path.join("lib", "system", "tunables.c")
CONFIG = os.path.join("include", "meson.build")
README = "README.md"
STRUCT = "gyre_system_options"
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.LShift: operator.lshift, ast.USub: operator.neg,
}


class Option:
    """One option() call of meson_options.txt."""

    def __init__(self, name, line, words):
        self.name = name
        self.line = line
        self.kind = words.get("type", "")
        self.default = words.get("value", "")
        self.low, self.high = words.get("min"), words.get("max")
        self.description = words.get("description", "")
        self.choices = re.findall(r"'(\w+)'", words.get("choices", ""))

    def is_tunable(self, fields):
        return self.kind == "integer" or self.kind == "combo" and self.name in fields

    def bounds(self):
        return (1, len(self.choices)) if self.kind == "combo" else (self.low, self.high)


def read(root, path, problems):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        problems.append((path, 0, "is missing"))
        return ""


def meson_value(text):
    text = text.strip()
    if text.startswith("'"):
        return "".join(re.findall(r"'((?:\\.|[^'\\])*)'", text))
    return int(text) if re.match(r"^-?\d+$", text) else text


def call_at(text, start):
    """The arguments of the call whose parenthesis opens at @start, up to its end."""
    depth, at = 0, start
    while at < len(text):
        if text[at] == "'":
            at = re.compile(r"'(?:\\.|[^'\\])*'").match(text, at).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            break
        at += 1
    return text[start + 1 : at]


def parse_options(text):
    """The options in their order. Knows the form option('name', key : value, ...)."""
    text = re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE)
    found = []
    pair = r"(\w+)\s*:\s*((?:'(?:\\.|[^'\\])*'\s*\+?\s*)+|\[[^\]]*\]|-?\w+)"
    for match in re.finditer(r"^option(?=\()", text, re.MULTILINE):
        inside = call_at(text, match.end())
        name, _, rest = inside.partition(",")
        words = {key: meson_value(value) for key, value in re.findall(pair, rest)}
        line = text.count("\n", 0, match.start()) + 1
        found.append(Option(meson_value(name), line, words))
    return found


def constant(text):
    """The value of an integer constant expression of C, or None."""
    text = re.sub(r"\bU?INT(?:64|32|MAX)_C\s*\(", "(", text)
    text = re.sub(r"\(\s*(?:u?int\d+_t|unsigned|int|long|size_t)\s*\)", "", text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
    named = {"UINT16_MAX": 2**16 - 1, "INT32_MAX": 2**31 - 1, "UINT32_MAX": 2**32 - 1,
             "INT64_MAX": 2**63 - 1}

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return named[node.id]
        if isinstance(node, ast.UnaryOp):
            return OPERATORS[type(node.op)](value(node.operand))
        return OPERATORS[type(node.op)](value(node.left), value(node.right))

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError, AttributeError):
        return None


def fields_of_struct(root, problems):
    if not read(root, HEADER, problems):
        return {}
    for declaration in csource.load(root, HEADER).declarations:
        if declaration.words()[:2] == ["struct", STRUCT] and declaration.body:
            found, current = {}, []
            for token in declaration.body:
                if token.text == ";":
                    found[csource.parameter_name(current)] = token.line
                    current = []
                elif token.kind != "comment":
                    current.append(token)
            return found
    problems.append((HEADER, 0, f"has no struct {STRUCT}"))
    return {}


def words_in(code):
    """Array -> its strings, for each array of strings that is initialized."""
    found = {}
    for at, token in enumerate(code[:-4]):
        if code[at + 1].text == "[" and [t.text for t in code[at + 2 : at + 5]] == ["]", "=", "{"]:
            rest = itertools.takewhile(lambda t: t.text != "}", code[at + 5 :])
            found[token.text] = [t.text.strip('"') for t in rest if t.text.startswith('"')]
    return found


def bounds_of(root, path, problems):
    """Field -> (line, min, max, words) for each line such as OPTION(field, min, max)."""
    if not read(root, path, problems):
        return {}
    code = csource.load(root, path).code
    words = words_in(code)
    found = {}
    for at, token in enumerate(code[:-1]):
        if token.text in ("OPTION", "WORDS") and code[at + 1].text == "(" and code[at - 1].text != "define":
            texts = [" ".join(t.text for t in group) for group in csource.split_arguments(code, at + 1)]
            if len(texts) < 3:
                problems.append((path, token.line, f"{token.text}() needs a field, a min and a max"))
            elif texts[0] != "field":  # but not in the macro itself
                found[texts[0]] = (token.line, constant(texts[1]), constant(texts[2]), words.get(texts[-1], []))
    return found


def rows_of_readme(root, problems):
    """Option -> (line, default) for the rows of tables whose first column is named so."""
    found, inside = {}, False
    for line, text in enumerate(read(root, README, problems).split("\n"), 1):
        cells = [cell.strip().strip("`") for cell in text.strip().strip("|").split("|")]
        if not text.lstrip().startswith("|"):
            inside = False
        elif not inside:
            inside = cells[0].lower() == "option"
        elif len(cells) > 1 and re.match(r"^\w+$", cells[0]):
            found[cells[0]] = (line, cells[1])
    return found


def plain(value):
    """A default as text, without what makes it easier to read: 1,048,576 is 1048576."""
    return re.sub(r"(?<=\d)[,_ ](?=\d)", "", str(value)).strip("'\"` ")


def check_file(options, problems):
    names = [option.name for option in options]
    for before, after in zip(options, options[1:]):
        if before.name >= after.name:
            problems.append((OPTIONS, after.line, f"{after.name} stands after {before.name}"))
    for option in options:
        if len(option.description) < 10:
            problems.append((OPTIONS, option.line, f"{option.name} has no description"))
        if option.kind == "integer" and (option.low is None or option.high is None):
            problems.append((OPTIONS, option.line, f"{option.name} has no min or no max"))
    if not names:
        problems.append((OPTIONS, 0, "has no options"))


def check_code(root, options, problems):
    fields = fields_of_struct(root, problems)
    tunables = {option.name: option for option in options if option.is_tunable(fields)}
    bounds = bounds_of(root, SOURCE, problems)
    config = read(root, CONFIG, problems)
    for name, option in tunables.items():
        if fields and name not in fields:
            problems.append((OPTIONS, option.line, f"{name} is no field of struct {STRUCT}"))
        if bounds and name not in bounds:
            problems.append((OPTIONS, option.line, f"{name} has no OPTION() in {SOURCE}"))
        if name in bounds:
            line, low, high, words = bounds[name]
            least, most = option.bounds()
            if (low, high) != (least, most):
                text = f"{name} is {low} to {high} here, {least} to {most} in {OPTIONS}"
                problems.append((SOURCE, line, text))
            elif words != option.choices:
                problems.append((SOURCE, line, f"the words of {name} are not those of {OPTIONS}"))
        if config and not re.search(rf"'{name}'", config):
            problems.append((CONFIG, 0, f"{name} does not become a GY_DEFAULT_ macro"))
    for name, (line, *_) in bounds.items():
        if name not in tunables:
            problems.append((SOURCE, line, f"{name} is no tunable of {OPTIONS}"))
        if fields and name not in fields:
            problems.append((SOURCE, line, f"{name} is no field of struct {STRUCT}"))


def check_readme(root, options, problems):
    rows = rows_of_readme(root, problems)
    if not rows:
        problems.append((README, 0, 'has no table whose first column is "option"'))
        return
    for option in options:
        if option.name not in rows:
            problems.append((README, 0, f"the table of options has no row for {option.name}"))
        elif plain(rows[option.name][1]) != plain(option.default):
            line, default = rows[option.name]
            text = f"the default of {option.name} is {option.default}, not {default}"
            problems.append((README, line, text))
    for name in rows.keys() - {option.name for option in options}:
        problems.append((README, rows[name][0], f"{name} is no option of {OPTIONS}"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    options = parse_options(read(root, OPTIONS, problems))
    check_file(options, problems)
    check_code(root, options, problems)
    check_readme(root, options, problems)
    return csource.report("options", problems, f"{len(options)} options")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
