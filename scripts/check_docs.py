#!/usr/bin/env python3
"""Documentation: every public name carries its whole contract, beside its prototype.

usage: check_docs.py [ROOT]

In include/gyre/*.h a function marked GYRE_API has a kernel-doc comment: a title of one line, each
parameter by its name in the prototype, and the parts Return:, Errors:, Ownership:, Context:, Since:.
Return: is left out where the function returns nothing, and Errors: where nothing can fail: what it
returns is no signed integer, and no pointer that Return: calls NULL. A callback type ends in _fn and says in
which phase it runs, whether it is re-entered, and which call is the last. Structs, unions, enums,
inline functions, variables and macros with parameters have a title, and the members of a struct are
explained. Behind each star of a comment stands a space or a tab. Each file of lib/ and include/ opens with a comment that tells its idea. SECURITY.md, which tells
what to set, names in backquotes only what the public headers have. CONTRIBUTING.md, which tells where things
are, names files that there are, up to its list of old names, and functions that stand in the files before them.

A function whose name ends in _sized is called by an inline function of the name without it, which adds
the sizes of the program's structures: that one carries the contract, the other only a title.
"""
import os
import re
import sys

import csource

PARTS = ["Return", "Errors", "Ownership", "Context", "Since"]
PART = re.compile(r"^(Return|Returns|Errors|Ownership|Context|Since):\s*(.*)$")
PARAMETER = re.compile(r"^@([A-Za-z_]\w*|\.\.\.):\s*(.*)$")
TITLE = re.compile(r"^(?:(?:struct|union|enum|typedef)\s+)?(\w+)(\(\))?\s+-\s+(\S.*)$")
# An errno; NULL, of what returns a pointer; what another function has; or none, and why.
ERRORS = re.compile(r"-E[A-Z0-9]+|^NULL\b|^as gyre_\w+\(\)|^none\b", re.IGNORECASE)
CONTEXTS = ("any thread", "loop thread", "setup", "signal handler")
SIGNED = ("int", "int64_t", "ssize_t")
NOTHING = re.compile(r"^(?:none|nothing)\.?$", re.IGNORECASE)
BROKEN = re.compile(r"^ \*[^\s*/]")
IDEA_CHARACTERS = 40
SIZED = "_sized"


class Comment:
    """A kernel-doc comment, taken apart: @name, @title, @parameters, @parts, @text."""

    def __init__(self, token):
        body = token.text[3:-2] if token.text.endswith("*/") else token.text[3:]
        lines = [re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in body.split("\n")]
        self.lines = [line.strip() if i == 0 else line for i, line in enumerate(lines)]
        while self.lines and not self.lines[0].strip():
            self.lines.pop(0)
        self.text = "\n".join(self.lines)
        self.name = self.title = None
        match = TITLE.match(self.lines[0].strip()) if self.lines else None
        if match:
            self.name, self.title = match.group(1), match.group(3)
        self.parameters, self.parts = {}, {}
        self._read()

    def _read(self):
        into = None
        for line in self.lines[1:]:
            parameter, part = PARAMETER.match(line), PART.match(line)
            if parameter:
                into = (self.parameters, parameter.group(1))
                self.parameters[parameter.group(1)] = parameter.group(2)
            elif part:
                into = (self.parts, part.group(1))
                self.parts[part.group(1)] = part.group(2)
            elif not line.strip():
                into = None
            elif into:
                into[0][into[1]] += "\n" + line.strip()

    def title_is_one_line(self):
        following = self.lines[1].strip() if len(self.lines) > 1 else ""
        return not following or following.startswith("@") or bool(PART.match(following))


def comment_of(token):
    return Comment(token) if token is not None and token.text.startswith("/**") else None


def check_title(comment, name, what):
    if comment is None:
        return [f"{what} has no kernel-doc comment (/** ... */) right before it"]
    if comment.title is None:
        return [f'{what} needs a first line like "{name}() - what it does"']
    if comment.name != name:
        return [f"the comment before {what} is about {comment.name}"]
    if not comment.title_is_one_line():
        return [f"the title of {what} is longer than one line"]
    return []


def check_parameters(comment, parameters, what):
    names = [csource.parameter_name(p) for p in parameters]
    found = []
    for at, name in enumerate(names, 1):
        if name is None:
            found.append(f"parameter {at} of {what} has no name")
        elif name not in comment.parameters:
            if name != "..." or "@..." not in comment.text:
                found.append(f"@{name} of {what} is not explained")
        elif not comment.parameters[name].strip():
            found.append(f"@{name} of {what} is explained by nothing")
    for name in comment.parameters:
        if name not in names:
            found.append(f"@{name} is explained but is no parameter of {what}")
    return found


