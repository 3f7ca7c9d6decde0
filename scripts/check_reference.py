#!/usr/bin/env python3
"""Reference: every public name has its entry with its whole contract, and every link leads somewhere.

usage: check_reference.py ROOT FOLDER

FOLDER is what scripts/build_docs.py has made of the tree ROOT: html/, man3/ and man7/. Each symbol of
lib/gyre.map, and each macro, type, callback type and inline function of include/gyre/*.h, has an entry in
the HTML and a manual page; each member and enumerator has a text. The entry of an exported function has the five parts of its contract, each
under a heading of its own and none of them empty, and so has its manual page. Every href and src of the
HTML, of its menus and of its search leads to a file that is there, and to an anchor in it; a page that no
other page leads to is found too, and text of a manual page that troff would take for an order.
"""
import html.parser
import os
import re
import sys
import urllib.parse

import csource
import doc_filter
from check_docs import SIZED

PARTS = ["Returns", "Errors", "Ownership", "Context", "Since"]
MAN_PARTS = {"Returns": "RETURN VALUE"}
# The orders to troff that the manual pages need; any other was meant as text.
ORDERS = set(".TH .SH .SS .PP .TP .HP .IP .RS .RE .RI .nf .fi .br .sp .ad .nh .in .ti .so".split())
ESCAPE = re.compile(r"\\(?!f[A-Z]|[-&e\"]|\(\w\w)(.?.?)")
OUTSIDE = ("http:", "https:", "mailto:", "javascript:")
# What doxygen's own scripts refer to: ["name","url",...] in menus and trees, ['url', in the search.
URLS = re.compile(r"""["'](?:\.\./)?([\w.-]+\.html(?:#[\w.-]+)?)["']""")


class Page(html.parser.HTMLParser):
    """A page of HTML: its @links, @anchors, and @entries: name -> heading -> text.

    @untold has the line and the entry of each member or enumerator that has no text.
    """

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.entries, self.untold = [], set(), {}, []
        self._into = None  # what text belongs to: "title", "permalink", "heading", "part", "member"
        self._member = ""
        self._title = self._heading = ""
        self._entry = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        for key in ("href", "src"):
            if attributes.get(key):
                self.links.append((self.getpos()[0], attributes[key]))
        for key in ("id", "name"):
            if attributes.get(key):
                self.anchors.add(attributes[key])
        kind = attributes.get("class") or ""
        if tag == "h2" and kind == "memtitle":
            self._into, self._title = "title", ""
        elif tag == "span" and kind == "permalink":
            self._into = "permalink"
        elif tag == "td" and kind == "fielddoc":
            self._into, self._member = "member", ""
        elif tag == "dt":
            self._into, self._heading = "heading", ""
        elif tag == "dd" and self._entry is not None:
            self._into = "part"
            self._entry.setdefault(self._heading.strip(), "")

    def handle_endtag(self, tag):
        if tag == "span" and self._into == "permalink":
            self._into = "title"
        elif tag == "h2" and self._into == "title":
            self._into = None
            self._entry = self.entries.setdefault(re.sub(r"\(\)$", "", self._title.strip()), {})
        elif tag == "td" and self._into == "member":
            self._into = None
            if not self._member.strip():
                self.untold.append((self.getpos()[0], self._title.strip()))
        elif tag in ("dt", "dl"):
            self._into = None

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        if self._into == "title":
            self._title += data
        elif self._into == "heading":
            self._heading += data
        elif self._into == "member":
            self._member += data
        elif self._into == "part":
            self._entry[self._heading.strip()] += data.strip()


def public_names(root):
    """Name -> (path, line), three times: exported functions, enumerators, and all else that is public."""
    exported, enumerators, others = {}, {}, {}
    for path in csource.find(root, [os.path.join("include", "gyre")], (".h",)):
        source = csource.load(root, path)
        for line, name, _ in source.macros():
            if name.lower().startswith("gyre_") and not name.endswith(("_", "_H")):
                others[name] = (path, line)
        for function in source.functions:
            if not function.name.endswith("_"):
                others[function.name] = (path, function.line)
        for declaration in source.declarations:
            words = declaration.words()
            if "GYRE_API" in words:
                name = csource.declarator(declaration.tokens)[0].text.removesuffix(SIZED)
                exported[name] = (path, declaration.line)
                others.pop(name, None)  # the inline function that programs call
            elif words[0] in ("struct", "union", "enum") and declaration.body:
                others[words[1]] = (path, declaration.line)
                if words[0] == "enum":
                    for name, token in doc_filter.statements(declaration):
                        enumerators[name] = (path, token.line)
            elif words[0] == "typedef":
                name = re.search(r"\b(gyre_\w+_fn)\b", " ".join(words))
                if name:
                    others[name.group(1)] = (path, declaration.line)
    return exported, enumerators, others


