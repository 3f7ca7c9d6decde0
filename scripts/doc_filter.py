#!/usr/bin/env python3
"""Turns the comments of public headers, and the pages of concepts, into those of doxygen.

usage: doc_filter.py HEADER|PAGE ...

Prints each file as doxygen is to read it. A comment of a header keeps its lines where that is possible,
so that a warning of doxygen names the right one. The parts of a contract (Return, Errors, Ownership,
Context, Since) become sections with headings, also those that a header leaves out because they say
nothing; members and enumerators get their texts from the comment of their type; lines that begin with a
tab become code; and the names of headers, types, macros and constants become links. The order and the
titles of the headers are those of include/gyre/gyre.h.
"""
import os
import re
import sys

import csource
from check_docs import PARAMETER, PART, SIZED, TITLE, Comment, needless_parts, words_before

FOLDER = os.path.join("include", "gyre")
UMBRELLA = os.path.join(FOLDER, "gyre.h")
# Headers of other libraries, which gyre.h does not include.
APART = [("sim", "Simulation", "hosts, a network, disks and clocks that are simulated"),
         ("test", "Tests", "probes, peers of channels and virtual time for tests of actors and pipelines"),
         ("test_channel", "Tests", "the peers of channels"),
         ("tap", "Tests", "what passes a place of a pipeline")]
HEADING = re.compile(r"^/\* ---- (.+) ---- \*/$")
TITLED = re.compile(r"^/\*\s*(.*?)\s*\*/\n#include <gyre/(\w+)\.h>$", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"^((?:-E[A-Z0-9]+(?:, )?)+|NULL|GYRE_NOBODY|others)\s+(\S.*)$")
WORD = re.compile(
    r"""(?P<parameter>(?<!["\w])@(?:[A-Za-z_]\w*|\.\.\.))
      | (?P<header>\b(?:gyre/)?\w+\.h\b)
      | (?P<call>\b(?:gyre|GYRE)_\w+\(\))
      | (?P<typed>\b(?:(?:struct|enum)\ )?gyre_\w+\b)
      | (?P<constant>\bGYRE_[A-Z0-9_]+\b)
      | (?P<special>--|::|[<>&%\#*\\])
    """,
    re.VERBOSE,
)


class Symbols:
    """The names that a text may link to."""

    def __init__(self, root):
        self.headers, self.types, self.callbacks, self.constants = set(), set(), set(), set()
        self.functions = set()
        for path in csource.find(root, [FOLDER], (".h",)):
            self._read(csource.load(root, path))

    def _read(self, source):
        self.headers.add(os.path.basename(source.path)[:-2])
        for _, name, called in source.macros():
            if name.startswith("GYRE_") and not called and not name.endswith("_H"):
                self.constants.add(name)
        for declaration in source.declarations:
            words = declaration.words()
            if words[0] == "typedef":
                self.callbacks.update(re.findall(r"\b(gyre_\w+_fn)\b", " ".join(words)))
            elif words[0] in ("struct", "enum") and declaration.body:
                self.types.add(words[1])
                if words[0] == "enum":
                    self.constants.update(name for name, _ in statements(declaration))
            elif "GYRE_API" in words:
                self.functions.add(csource.declarator(declaration.tokens)[0].text.removesuffix(SIZED))


def statements(declaration):
    """The members or enumerators of a type: triples of name, and the first and the last token."""
    is_enum = declaration.words()[0] == "enum"
    found, current, depth = [], [], 0
    for token in declaration.body:
        if token.kind == "comment" or token.pp:
            continue
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text == ("," if is_enum else ";"):
            found.append(current)
            current = []
        else:
            current.append(token)
    found += [current] if current else []
    if is_enum:
        return [(tokens[0].text, tokens[0]) for tokens in found]
    return [(csource.parameter_name(tokens), tokens[0]) for tokens in found]


def link(match, symbols):
    """The text of doxygen for one match of WORD."""
    text = match.group()
    if match["parameter"]:
        return f"`{text[1:]}`"
    if match["header"]:
        name = text.rsplit("/", 1)[-1]
        return f'@ref header-{name[:-2]} "{name}"' if name[:-2] in symbols.headers else text
    if match["typed"]:
        name = text.rsplit(" ", 1)[-1]
        if name in symbols.types:
            return f'@ref {name} "{text}"'
        return f"#{name}" if name in symbols.callbacks else text
    if match["constant"]:
        return f"#{text}" if text in symbols.constants else text
    return "\\" + text if match["special"] else text


