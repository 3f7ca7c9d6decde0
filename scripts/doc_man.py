#!/usr/bin/env python3
"""Makes a manual page of each function, macro and type, out of doxygen's pages for whole headers.

usage: doc_man.py FROM TO VERSION

Doxygen writes a page for a header, with a link to it for each name. Readers ask for a name: so each
entry of such a page becomes a page of its own, with the parts of a contract as sections, and the page
of the header (gyre_timer.h) keeps its idea and the list of its names. The constants of an enum are links
to its page. The pages of concepts come into section 7.
"""
import os
import re
import sys

# The sections of doxygen's page for a group that hold an entry behind each .SS.
ENTRIES = ("Macro Definition Documentation", "Typedef Documentation", "Enumeration Type Documentation",
           "Function Documentation")
PART = re.compile(r"^\\fB([A-Z][A-Za-z ]+?):?\\fP$")
TITLES = {"Returns": "RETURN VALUE", "Data Fields": "MEMBERS", "Enumerator": "CONSTANTS"}
HEADER = "header-"
CONCEPT = "gyre-"


def plain(text):
    """A line without changes of font and escapes."""
    return re.sub(r"\\f[A-Z]|\\&", "", text).strip().strip('"')


def entries(lines):
    """Pairs of a prototype and its lines, of a page for a header."""
    found, current, inside = [], None, False
    for line in lines:
        if line.startswith(".SH "):
            title = plain(line[4:])
            is_type = re.match(r"(struct|union) \w+$", title)
            inside = title in ENTRIES
            if title != "Field Documentation":
                current = [] if is_type else None
                if is_type:
                    found.append((title, current))
        elif line.startswith(".SS ") and inside:
            current = []
            found.append((plain(line[4:]), current))
        elif current is not None:
            current.append(line)
    return found


def name_of(prototype):
    """The name that a prototype declares."""
    for pattern in (r"#define (\w+)", r"(?:struct|union|enum) (\w+)$", r".*\(\s*\*\s*(\w+)\s*\)",
                    r"[^(]*?(\w+)\s*\("):
        match = re.match(pattern, prototype)
        if match:
            return match.group(1)
    raise ValueError(f"no name in {prototype}")


def sections(lines):
    """Pairs of a section's title and its lines; the first, DESCRIPTION, is what belongs to no part."""
    found = [("DESCRIPTION", [])]
    at = 0
    while at < len(lines):
        match = PART.match(lines[at])
        opens = lines[at + 1] if at + 1 < len(lines) else ""
        if match and opens.startswith((".RS 4", ".in +1c")):
            title = match.group(1)
            found.append((TITLES.get(title, title.upper()), []))
            at += 2
            while at < len(lines) and lines[at] != ".RE":
                found[-1][1].append(lines[at])
                at += 1
            found.append(("DESCRIPTION", []))
        else:
            found[-1][1].append(lines[at])
        at += 1
    return found


def tidy(title, lines):
    """The lines of one section: what doxygen puts into lists of its own becomes tagged paragraphs."""
    found = []
    for line in lines:
        tag = re.match(r"^(.*?)\\fI([\w.\\&\[\]]+)\\fP (.*)$", line)
        if title in ("PARAMETERS", "MEMBERS") and tag:
            found += [".TP", f"{tag.group(1)}\\fI{tag.group(2)}\\fP", tag.group(3)]
        elif title == "ERRORS" and line.startswith("\\fB"):
            code, _, text = line.partition("\\fP ")
            found += [".TP", code + "\\fP", text]
        elif line.startswith((".IP", ".br", ".in ")) and title != "DESCRIPTION":
            continue
        else:
            found.append(line)
    while found and found[-1].strip() in ("", ".PP", ".br"):
        found.pop()
    while found and found[0].strip() in ("", ".PP"):
        found.pop(0)
    return found


def brief_of(lines):
    """The first sentence of a description, which is its title, and what follows."""
    lines = [line for line in lines if line.strip()]
    while lines and lines[0].strip() == ".PP":
        lines = lines[1:]
    if not lines or lines[0].startswith("."):
        return "", lines
    title, _, rest = lines[0].partition(". ") if ". " in lines[0] else (lines[0], "", "")
    return title, ([rest] if rest.strip() else []) + lines[1:]