def symbols_of_map(root):
    with open(os.path.join(root, "lib", "gyre.map"), encoding="utf-8") as file:
        names = re.findall(r"^\s*(gyre_\w+);", file.read(), re.MULTILINE)
    return {name.removesuffix(SIZED) for name in names}


def read_pages(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".html"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found[name] = Page(file.read())
    return found


def links_of(folder, pages):
    """Triples of the file, the line and the link, of pages and of what scripts refer to."""
    for name, page in pages.items():
        for line, link in page.links:
            yield name, line, link
    for where in ("", "search"):
        for name in sorted(os.listdir(os.path.join(folder, where))):
            if name.endswith(".js"):
                with open(os.path.join(folder, where, name), encoding="utf-8") as file:
                    for link in URLS.findall(file.read()):
                        yield os.path.join(where, name), 0, link


def check_links(folder, pages, problems):
    reached = {"index.html"}
    for name, line, link in links_of(folder, pages):
        target, _, anchor = urllib.parse.unquote(link).partition("#")
        where = os.path.join("html", name)
        if target.startswith(OUTSIDE):
            continue
        target = target or name
        if target != name:
            reached.add(target)
        if not os.path.isfile(os.path.join(folder, target)):
            problems.append((where, line, f"a link leads to {link}, and {target} is not there"))
        elif anchor and target in pages and anchor not in pages[target].anchors:
            problems.append((where, line, f"a link leads to {link}, and {target} has no such anchor"))
    for name in pages.keys() - reached:
        problems.append((os.path.join("html", name), 0, "no page leads here"))


def check_html(pages, exported, others, problems):
    entries = {}
    for file_name, page in pages.items():
        for name, parts in page.entries.items():
            entries.setdefault(name, parts)
        for line, name in page.untold:
            problems.append((os.path.join("html", file_name), line, f"a member of {name} has no text"))
    for name, (path, line) in {**others, **exported}.items():
        if name not in entries:
            problems.append((path, line, f"{name} has no entry in the HTML"))
        elif name in exported:
            for part in PARTS:
                if not entries[name].get(part):
                    problems.append((path, line, f"the entry of {name}() has no {part} in the HTML"))


def sections_of_man(path):
    with open(path, encoding="utf-8") as file:
        pieces = re.split(r"^\.SH (.*)$", file.read(), flags=re.MULTILINE)
    return {title.strip('"'): text.strip() for title, text in zip(pieces[1::2], pieces[2::2])}


def check_enumerators(folder, enumerators, problems):
    """Doxygen leaves out those without a text, and so do the manual pages."""
    for name, (path, line) in enumerators.items():
        if not os.path.isfile(os.path.join(folder, "man3", name + ".3")):
            problems.append((path, line, f"{name} has no manual page: it has no text"))


def check_man(folder, exported, others, problems):
    for name, (path, line) in {**others, **exported}.items():
        page = os.path.join(folder, "man3", name + ".3")
        if not os.path.isfile(page):
            problems.append((path, line, f"{name} has no manual page"))
            continue
        sections = sections_of_man(page)
        if not sections.get("NAME", "").partition(" \\- ")[2]:
            problems.append((path, line, f"the manual page of {name} has no title"))
        if name in exported:
            for part in PARTS:
                if not sections.get(MAN_PARTS.get(part, part.upper())):
                    problems.append((path, line, f"the manual page of {name} has no {part}"))
    for where in ("man3", "man7"):
        for name in sorted(os.listdir(os.path.join(folder, where))):
            check_troff(folder, os.path.join(where, name), problems)


def check_troff(folder, path, problems):
    """Orders and escapes are those that we know, and .so leads to a page."""
    with open(os.path.join(folder, path), encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            words = text.split()
            if text.startswith((".", "'")) and words[0] not in ORDERS:
                problems.append((path, line, f"{words[0]} is no order to troff"))
            elif words[:1] == [".so"] and not os.path.isfile(os.path.join(folder, words[1])):
                problems.append((path, line, f"{words[1]} is not there"))
            for match in ESCAPE.finditer(text):
                problems.append((path, line, f"{match.group()} is no escape of troff"))


def main(arguments):
    if len(arguments) != 2:
        print("usage: check_reference.py ROOT FOLDER", file=sys.stderr)
        return 2
    root, folder = arguments
    problems = []
    exported, enumerators, others = public_names(root)
    for name in symbols_of_map(root) - exported.keys():
        problems.append((os.path.join("lib", "gyre.map"), 0, f"{name} is in no header"))
    pages = read_pages(os.path.join(folder, "html"))
    check_html(pages, exported, others, problems)
    check_man(folder, exported, others, problems)
    check_enumerators(folder, enumerators, problems)
    check_links(os.path.join(folder, "html"), pages, problems)
    return csource.report("reference", problems,
                          f"{len(exported)} functions, {len(others)} other names and {len(pages)} pages")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
