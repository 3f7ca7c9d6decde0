#!/usr/bin/env python3
"""Proves that scripts/build_docs.py makes a whole reference, and finds what is amiss with one."""
import os
import shutil

import planted

BUILD = os.path.join(planted.SCRIPTS, "build_docs.py")
CHECK = os.path.join(planted.SCRIPTS, "check_reference.py")
DOXYFILE = os.path.join(planted.SCRIPTS, "doc", "Doxyfile")

GYRE = planted.IDEA + """#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H

/* ---- Start here ---- */

/* sending mail */
#include <gyre/mail.h>

#endif
"""
MAIL = """/*
 * Mail, which is sent by gyre_send(), as said at struct gyre_mail.
 *
 *	gyre_send(mail, '\\n');
 */
#ifndef GYRE_MAIL_H
#define GYRE_MAIL_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/** GYRE_MAILS_MAX - how many mails there may be, see mail.h */
#define GYRE_MAILS_MAX 16

#define GYRE_HIDDEN_(x) x

/**
 * enum gyre_kind - the kinds of mail
 * @GYRE_NOTICE: needs no answer
 * @GYRE_ASK: needs one
 */
enum gyre_kind { GYRE_NOTICE, GYRE_ASK };

/**
 * struct gyre_mail - an envelope
 * @kind: what it is
 */
struct gyre_mail {
	enum gyre_kind kind;
	int bytes; /* of the payload */
};

/**
 * gyre_open_fn - is told of each mail
 * @mail: the mail
 *
 * Runs in phase 2, is never re-entered, and its last call has NULL for @mail.
 */
typedef void (*gyre_open_fn)(struct gyre_mail *mail);

/** gyre_mail_bytes() - how long a mail is */
static inline int gyre_mail_bytes(const struct gyre_mail *mail)
{
	return mail->bytes;
}

/**
 * gyre_send() - sends a mail and goes on
 * @mail: the mail
 * @count: how often, at most GYRE_MAILS_MAX
 *
 * Says nothing more, but that a text which stands in quotes may come to begin a line of it:
 *
 * "quoted" it is.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL   @mail is NULL
 *   -ENOBUFS  @count is more than that,
 *             or less
 * Ownership: @mail is taken.
 * Context: any thread. Never blocks.
 * Since: 0.1
 */
GYRE_API int gyre_send(struct gyre_mail *mail, int count);

/**
 * gyre_forget() - drops a mail
 * @mail: the mail
 *
 * Ownership: @mail is taken.
 * Context: loop thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_forget(struct gyre_mail *mail);

GYRE_END_DECLS

#endif
"""
INDEX = "# All\n\n- @subpage gyre-way\n"
PAGE = """# The way {#gyre-way}

A mail is sent by gyre_send() and is a struct gyre_mail: see mail.h and [the entry](group__header-mail.html).

@dotfile way.dot "The way of a mail"
"""
MAP = "GYRE_0.1 {\n\tglobal:\n\t\tgyre_forget;\n\t\tgyre_send;\n\tlocal:\n\t\t*;\n};\n"
NAMES = ("GYRE_MAILS_MAX", "gyre_kind", "gyre_mail", "gyre_open_fn", "gyre_mail_bytes", "gyre_send",
         "gyre_forget")


class Reference(planted.PlantedTest):
    clean = {
        "include/gyre/gyre.h": GYRE,
        "include/gyre/mail.h": MAIL,
        "lib/gyre.map": MAP,
        "scripts/doc/pages/index.md": INDEX,
        "scripts/doc/pages/way.md": PAGE,
        "scripts/doc/pages/way.dot": "digraph way { a -> b; }\n",
    }

    def setUp(self):
        super().setUp()
        if not shutil.which("doxygen") or not shutil.which("dot"):
            self.skipTest("doxygen or dot is missing")
        shutil.copy(DOXYFILE, self.path("scripts/doc"))

    def build(self):
        return self.run_command([BUILD, "--root", self.root, "--version", "0.1.0", self.path("out")])

    def check(self):
        return self.run_command([CHECK, self.root, self.path("out")])

    def text(self, path):
        with open(self.path(os.path.join("out", path)), encoding="utf-8") as file:
            return file.read()

    def caught(self, path, old, new, *expected):
        """A build of the tree with the fault fails, says each of @expected, and leaves nothing."""
        self.change(path, old, new)
        status, output = self.build()
        self.assertEqual(status, 1, output)
        for text in expected:
            self.assertIn(text, output)
        self.assertEqual(os.listdir(self.path("out")), [])