def needless_parts(comment, returned):
    """The parts that say nothing of a function whose prototype returns @returned, as words."""
    parts = set()
    if "void" in returned and "*" not in returned:
        parts.add("Return")
    if "*" in returned:
        fails = re.search(r"\bNULL\b", comment.parts.get("Return", ""))
    else:
        fails = any(word in SIGNED for word in returned)
    if not fails:
        parts.add("Errors")
    return parts


def check_parts(comment, returned, what):
    found = []
    needless = needless_parts(comment, returned)
    for part in PARTS:
        content = comment.parts.get(part)
        if content is None:
            if part not in needless:
                found.append(f"{what} has no {part}:")
        elif not content.strip():
            found.append(f"{part}: of {what} is empty")
        elif part in needless and NOTHING.match(content.strip()):
            found.append(f"{part}: of {what} says nothing: leave it out")
    errors = comment.parts.get("Errors", "").strip()
    if errors and not ERRORS.search(errors):
        found.append(f'Errors: of {what} names no errno (and is not "none")')
    context = comment.parts.get("Context", "").strip().lower()
    if context and not context.startswith(CONTEXTS):
        found.append(f"Context: of {what} must begin with one of: " + ", ".join(CONTEXTS))
    since = comment.parts.get("Since", "").strip()
    if since and not re.match(r"^\d+\.\d+", since):
        found.append(f"Since: of {what} is no version")
    return found


def words_before(tokens, name):
    """What stands in a prototype before its @name: what it returns, with its attributes."""
    before = []
    for token in tokens:
        if token.text == name:
            break
        before.append(token.text)
    return before


def check_function(declaration):
    name, parameters = csource.declarator(declaration.tokens)
    what = f"{name.text}()"
    comment = comment_of(declaration.doc)
    if name.text.endswith(SIZED):
        return check_title(comment, name.text, what)
    found = check_title(comment, name.text, what)
    if comment is not None:
        found += check_parameters(comment, parameters, what)
        found += check_parts(comment, words_before(declaration.tokens, name.text), what)
    return found


def check_inline(function):
    """An inline function that calls the one of its name with _sized has the contract of both."""
    what = f"{function.name}()"
    comment = comment_of(function.doc)
    found = check_title(comment, function.name, what)
    if comment is not None and function.name + SIZED in [t.text for t in function.body]:
        found += check_parameters(comment, function.parameters, what)
        found += check_parts(comment, words_before(function.decl, function.name), what)
    return found


def check_sized(source):
    """Functions of a header with _sized that no inline function calls: pairs of line and problem."""
    inline = {function.name + SIZED for function in source.functions}
    for declaration in source.declarations:
        declared = csource.declarator(declaration.tokens)
        if declared and declared[0].text.endswith(SIZED) and declared[0].text not in inline:
            yield declaration.line, f"{declared[0].text}() has no inline function that calls it"


def typedef_callback(tokens):
    """Name and parameters of a typedef of a function or function pointer, or None."""
    texts = [t.text for t in tokens]
    for i in range(len(texts) - 3):
        if texts[i] == "(" and texts[i + 1] == "*" and texts[i + 3 : i + 5] == [")", "("]:
            return tokens[i + 2].text, csource.split_arguments(tokens, i + 4)
    found = csource.declarator(tokens)
    return (found[0].text, found[1]) if found else None


def check_callback(declaration, name, parameters):
    what = f"callback type {name}"
    comment = comment_of(declaration.doc)
    found = check_title(comment, name, what)
    if not name.endswith("_fn"):
        found.append(f"{what} must end in _fn")
    if comment is not None:
        found += check_parameters(comment, parameters, what)
        text = comment.text.lower()
        for pattern, missing in (
            (r"\bphases?\b", "in which phase it runs"),
            (r"\bre-?ent", "whether it is re-entered"),
            (r"\blast\b", "which call is the last"),
        ):
            if not re.search(pattern, text):
                found.append(f"{what} does not say {missing}")
    return found


def members(body):
    """Pairs of a member's name and whether a comment stands before it or behind it."""
    found, current, depth = [], [], 0
    before, ended = False, 0  # a comment was just seen; the line of the last semicolon
    for token in body:
        if token.kind == "comment":
            if not current and token.line == ended:
                found[-1][1] = True
            elif not current:
                before = True
            continue
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth > 0 or token.text == "}":
            continue
        if token.text == ";":
            found.append([member_names(current), before])
            current, before, ended = [], False, token.line
        else:
            current.append(token)
    return [(name, explained) for names, explained in found for name in names]


def member_names(tokens):
    """The names that one line of a struct declares: "int a, b;" has two, an unnamed union none."""
    groups = csource.split_commas(tokens)
    first = csource.parameter_name(groups[0]) if groups else None
    others = [csource.parameter_name(groups[0][:1] + group) for group in groups[1:]]
    return [name for name in [first] + others if name is not None]