def one_page(header, prototype, lines, version):
    """A manual page for one entry."""
    name = name_of(prototype)
    parts = {}
    for title, text in sections(lines):
        parts.setdefault(title, []).extend(text)
    title, rest = brief_of(parts.pop("DESCRIPTION"))
    title = plain(title).rstrip(".")
    title = title[:1].lower() + title[1:] if not re.match(r"\w*[A-Z_]\w*[A-Z_]", title) else title
    page = [f'.TH "{name}" 3 "" "gyre {version}" "gyre"', ".ad l", ".nh", ".SH NAME",
            f"{name} \\- {title}", ".SH SYNOPSIS", ".nf", f"\\fB#include <gyre/{header}.h>\\fP", ".fi",
            ".PP", ".HP", f"{prototype}{';' if '#define' not in prototype else ''}"]
    rest = tidy("DESCRIPTION", rest)
    if rest:
        page += [".SH DESCRIPTION", *rest]
    for heading, text in parts.items():
        page += [f".SH {heading}", *tidy(heading, text)]
    page += [".SH SEE ALSO", f"\\fBgyre_{header}.h\\fP(3)"]
    return name, "\n".join(page) + "\n"


def overview(header, lines, version):
    """The page of a header: its title, its names, and its idea."""
    text = "\n".join(lines)
    text = re.sub(r"\A.*?\n\.SH NAME\n\S+ \\- [^\n]*?: ", f'.TH "gyre_{header}.h" 3 "" "gyre {version}" '
                  f'"gyre"\n.ad l\n.nh\n.SH NAME\ngyre_{header}.h \\\\- ', text, flags=re.DOTALL)
    ends = [text.find(f'.SH "{title}"') for title in (*ENTRIES, "Data Structure Documentation", "Author")]
    text = text[: min(at for at in ends if at >= 0)]
    return text.replace('.SH "Detailed Description"', ".SH DESCRIPTION")


def concept(stem, lines, version):
    """The page of a concept, in section 7."""
    text = re.sub(r"\A\.TH.*", f'.TH "{stem}" 7 "" "gyre {version}" "gyre"', "\n".join(lines))
    text = re.sub(r"\n\.SH \"Author\"\n.*", "\n", text, flags=re.DOTALL)
    return re.sub(r"(\n\.SH NAME\n.*\n)", r"\1.SH DESCRIPTION\n", text, count=1)


def escape_code(text):
    """Code with its backslashes, which doxygen leaves as they are, so that troff shows them."""
    pieces = re.split(r"^(\.nf|\.fi)$", text, flags=re.MULTILINE)
    for at in range(2, len(pieces), 4):
        pieces[at] = re.sub(r"\\(?![-&]|f[A-Z])", r"\\e", pieces[at])
    return "".join(pieces)


def write(folder, name, text):
    """Writes a page. A line of text that begins with a quote would be an order to troff."""
    text = escape_code(text)
    text = re.sub(r"^(?=')", r"\\&", text, flags=re.MULTILINE)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
        file.write(text)


def constants_of(lines):
    return [plain(line) for line in lines if line.startswith("\\fB\\fIGYRE_")]


def convert(source, target, version):
    """Makes the folders man3 and man7 in @target, from doxygen's pages in @source."""
    for file_name in sorted(os.listdir(source)):
        with open(os.path.join(source, file_name), encoding="utf-8") as file:
            lines = file.read().split("\n")
        stem = file_name.rsplit(".", 1)[0]
        if stem.startswith(HEADER):
            header = stem[len(HEADER):]
            write(os.path.join(target, "man3"), f"gyre_{header}.h.3", overview(header, lines, version))
            for prototype, entry in entries(lines):
                name, text = one_page(header, prototype, entry, version)
                write(os.path.join(target, "man3"), f"{name}.3", text)
                for constant in constants_of(entry):
                    write(os.path.join(target, "man3"), f"{constant}.3", f".so man3/{name}.3\n")
        elif stem.startswith(CONCEPT):
            write(os.path.join(target, "man7"), f"{stem}.7", concept(stem, lines, version))


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    convert(*arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