def prose(text, symbols):
    """One paragraph on one line, with links; what stands in ` or in quotes is left as it is."""
    pieces = re.split(r"(`[^`]*`|\"[^\"]*\")", " ".join(text.split()))
    for at in range(0, len(pieces), 2):
        pieces[at] = WORD.sub(lambda match: link(match, symbols), pieces[at])
    return "".join(pieces)


def sentence(text):
    """A title as a sentence: with a capital, unless it begins with a name, and a full stop."""
    first = text.split(" ", 1)[0]
    if not re.search(r"[_@`#]", first):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else text + "."


def lines_of(comment):
    """The lines of a comment without its frame of stars."""
    body = re.sub(r"^/\*\*?|\*/$", "", comment)
    lines = [re.sub(r"^\s*\*( |(?=\t)|$)", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].strip()
    return lines


def running(lines, symbols):
    """Running text: paragraphs, lists of "- ", and code, which begins with a tab behind an empty line."""
    found, paragraph = [], []

    def end():
        if paragraph:
            found.append(prose(" ".join(paragraph), symbols))
            paragraph.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("\t") and (at == 0 or not lines[at - 1]):
            end()
            code = []
            while at < len(lines) and (lines[at].startswith("\t") or not lines[at]):
                code.append(lines[at][1:])
                at += 1
            while not code[-1]:
                code.pop()
                at -= 1
            found += ["", "@code{.c}", *code, "@endcode"]
            continue
        if not line or line.startswith("- "):
            end()
        if line.startswith("- "):
            paragraph.append("- ")
            line = line[2:]
        if line:
            paragraph.append(line.strip())
        elif found and found[-1]:
            found.append("")
        at += 1
    end()
    return found


class Contract:
    """A kernel-doc comment taken apart: @name, @title, @parameters, @text and @parts, as lines."""

    def __init__(self, comment):
        self.name, self.title, self.text = None, "", []
        self.parameters, self.parts = {}, {}
        lines = lines_of(comment)
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        match = TITLE.match(lines[0]) if lines else None
        if not match:
            return
        self.name = match.group(1)
        title, at = [match.group(3)], 1
        while at < len(lines) and lines[at] and not PARAMETER.match(lines[at]):
            title.append(lines[at])
            at += 1
        self.title = " ".join(title)
        self._read(lines[at:])

    def _read(self, lines):
        into = self.text
        for line in lines:
            parameter, part = PARAMETER.match(line), PART.match(line)
            if parameter:
                into = self.parameters.setdefault(parameter.group(1), [parameter.group(2)])
            elif part:
                into = self.parts.setdefault(part.group(1), [part.group(2)])
            elif not line:
                if into is not self.text:
                    into = self.text
                into.append("")
            else:
                into.append(line)


def errors(lines, symbols):
    """The errors as a list: one an item, and what is no errno as a paragraph."""
    items = []
    for line in lines:
        match = ERROR.match(line.strip())
        if match:
            items.append(f"- <b>{match.group(1)}</b> " + match.group(2))
        elif items and (line.startswith("   ") and not line.strip().startswith(("as ", "none"))):
            items[-1] += " " + line.strip()
        elif line.strip():
            items.append(line.strip())
    found = []
    for item in items:
        head = re.match(r"- <b>.*?</b> |", item).group()
        if found and not head:
            found.append("")
        found.append(head + prose(item[len(head):], symbols))
    return found


def function(contract, needless, symbols):
    """The lines for an exported function. A part that is left out is told if it is @needless."""
    found = ["@brief " + sentence(prose(contract.title, symbols)), ""]
    for name, text in contract.parameters.items():
        way = "[out]" if name.startswith("ret_") else ""
        found.append(f"@param{way} {name} " + prose(" ".join(text), symbols))
    found += [""] + running(contract.text, symbols) + [""]
    parts = contract.parts
    if "Return" in parts:
        found.append("@return " + prose(" ".join(parts["Return"]), symbols))
    elif "Return" in needless:
        found += ["@par Returns", "nothing."]
    if "Errors" in parts:
        found += ["@par Errors"] + errors(parts["Errors"], symbols)
    elif "Errors" in needless:
        found += ["@par Errors", "none: it cannot fail."]
    for part in ("Ownership", "Context"):
        if part in parts:
            found += [f"@par {part}", prose(" ".join(parts[part]), symbols)]
    if "Since" in parts:
        found.append("@since " + prose(" ".join(parts["Since"]), symbols))
    return found


def other(contract, command, with_parameters, symbols):
    """The lines for a macro, a type, a callback type or an inline function."""
    found = [command] if command else []
    found += ["@brief " + sentence(prose(contract.title, symbols)), ""]
    if with_parameters:
        for name, text in contract.parameters.items():
            found.append(f"@param {name} " + prose(" ".join(text), symbols))
    found += [""] + running(contract.text, symbols)
    for part, text in contract.parts.items():
        found += [f"@par {part}", prose(" ".join(text), symbols)]
    return found


def block(lines, original=""):
    """A comment of doxygen, of as many lines as the original has if it is shorter."""
    while lines and not lines[-1]:
        lines.pop()
    kept = [line for at, line in enumerate(lines) if line or (at > 0 and lines[at - 1])]
    text = "/** " + "\n".join(kept) + " */"
    missing = original.count("\n") - text.count("\n")
    return text[:-3] + "\n" * max(0, missing) + " */"


def number(name, what, kind):
    """The three functions for one kind of number in a buffer, with their comments."""
    forms = (
        ("get", f"Looks at {what}", f"const struct gyre_buffer *buffer, size_t offset, {kind} *ret_value"),
        ("read", f"Takes {what} off the front", f"struct gyre_buffer *buffer, {kind} *ret_value"),
        ("append", f"Puts {what} at the end", f"struct gyre_buffer *buffer, {kind} value"),
    )
    return " ".join(f"/** @brief {title}: as gyre_buffer_{verb}_number(). */ "
                    f"static inline int gyre_buffer_{verb}_{name}({parameters});"
                    for verb, title, parameters in forms)


class Header:
    """Collects what is to be changed in a header, and applies it."""

    def __init__(self, source, symbols):
        self.source, self.symbols = source, symbols
        self.edits = []
        self.group = "header-" + os.path.basename(source.path)[:-2]

    def replace(self, token, text):
        self.edits.append((token.start, token.end, text))

    def result(self):
        text = self.source.text
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text + "/** @} */\n"

    def convert(self):
        comments = [t for t in self.source.tokens if t.kind == "comment"]
        self._idea(comments[0])
        self._hide_private()
        of_macros = self._macros()
        done = set()
        for declaration in self.source.declarations:
            if declaration.doc is not None and declaration.doc.text.startswith("/**"):
                done.add(declaration.doc.start)
                self._declaration(declaration)
        for inline in self.source.functions:
            if inline.doc is not None and inline.doc.text.startswith("/**"):
                done.add(inline.doc.start)
                self.replace(inline.doc, block(self._inline(inline), inline.doc.text))
        for token in comments[1:]:
            if token.start not in done and token.text.startswith("/**"):
                contract = Contract(token.text)
                if contract.name in of_macros:
                    self.replace(token, block(other(contract, f"@def {contract.name}", True,
                                                    self.symbols), token.text))
                else:
                    self.replace(token, "/*" + token.text[3:])
        self._numbers()
        self._sections(comments[1:])
        return self.result()

    def _inline(self, inline):
        """The lines of an inline function; one that adds sizes to a call has the contract of it."""
        contract = Contract(inline.doc.text)
        if inline.name + SIZED not in [token.text for token in inline.body]:
            return other(contract, "", True, self.symbols)
        needless = needless_parts(Comment(inline.doc), words_before(inline.decl, inline.name))
        return function(contract, needless, self.symbols)

    def _idea(self, token):
        lines = running(lines_of(token.text), self.symbols)
        while lines and not lines[0]:
            lines.pop(0)
        head = ["@addtogroup " + self.group, *lines]
        self.replace(token, block(head, token.text).replace(" */", "\n@{ */"))

    def _hide_private(self):
        """Leaves out the macros that end in _, which are for other macros, with their comments."""
        pattern = r"^#define \w+_(?:\(| |$)(?:.*\\\n)*.*$"
        for match in re.finditer(pattern, self.source.text, re.MULTILINE):
            self.edits.append((match.start(), match.end(), "\n" * match.group().count("\n")))

    def _leave_out(self, declaration):
        """Leaves out a function that programs do not call by its name, with its comment."""
        start = declaration.doc.start
        end = self.source.text.index(";", declaration.tokens[-1].end) + 1
        self.edits.append((start, end, "\n" * self.source.text.count("\n", start, end)))

    def _macros(self):
        return {name for _, name, _ in self.source.macros() if not name.endswith("_")}

    def _declaration(self, declaration):
        contract = Contract(declaration.doc.text)
        words = declaration.words()
        if "GYRE_API" in words:
            name = csource.declarator(declaration.tokens)[0].text
            if name.endswith(SIZED):
                self._leave_out(declaration)
                return
            needless = needless_parts(Comment(declaration.doc), words[: words.index(name)])
            lines = function(contract, needless, self.symbols)
        elif words[0] in ("struct", "enum"):
            self._members(declaration, contract)
            lines = other(contract, "", False, self.symbols)
        else:
            lines = other(contract, "", True, self.symbols)
        self.replace(declaration.doc, block(lines, declaration.doc.text))

    def _members(self, declaration, contract):
        for name, first in statements(declaration):
            if name in contract.parameters:
                text = sentence(prose(" ".join(contract.parameters[name]), self.symbols))
                self.edits.append((first.start, first.start, f"/** {text} */ "))
        code = [t for t in declaration.body if t.kind != "comment"]
        for token in declaration.body:
            if token.kind == "comment":
                text = sentence(prose(" ".join(lines_of(token.text)), self.symbols))
                behind = any(t.line == token.line and t.start < token.start for t in code)
                self.replace(token, f"/**{'<' if behind else ''} {text} */")

    def _numbers(self):
        """The functions that GYRE_NUMBER_() and GYRE_NUMBER_BOTH_() define, by name."""
        pattern = r"^GYRE_NUMBER_(BOTH_)?\(([uif])(\d+), (\w+), .*\);$"
        for match in re.finditer(pattern, self.source.text, re.MULTILINE):
            both, sign, bits, kind = match.groups()
            orders = [("be", ", big-endian"), ("le", ", little-endian")] if both else [("", "")]
            what = {"u": "an unsigned", "i": "a signed", "f": "a floating-point"}[sign]
            text = " ".join(number(f"{sign}{bits}{end}", f"{what} number of {bits} bits{order}", kind)
                            for end, order in orders)
            self.edits.append((match.start(), match.end(), text))

    def _sections(self, comments):
        """Comments such as "---- reading ----" become headings, each up to the next."""
        opened = False
        for token in comments:
            match = HEADING.match(token.text)
            if match and "include" not in match.group(1):
                title = match.group(1)[:1].upper() + match.group(1)[1:]
                self.replace(token, ("/** @} */ " if opened else "") + f"/** @name {title} */ /** @{{ */")
                opened = True
        if opened:
            end = self.source.text.rindex("GYRE_END_DECLS")
            self.edits.append((end, end, "/** @} */ "))


def page(text, symbols):
    """A page in markdown: paragraphs get links, code and headings are left alone."""
    found, code = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            code = not code
            line = "```cpp" if line == "```cpp20" else line
        elif not code and not re.match(r"^(#|\\|@|\t|!\[)", line):
            pieces = re.split(r"(`[^`]*`|\[[^]]*\]\([^)]*\)|@ref \S+(?: \"[^\"]*\")?)", line)
            for at in range(0, len(pieces), 2):
                pieces[at] = WORD.sub(lambda m: m.group() if m["special"] or m["parameter"]
                                      else link(m, symbols), pieces[at])
            line = "".join(pieces)
        found.append(line)
    return "\n".join(found)


def contents(root):
    """The headings of gyre.h, each with pairs of a header's name and its title, in their order."""
    with open(os.path.join(root, UMBRELLA), encoding="utf-8") as file:
        text = file.read()
    found = []
    for piece in re.split(r"^(/\* ---- .+ ---- \*/)$", text, flags=re.MULTILINE)[1:]:
        heading = HEADING.match(piece)
        if heading:
            found.append((heading.group(1), []))
        else:
            found[-1][1].extend((name, title) for title, name in TITLED.findall(piece))
    for name, heading, title in APART:
        if os.path.exists(os.path.join(root, FOLDER, name + ".h")):
            if found[-1][0] != heading:
                found.append((heading, []))
            found[-1][1].append((name, title))
    return found


def groups(root):
    """The modules of the reference, as doxygen reads them: the headings, and below each its headers."""
    found = []
    titled = {name for _, headers in contents(root) for name, _ in headers}
    for path in csource.find(root, [FOLDER], (".h",)):
        name = os.path.basename(path)[:-2]
        if path != UMBRELLA and name not in titled:
            raise ValueError(f"{path}: {name}.h has no title in {UMBRELLA}")
    for heading, headers in contents(root):
        label = "part-" + heading.lower().replace(" ", "-")
        found += [f"/** @defgroup {label} {heading} */"]
        found += [f"/** @defgroup header-{name} {name}.h: {title}\n * @ingroup {label} */"
                  for name, title in headers]
    return "\n".join(found) + "\n"


def convert(root, path, symbols):
    """The file @path, relative to @root, as doxygen is to read it."""
    if path.endswith(".h"):
        return Header(csource.load(root, path), symbols).convert()
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return page(file.read(), symbols)


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    root = csource.default_root()
    symbols = Symbols(root)
    for path in arguments:
        sys.stdout.write(convert(root, os.path.relpath(os.path.abspath(path), root), symbols))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