def check_type(declaration):
    words = declaration.words()
    kind, name = words[0], words[1]
    if not re.match(r"\w+$", name):
        return []
    what = f"{kind} {name}"
    comment = comment_of(declaration.doc)
    found = check_title(comment, name, what)
    if comment is None or kind == "enum":
        return found
    body = [t for t in declaration.body]
    names = members(body)
    for member, beside in names:
        if not beside and not comment.parameters.get(member, "").strip():
            found.append(f"member {member} of {what} is not explained")
    for member in comment.parameters:
        if member not in [n for n, _ in names]:
            found.append(f"@{member} is explained but is no member of {what}")
    return found


def check_declaration(declaration):
    words = declaration.words()
    if words[0] == "_Static_assert":
        return []
    if words[0] == "typedef":
        if words[1] in ("struct", "union", "enum") and "(" not in words:
            return ["structs, unions and enums are not typedef'd"]
        callback = typedef_callback(declaration.tokens)
        if callback:
            return check_callback(declaration, *callback)
        return check_title(comment_of(declaration.doc), words[-1], f"typedef {words[-1]}")
    if "GYRE_API" in words:
        if csource.declarator(declaration.tokens):
            return check_function(declaration)
        name = variable_name(declaration.tokens)
        found = check_title(comment_of(declaration.doc), name, f"variable {name}")
        if not found and "Since" not in comment_of(declaration.doc).parts:
            found.append(f"variable {name} has no Since:")
        return found
    if words[0] in ("struct", "union", "enum") and declaration.body:
        return check_type(declaration)
    declared = csource.declarator(declaration.tokens)
    if declared and not declared[0].text.isupper():  # GYRE_MESSAGE(...); declares nothing public
        return [f"{declared[0].text}() is not marked GYRE_API"]
    return []


def variable_name(tokens):
    plain = []
    for token in tokens:
        if token.text in ("[", "="):
            break
        plain.append(token)
    return plain[-1].text


def check_stars(source, problems):
    """Finds lines that clang-format has broken in the middle of a comment."""
    for token in source.tokens:
        if token.kind == "comment":
            for at, line in enumerate(token.text.split("\n")):
                if BROKEN.match(line):
                    problems.append((source.path, token.line + at, "no space behind the star"))


def check_header(source, problems):
    check_stars(source, problems)
    for declaration in source.declarations:
        for text in check_declaration(declaration):
            problems.append((source.path, declaration.line, text))
    for function in source.functions:
        for text in check_inline(function):
            problems.append((source.path, function.line, text))
    for line, text in check_sized(source):
        problems.append((source.path, line, text))
    titles = [Comment(t) for t in source.tokens if t.kind == "comment" and t.text[:3] == "/**"]
    known = {comment.name for comment in titles}
    for line, name, called in source.macros():
        if called and name.upper().startswith("GYRE_") and not name.endswith("_"):
            if name not in known:
                problems.append((source.path, line, f"macro {name}() has no kernel-doc comment"))


def check_idea(source, problems):
    first = source.tokens[0] if source.tokens else None
    if first is None or first.kind != "comment":
        problems.append((source.path, 1, "does not open with a comment that tells its idea"))
    elif len(re.sub(r"[\s*/]+", " ", first.text)) < IDEA_CHARACTERS:
        problems.append((source.path, 1, "opens with a comment too short to tell its idea"))


def check_security(root, headers, problems):
    """Looks for each name that SECURITY.md tells to set, or to call, in the public headers."""
    path = "SECURITY.md"
    if not os.path.exists(os.path.join(root, path)):
        return
    known = set()
    for header in headers:
        with open(os.path.join(root, header), encoding="utf-8") as file:
            known.update(re.findall(r"\w+", file.read()))
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            for name in re.findall(r"`([a-z]\w*)(?:\(\))?`", text):
                if name not in known:
                    problems.append((path, line, f"{name} is in no public header"))


def check_answers(root, problems):
    """Looks for the files that CONTRIBUTING.md names, and in them for `file` (`function`)."""
    path = "CONTRIBUTING.md"
    if not os.path.exists(os.path.join(root, path)):
        return
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().partition("\n## Old names")[0].split("\n")
    for line, text in enumerate(lines, 1):
        for name, function in re.findall(
                r"`((?:lib|test|scripts|apps|perf|include)/[\w./-]+)`(?: \(`(\w+)`\))?", text):
            whole = os.path.join(root, name)
            if not os.path.exists(whole):
                problems.append((path, line, f"there is no {name}"))
            elif function and not re.search(rf"\b{function}\(", csource.load(root, name).text):
                problems.append((path, line, f"{name} has no {function}()"))


def main(arguments):
    root = csource.root_of(arguments)
    problems = []
    headers = csource.find(root, [os.path.join("include", "gyre")], (".h",))
    for path in headers:
        check_header(csource.load(root, path), problems)
    check_security(root, headers, problems)
    check_answers(root, problems)
    files = csource.find(root, ["include", "lib"])
    for path in files:
        check_idea(csource.load(root, path), problems)
    return csource.report("docs", problems, f"{len(headers)} headers and {len(files)} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