class Building(Reference):
    def test_makes_an_entry_and_a_page_of_each_name(self):
        status, output = self.build()
        self.assertEqual(status, 0, output)
        html = self.text("html/group__header-mail.html")
        for name in NAMES:
            self.assertIn(name, html)
            self.assertIn(f"{name} \\- ", self.text(f"man3/{name}.3"))
        self.assertNotIn("GYRE_HIDDEN_", html)
        self.assertEqual(self.text("man3/GYRE_ASK.3"), ".so man3/gyre_kind.3\n")
        self.assertIn('.TH "gyre-way" 7', self.text("man7/gyre-way.7"))
        self.assertIn("gyre_send(mail, '\\en');", self.text("man3/gyre_mail.h.3"))

    def test_shows_the_parts_of_a_contract_as_sections(self):
        self.build()
        page = self.text("man3/gyre_send.3")
        for section in ("PARAMETERS", "RETURN VALUE", "ERRORS", "OWNERSHIP", "CONTEXT", "SINCE"):
            self.assertIn(f"\n.SH {section}\n", page)
        self.assertIn(".TP\n\\fB-ENOBUFS\\fP\n\\fCcount\\fP is more than that, or less", page)

    def test_says_that_nothing_is_returned_and_nothing_fails(self):
        self.build()
        page = self.text("man3/gyre_forget.3")
        self.assertIn(".SH RETURN VALUE\nnothing", page)
        self.assertIn(".SH ERRORS\nnone", page)

    def test_takes_order_and_titles_from_the_umbrella(self):
        self.build()
        self.assertIn("mail.h: sending mail", self.text("html/group__header-mail.html"))
        self.assertIn("gyre_mail.h \\- sending mail", self.text("man3/gyre_mail.h.3"))

    def test_shows_code_and_draws_diagrams(self):
        self.build()
        self.assertIn('class="fragment"', self.text("html/group__header-mail.html"))
        self.assertIn(".svg", self.text("html/gyre-way.html"))

    def test_takes_the_place_of_what_was_made_before(self):
        self.build()
        self.plant("out/html/old.html", "")
        self.assertEqual(self.build()[0], 0)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["html", "man3", "man7"])
        self.assertFalse(os.path.exists(self.path("out/html/old.html")))


class Faults(Reference):
    def test_catches_each_missing_part(self):
        for part, text in (
            ("Errors", " * Errors:\n *   -EINVAL   @mail is NULL\n *   -ENOBUFS  @count is more than that,\n"
                       " *             or less\n"),
            ("Ownership", " * Ownership: @mail is taken.\n * Context: any"),
            ("Context", " * Context: any thread. Never blocks.\n"),
            ("Since", " * Since: 0.1\n */\nGYRE_API int"),
        ):
            with self.subTest(part):
                self.plant("include/gyre/mail.h", MAIL)
                new = {"Ownership": " * Context: any", "Since": " */\nGYRE_API int"}.get(part, "")
                self.caught("include/gyre/mail.h", text, new,
                            f"the entry of gyre_send() has no {part} in the HTML",
                            f"the manual page of gyre_send has no {part}")

    def test_catches_a_function_that_does_not_say_what_it_returns(self):
        self.caught("include/gyre/mail.h", " * Return: 0, or a negative errno.\n", "",
                    "the entry of gyre_send() has no Returns in the HTML")

    def test_catches_a_function_without_a_comment(self):
        self.caught("include/gyre/mail.h", "GYRE_END_DECLS", "GYRE_API int gyre_more(void);\nGYRE_END_DECLS",
                    "gyre_more", "is not documented")

    def test_catches_a_parameter_that_is_not_explained(self):
        self.caught("include/gyre/mail.h", " * @count: how often, at most GYRE_MAILS_MAX\n", "",
                    "count", "gyre_send")

    def test_catches_a_member_that_is_not_explained(self):
        self.caught("include/gyre/mail.h", " /* of the payload */", "",
                    "a member of gyre_mail has no text")

    def test_catches_an_enumerator_that_is_not_explained(self):
        self.caught("include/gyre/mail.h", " * @GYRE_ASK: needs one\n", "",
                    "include/gyre/mail.h:22: GYRE_ASK has no manual page: it has no text")

    def test_catches_a_symbol_that_no_header_declares(self):
        self.caught("lib/gyre.map", "gyre_send;", "gyre_send;\n\t\tgyre_lost;",
                    "lib/gyre.map: gyre_lost is in no header")

    def test_catches_a_header_without_a_title(self):
        self.caught("include/gyre/gyre.h", "/* sending mail */\n", "", "mail.h has no title in")

    def test_catches_a_link_to_a_page_that_is_not_there(self):
        self.caught("scripts/doc/pages/way.md", "group__header-mail.html", "group__nothing.html",
                    "html/gyre-way.html", "group__nothing.html is not there")

    def test_catches_a_link_to_an_anchor_that_is_not_there(self):
        self.caught("scripts/doc/pages/way.md", "header-mail.html", "header-mail.html#nothing",
                    "html/gyre-way.html", "has no such anchor")

    def test_catches_a_reference_to_nothing(self):
        self.caught("scripts/doc/pages/way.md", "A mail", "@ref gyre-nothing A mail",
                    "way.md", "gyre-nothing")

    def test_catches_a_diagram_that_cannot_be_drawn(self):
        self.caught("scripts/doc/pages/way.dot", "a -> b;", "a -> ;", "way")


