#!/usr/bin/env python3
"""C source for the checks: tokens, includes, functions and declarations.

The checks must not be fooled by what stands in a comment or a string, and must not need a compiler.
So this module splits a file into tokens, keeps what belongs to preprocessor lines apart, and then
finds functions, prototypes, typedefs and types by following the braces. It knows as much of C as
gyre's style allows, and no more. It is a module; run by itself it lists the functions of the files
it is given, which helps when a check says something unexpected.
"""
import os
import re
import sys

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//(?:\\\n|[^\n])*)
      | (?P<string>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*")
      | (?P<char>[LuU]?'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<ident>[A-Za-z_]\w*)
      | (?P<splice>\\\n)
      | (?P<newline>\n)
      | (?P<space>[^\S\n]+)
      | (?P<punct>->|\+\+|--|<<=|>>=|<<|>>|\.\.\.|&&|\|\||[-+*/%&|^!=<>]=|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Public headers of libgyre-sim, in include/gyre, which servers do not link with.
SIMULATOR_HEADERS = ("sim.h", "tap.h", "test.h", "test_channel.h")
HEADER = re.compile(r"[^\S\n]*(<[^>\n]*>|\"[^\"\n]*\")")

# Macros that stand alone at file level, without a semicolon.
LONE_MACROS = {"GYRE_BEGIN_DECLS", "GYRE_END_DECLS"}
ATTRIBUTES = {"__attribute__", "__asm__", "asm", "_Alignas", "__declspec", "typeof", "__typeof__"}
CONTROL = {"if", "for", "while", "switch"}


class Token:
    """A piece of text: @kind, @text, @line of its start, and @pp when it is part of a directive."""

    __slots__ = ("kind", "text", "line", "pp", "start", "end")

    def __init__(self, kind, text, line, pp, start):
        self.kind = kind
        self.text = text
        self.line = line
        self.pp = pp
        self.start = start
        self.end = start + len(text)

    def __repr__(self):
        return f"{self.line}:{self.kind}:{self.text!r}"


class Function:
    """A function definition. @level is its deepest brace, the body's own being 1."""

    def __init__(self, name, line, parameters, decl, doc):
        self.name = name
        self.line = line
        self.parameters = parameters
        self.decl = decl
        self.doc = doc
        self.end_line = line
        self.level = 1
        self.level_line = line
        self.body = []


class Declaration:
    """What ends in a semicolon at file level: @tokens, @doc (the comment before it, or None)."""

    def __init__(self, tokens, doc, body):
        self.tokens = tokens
        self.doc = doc
        self.body = body

    @property
    def line(self):
        return self.tokens[0].line

    def words(self):
        return [t.text for t in self.tokens]


class Source:
    """One file. @path is shown in messages; structure is worked out when first asked for."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.tokens = tokenize(text)
        self._functions = None
        self._declarations = None

    @property
    def code(self):
        """Tokens that are neither comments nor parts of directives."""
        return [t for t in self.tokens if t.kind != "comment" and not t.pp]

    @property
    def functions(self):
        self._parse()
        return self._functions

    @property
    def declarations(self):
        self._parse()
        return self._declarations

    def includes(self):
        """Pairs of line and what is included, with its quotes or angle brackets."""
        return [(t.line, t.text) for t in self.tokens if t.kind == "header"]

    def macros(self):
        """Triples of line, name and whether it takes parameters, of every #define."""
        found = []
        for i, token in enumerate(self.tokens):
            if token.kind == "directive" and token.text == "define" and i + 1 < len(self.tokens):
                name = self.tokens[i + 1]
                called = self.text[name.end : name.end + 1] == "("
                found.append((name.line, name.text, called))
        return found

    def _parse(self):
        if self._functions is None:
            walker = Walker(self.tokens)
            walker.run()
            self._functions = walker.functions
            self._declarations = walker.declarations


def tokenize(text):
    tokens = []
    line = 1
    at = 0
    fresh = True  # nothing but space and comments on this line so far
    pp = False  # inside a directive
    while at < len(text):
        match = TOKEN.match(text, at)
        kind = match.lastgroup
        piece = match.group()
        if kind == "newline":
            fresh, pp = True, False
        elif kind == "comment":
            tokens.append(Token(kind, piece, line, pp, at))
        elif kind == "punct" and piece == "#" and fresh and not pp:
            pp = True
            name = re.compile(r"[^\S\n]*([A-Za-z_]*)").match(text, at + 1)
            tokens.append(Token("directive", name.group(1), line, True, at))
            piece = text[at : name.end()]
            if name.group(1) in ("include", "include_next", "import"):
                header = HEADER.match(text, name.end())
                if header:
                    tokens.append(Token("header", header.group(1), line, True, header.start(1)))
                    piece = text[at : header.end()]
        elif kind not in ("space", "splice"):
            tokens.append(Token(kind, piece, line, pp, at))
            fresh = False
        line += piece.count("\n")
        at += len(piece)
    return tokens


class Walker:
    """Follows the braces of a file. Every branch of an #if starts from the state at the #if."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.functions = []
        self.declarations = []
        self.braces = []  # the kind of each open brace: fn, block, init, type, extern
        self.parens = []  # for each open parenthesis, the token before it
        self.decl = []  # tokens of the declaration at file level so far, bodies left out
        self.body = []  # tokens of the type body inside it
        self.doc = None  # a comment with nothing between it and what follows
        self.decl_doc = None
        self.function = None
        self.closed = None  # the token before the parenthesis that was closed last
        self.previous = None  # the token before this one
        self.saved = []  # the state at each open #if

    def run(self):
        for token in self.tokens:
            if token.kind == "directive":
                self._directive(token)
            elif token.pp:
                continue
            elif token.kind == "comment":
                self._comment(token)
            else:
                self._code(token)
                self.previous = token

    def _state(self):
        return (list(self.braces), list(self.parens), list(self.decl), self.function)

    def _directive(self, token):
        if not self.decl:
            self.doc = None
        if token.text in ("if", "ifdef", "ifndef"):
            self.saved.append(self._state())
        elif token.text in ("else", "elif") and self.saved:
            braces, parens, decl, function = self.saved[-1]
            self.braces, self.parens = list(braces), list(parens)
            self.decl, self.function = list(decl), function
        elif token.text == "endif" and self.saved:
            self.saved.pop()

    def _comment(self, token):
        if self.function is not None or "type" in self.braces:
            (self.body if self.function is None else self.function.body).append(token)
        elif not self.decl:
            self.doc = token

    def _code(self, token):
        text = token.text
        if self._at_file_level():
            if not self.decl and text in LONE_MACROS:
                self.doc = None
                return
            if not self.decl:
                self.decl_doc, self.doc = self.doc, None
            if text == ";" and not self.parens:
                self._end_declaration()
                return
        if text == "(":
            self.parens.append(self.previous)
        elif text == ")" and self.parens:
            self.closed = self.parens.pop()
        if text == "{":
            self._open(token)
        elif text == "}":
            self._close(token)
        elif self._at_file_level():
            self.decl.append(token)
        elif self.function is not None:
            self.function.body.append(token)
        elif "type" in self.braces:
            self.body.append(token)

    def _at_file_level(self):
        return all(kind == "extern" for kind in self.braces)

    def _open(self, token):
        if self._at_file_level():
            kind = self._file_brace()
            if kind == "fn":
                self._begin_function()
            elif kind == "extern":
                self.decl = []
        else:
            kind = self._inner_brace()
            if self.function is not None:
                self.function.body.append(token)
            elif "type" in self.braces:
                self.body.append(token)
        self.braces.append(kind)
        if self.function is not None and kind in ("fn", "block"):
            level = sum(1 for k in self.braces if k in ("fn", "block"))
            if level > self.function.level:
                self.function.level = level
                self.function.level_line = token.line

    def _close(self, token):
        if not self.braces:
            return
        kind = self.braces.pop()
        if kind == "fn" and self.function is not None:
            self.function.end_line = token.line
            self.functions.append(self.function)
            self.function = None
            self.decl, self.body, self.doc = [], [], None
        elif self.function is not None:
            self.function.body.append(token)
        elif "type" in self.braces:
            self.body.append(token)

    def _file_brace(self):
        depth = 0
        texts = [t.text for t in self.decl]
        for token in self.decl:
            if token.text == "(":
                depth += 1
            elif token.text == ")":
                depth -= 1
            elif token.text == "=" and depth == 0:
                return "init"
        if texts[:1] == ["extern"] and len(texts) == 2 and self.decl[1].kind == "string":
            return "extern"
        found = declarator(self.decl)
        if found is None or texts[0] == "typedef":
            return "type"
        if texts[0] in ("struct", "union", "enum") and found[0].text.isupper():
            return "type"  # struct name MACRO(n) {
        return "fn"

    def _inner_brace(self):
        """Tells a block of statements from an initialiser, a compound literal and a type."""
        previous = self.previous
        if previous.text == "(":
            return "block"  # a statement expression
        if self.braces[-1] in ("init", "type"):
            return self.braces[-1]
        if previous.text == ")":
            before = self.closed
            if before is not None and (before.text in CONTROL or before.kind == "ident"):
                return "init" if before.text in ("sizeof", "return", "_Alignof") else "block"
            return "init"
        if previous.text in ("else", "do", "{", "}", ";", ":"):
            return "block"
        if previous.kind == "ident" and previous.text not in ("struct", "union", "enum", "return"):
            return "type"
        return "type" if previous.text in ("struct", "union", "enum") else "init"

    def _begin_function(self):
        name, parameters = declarator(self.decl)
        first = self.decl[0]
        self.function = Function(name.text, first.line, parameters, list(self.decl), self.decl_doc)
        self.decl = []

    def _end_declaration(self):
        if self.decl:
            self.declarations.append(Declaration(self.decl, self.decl_doc, self.body))
        self.decl, self.body, self.doc = [], [], None


def declarator(tokens):
    """The name token and the parameters of a function's declaration, or None if it is none.

    Attributes and macros in capitals may stand on either side, with parentheses of their own; a
    test's name is in its arguments, so for Test(...) it is the macro itself.
    """
    groups = []
    depth = 0
    for i, token in enumerate(tokens):
        if token.text == "(":
            if depth == 0 and i > 0 and tokens[i - 1].kind == "ident":
                groups.append((tokens[i - 1], i))
            depth += 1
        elif token.text == ")":
            depth -= 1
        elif token.text == "=" and depth == 0:
            return None
    groups = [g for g in groups if g[0].text not in ATTRIBUTES]
    named = [g for g in groups if not g[0].text.isupper()]
    if not groups:
        return None
    name, at = (named or groups)[-1]
    return name, split_arguments(tokens, at)


def split_arguments(tokens, at):
    """The comma-separated groups of tokens inside the parenthesis at index @at."""
    inside, depth = [], 0
    for token in tokens[at:]:
        if token.text == "(":
            depth += 1
            if depth == 1:
                continue
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                break
        inside.append(token)
    groups = split_commas(inside)
    return [] if [[t.text for t in g] for g in groups] == [["void"]] else groups


def split_commas(tokens):
    """The groups of tokens between the commas that stand in no bracket."""
    groups, current, depth = [], [], 0
    for token in tokens:
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
        if token.text == "," and depth == 0:
            groups.append(current)
            current = []
        else:
            current.append(token)
    return groups + [current] if current else groups


def parameter_name(tokens):
    """The name of one parameter or member; "..." for the variadic end; None when it has none."""
    if [t.text for t in tokens] == ["..."]:
        return "..."
    for i, token in enumerate(tokens[:-3]):  # int (*name)(void)
        if token.text == "(" and tokens[i + 1].text == "*" and tokens[i + 2].kind == "ident":
            return tokens[i + 2].text
    plain = []
    depth = 0
    for token in tokens:
        if token.text in ("[", "("):
            depth += 1
        elif token.text in ("]", ")"):
            depth -= 1
        elif token.text == ":" and depth == 0:
            break
        elif depth == 0 and token.text != "__attribute__":
            plain.append(token)
    idents = [t for t in plain if t.kind == "ident"]
    types = {"const", "volatile", "restrict", "void", "int", "char", "long", "short", "unsigned",
             "signed", "float", "double", "bool", "_Bool"}
    if len(idents) < 2 or idents[-1].text in types or plain[-1].kind != "ident":
        return None
    if idents[-2].text in ("struct", "enum", "union"):
        return None
    return idents[-1].text


def calls(source, with_macros=True):
    """Every name that is followed by a parenthesis and not reached through . or ->."""
    tokens = [t for t in source.tokens if t.kind != "comment" and (with_macros or not t.pp)]
    for i, token in enumerate(tokens[:-1]):
        if token.kind == "ident" and tokens[i + 1].text == "(":
            if i == 0 or tokens[i - 1].text not in (".", "->"):
                yield token


def find(root, folders, endings=(".c", ".h")):
    """The files below @folders of the tree @root, sorted, as paths relative to it."""
    found = []
    for folder in folders:
        for where, below, names in os.walk(os.path.join(root, folder)):
            below[:] = sorted(d for d in below if not d.startswith((".", "build", "__pycache__")))
            for name in names:
                if name.endswith(tuple(endings)):
                    found.append(os.path.relpath(os.path.join(where, name), root))
    return sorted(found)


def load(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return Source(path, file.read())


def default_root():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def root_of(arguments):
    """The tree to check: the first argument, or the one that this script stands in."""
    return os.path.abspath(arguments[0]) if arguments else default_root()


def report(name, problems, looked_at):
    """Prints what was found, a line each, and returns the exit status."""
    for path, line, text in sorted(set(problems)):
        print(f"{path}:{line}: {text}" if line else f"{path}: {text}")
    if problems:
        print(f"{name}: {len(set(problems))} to mend")
        return 1
    print(f"{name}: {looked_at} looked at, nothing to mend")
    return 0


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        for function in load(".", argument).functions:
            lines = function.end_line - function.line + 1
            print(f"{argument}:{function.line}: {function.name}: {lines} lines, "
                  f"{len(function.parameters)} parameters, {function.level} levels")