class Tampered(Reference):
    """What check_reference.py finds in a reference that was changed after it was built."""

    def setUp(self):
        super().setUp()
        status, output = self.build()
        self.assertEqual(status, 0, output)
        self.assertEqual(self.check()[0], 0)

    def found(self, expected):
        status, output = self.check()
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def test_catches_a_heading_without_text(self):
        html = self.text("html/group__header-mail.html")
        at = html.index("Errors</dt>")
        end = html.index("</dd>", at)
        self.plant("out/html/group__header-mail.html", html[:at] + "Errors</dt><dd>" + html[end:])
        self.found("has no Errors in the HTML")

    def test_catches_an_entry_that_is_gone(self):
        self.change("out/html/group__header-mail.html", "</span>gyre_send()", "</span>gyre_sand()")
        self.found("include/gyre/mail.h:66: gyre_send has no entry in the HTML")

    def test_catches_a_manual_page_that_is_gone(self):
        os.remove(self.path("out/man3/gyre_open_fn.3"))
        self.found("gyre_open_fn has no manual page")

    def test_catches_a_manual_page_without_a_title(self):
        self.change("out/man3/gyre_mail.3", "gyre_mail \\- an envelope", "gyre_mail")
        self.found("the manual page of gyre_mail has no title")

    def test_catches_an_empty_section_of_a_manual_page(self):
        self.change("out/man3/gyre_forget.3", ".SH OWNERSHIP\n\\fCmail\\fP is taken\\&.", ".SH OWNERSHIP\n")
        self.found("the manual page of gyre_forget has no Ownership")

    def test_catches_a_manual_page_that_leads_nowhere(self):
        self.plant("out/man3/GYRE_ASK.3", ".so man3/gyre_sort.3\n")
        self.found("man3/GYRE_ASK.3:1: man3/gyre_sort.3 is not there")

    def test_catches_text_that_troff_takes_for_an_order(self):
        self.change("out/man3/gyre_forget.3", ".SH OWNERSHIP\n", ".SH OWNERSHIP\n'quoted'\n")
        self.found("'quoted' is no order to troff")

    def test_catches_an_escape_that_is_not_meant(self):
        self.change("out/man3/gyre_forget.3", ".SH OWNERSHIP\n", ".SH OWNERSHIP\nprintf(a\\n)\n")
        self.found("\\n) is no escape of troff")

    def test_catches_a_page_that_no_page_leads_to(self):
        self.plant("out/html/alone.html", "<html></html>\n")
        self.found("html/alone.html: no page leads here")

    def test_catches_a_menu_that_leads_nowhere(self):
        self.plant("out/html/more.js", 'var x=[["A","gone.html",null]];\n')
        self.found("html/more.js: a link leads to gone.html")


if __name__ == "__main__":
    planted.main()
