#!/usr/bin/env python3
"""Proves that scripts/check_docs.py catches what it is for."""
import planted

HEADER = planted.IDEA + """#ifndef GYRE_MAIL_H
#define GYRE_MAIL_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/** GYRE_PAIR() - two things in one */
#define GYRE_PAIR(a, b) GYRE_PAIR_(a, b)
#define GYRE_PAIR_(a, b) a##b

/** enum gyre_kind - what a mail is */
enum gyre_kind { GYRE_NOTICE, GYRE_ASK };

/**
 * struct gyre_mail - an envelope
 * @kind: what it is
 */
struct gyre_mail {
	enum gyre_kind kind;
	int size; /* in bytes */
	/* called when it is opened */
	int (*open)(struct gyre_mail *mail, void *arg);
};

/**
 * gyre_open_fn - is told of each mail
 * @mail: the mail
 * @arg:  what was registered
 *
 * Runs in phase 2, is never re-entered, and its last call has NULL for @mail.
 */
typedef void (*gyre_open_fn)(struct gyre_mail *mail, void *arg);

/** gyre_mail_size() - how long a mail is */
static inline int gyre_mail_size(const struct gyre_mail *mail)
{
	return mail->size;
}

/**
 * gyre_send() - send a mail and go on
 * @mail: the mail
 * @to:   names of receivers, at most 16
 * @open: called once
 * @arg:  handed to @open
 *
 * Says nothing more.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL   @mail is NULL
 * Ownership: @mail is taken.
 * Context: any thread. Never blocks.
 * Since: 0.1
 */
GYRE_API int gyre_send(struct gyre_mail *mail, const char *to[16], gyre_open_fn open, void *arg);

/**
 * gyre_forget() - drop a mail
 * @mail: the mail
 *
 * Ownership: @mail is taken.
 * Context: loop thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_forget(struct gyre_mail *mail);

/**
 * gyre_mail_age() - how old a mail is
 * @mail: the mail
 *
 * Return: the age in nanoseconds.
 * Ownership: @mail stays the caller's.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_mail_age(const struct gyre_mail *mail);

/**
 * gyre_mail_text() - the text of a mail
 * @mail: the mail
 *
 * Return: the text, or NULL.
 * Errors:
 *   NULL  the mail has no text
 * Ownership: the text stays the mail's.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API const char *gyre_mail_text(const struct gyre_mail *mail);

GYRE_MESSAGE(gyre_mail, 0x01);

GYRE_END_DECLS

#endif
"""


class Docs(planted.PlantedTest):
    check = "check_docs.py"
    clean = {"include/gyre/mail.h": HEADER, "lib/base/mail.c": planted.IDEA}

    def caught(self, old, new, *expected):
        self.change("include/gyre/mail.h", old, new)
        self.assert_caught("include/gyre/mail.h:", "docs: 1 to mend", *expected)

    def test_is_content_with_a_whole_contract(self):
        self.assert_content()

    def test_catches_a_function_without_a_comment(self):
        self.plant("include/gyre/more.h", planted.IDEA + "GYRE_API int gyre_more(void);\n")
        self.assert_caught("include/gyre/more.h:4: gyre_more() has no kernel-doc comment")

    def test_catches_a_comment_that_is_separated_from_its_function(self):
        self.caught(" */\nGYRE_API void gyre_forget",
                    " */\n#define GYRE_X\nGYRE_API void gyre_forget", "gyre_forget() has no")

    def test_catches_an_ordinary_comment(self):
        self.caught("/**\n * gyre_forget()", "/*\n * gyre_forget()", "gyre_forget() has no")

    def test_catches_each_missing_part(self):
        for part, content in (
            ("Return", " 0, or a negative errno."),
            ("Errors", "\n *   -EINVAL   @mail is NULL"),
            ("Ownership", " @mail is taken."),
            ("Context", " any thread. Never blocks."),
            ("Since", " 0.1"),
        ):
            with self.subTest(part):
                self.plant("include/gyre/mail.h", HEADER)
                self.caught(f" * {part}:{content}\n", "", f"gyre_send() has no {part}:")

    def test_catches_an_empty_part(self):
        self.caught("Ownership: @mail is taken.\n * Context: any", "Ownership:\n * Context: any",
                    "Ownership: of gyre_send() is empty")

    def test_catches_missing_errors_of_a_pointer_that_may_be_null(self):
        self.caught(" * Errors:\n *   NULL  the mail has no text\n", "",
                    "gyre_mail_text() has no Errors:")

    def test_wants_no_errors_of_a_pointer_that_is_never_null(self):
        self.change("include/gyre/mail.h", " * Errors:\n *   NULL  the mail has no text\n", "")
        self.change("include/gyre/mail.h", "the text, or NULL", "the text")
        self.assert_content()

    def test_catches_parts_that_say_nothing(self):
        for old, new, part in (
            ("drop a mail\n * @mail: the mail\n *\n",
             "drop a mail\n * @mail: the mail\n *\n * Return: nothing.\n", "Return"),
            (" * Return: the age in nanoseconds.\n",
             " * Return: the age in nanoseconds.\n * Errors:\n *   none\n", "Errors"),
        ):
            with self.subTest(part):
                self.plant("include/gyre/mail.h", HEADER)
                self.caught(old, new, f"{part}: of gyre_", "says nothing: leave it out")

    def test_catches_errors_that_name_no_errno(self):
        self.caught("-EINVAL   @mail is NULL", "when it fails", "names no errno")

    def test_allows_errors_that_are_told_otherwise(self):
        for text in ("NULL  there is none", "as gyre_forget()", "none; the log tells"):
            with self.subTest(text):
                self.plant("include/gyre/mail.h", HEADER.replace("-EINVAL   @mail is NULL", text))
                self.assert_content()

    def test_catches_a_context_that_names_no_thread(self):
        self.caught("Context: any thread.", "Context: wherever.", "Context: of gyre_send()")

    def test_catches_a_since_that_is_no_version(self):
        self.caught("Since: 0.1\n */\nGYRE_API int", "Since: ever\n */\nGYRE_API int",
                    "is no version")

    def test_catches_a_parameter_that_is_not_explained(self):
        self.caught(" * @to:   names of receivers, at most 16\n", "",
                    "@to of gyre_send() is not explained")

    def test_catches_a_parameter_that_is_explained_by_nothing(self):
        self.caught("@to:   names of receivers, at most 16", "@to:", "explained by nothing")

    def test_catches_a_parameter_under_an_old_name(self):
        self.change("include/gyre/mail.h", "const char *to[16]", "const char *names[16]")
        self.assert_caught("@names of gyre_send() is not", "@to is explained but is no parameter")

    def test_catches_a_parameter_without_a_name(self):
        self.change("include/gyre/mail.h", "gyre_open_fn open, void *arg);", "gyre_open_fn, void *);")
        self.assert_caught("parameter 3 of gyre_send() has no name", "parameter 4")

    def test_catches_a_line_that_was_broken_in_the_middle_of_a_comment(self):
        self.caught(" * Says nothing more.", " * Says nothing\n *more.", ":52: no space behind the star")

    def test_catches_a_title_about_another_function(self):
        self.caught("gyre_forget() - drop", "gyre_drop() - drop", "is about gyre_drop")

    def test_catches_a_title_of_two_lines(self):
        self.caught("drop a mail\n * @mail", "drop a mail\n * that nobody wants\n * @mail",
                    "longer than one line")

    def test_catches_a_title_that_says_nothing(self):
        self.caught("gyre_forget() - drop a mail", "gyre_forget()", "needs a first line like")

    def test_catches_a_callback_that_does_not_say_its_phase(self):
        self.caught("in phase 2", "some time", "in which phase")

    def test_catches_a_callback_that_does_not_say_whether_it_is_re_entered(self):
        self.caught("is never re-entered, and ", "", "whether it is re-entered")

    def test_catches_a_callback_that_does_not_say_its_last_call(self):
        self.caught("its last call has", "somewhere has", "which call is the last")

    def test_catches_a_callback_type_without_its_ending(self):
        self.plant("include/gyre/mail.h", HEADER.replace("gyre_open_fn", "gyre_opener"))
        self.assert_caught("callback type gyre_opener must end in _fn")

    def test_catches_a_struct_without_a_comment(self):
        self.caught("GYRE_END_DECLS", "struct gyre_x {\n\tint a; /* one */\n};\nGYRE_END_DECLS",
                    "struct gyre_x has no")

    def test_catches_a_member_that_is_not_explained(self):
        self.caught(" /* in bytes */", "", "member size of struct gyre_mail is not")

    def test_catches_a_member_that_is_gone(self):
        self.caught(" * @kind: what", " * @sort: what\n * @kind: what", "@sort is explained but")

    def test_catches_a_macro_without_a_comment(self):
        self.caught("/** GYRE_PAIR() - two things in one */\n", "", "macro GYRE_PAIR()")

    def test_catches_an_inline_function_without_a_comment(self):
        self.caught("/** gyre_mail_size() - how long a mail is */\n", "", "gyre_mail_size() has no")

    SIZED = """/** gyre_set_sized() - gyre_set() with the size of @mail */
GYRE_API int gyre_set_sized(const struct gyre_mail *mail, size_t mail_bytes);

/**
 * gyre_set() - set what mail is like
 * @mail: the mail
 *
 * Return: 0.
 * Errors:
 *   none
 * Ownership: @mail stays the caller's.
 * Context: any thread.
 * Since: 0.1
 */
static inline int gyre_set(const struct gyre_mail *mail)
{
	return gyre_set_sized(mail, sizeof(*mail));
}
"""

    def test_has_the_contract_of_a_sized_function_beside_its_inline_caller(self):
        self.plant("include/gyre/set.h", planted.IDEA + self.SIZED)
        self.assert_content()
        self.plant("include/gyre/set.h", planted.IDEA + self.SIZED.replace(" * Context: any thread.\n", ""))
        self.assert_caught("gyre_set() has no Context:")
        self.plant("include/gyre/set.h", planted.IDEA + self.SIZED.replace(" * @mail: the mail\n", ""))
        self.assert_caught("@mail of gyre_set() is not explained")

    def test_catches_a_sized_function_without_an_inline_caller(self):
        self.plant("include/gyre/set.h", planted.IDEA + self.SIZED.split("/**\n * gyre_set()")[0])
        self.assert_caught("gyre_set_sized() has no inline function that calls it")

    def test_catches_a_function_that_is_not_exported(self):
        self.caught("GYRE_API void gyre_forget", "void gyre_forget", "not marked GYRE_API")

    def test_catches_a_variable_without_a_comment(self):
        self.caught("GYRE_END_DECLS", "GYRE_API extern const int gyre_level;\nGYRE_END_DECLS",
                    "variable gyre_level has no")

    def test_catches_a_file_that_does_not_tell_its_idea(self):
        self.plant("lib/base/mail.c", "#include <gyre/mail.h>\n")
        self.assert_caught("lib/base/mail.c:1: does not open with a comment")

    def test_catches_a_file_whose_idea_is_a_word(self):
        self.plant("lib/base/mail.c", "/* Mail. */\n")
        self.assert_caught("lib/base/mail.c:1: opens with a comment too short")

    def test_catches_a_name_to_be_set_that_no_header_has(self):
        self.plant("SECURITY.md", "# x\n\nSet `kind`, or call `gyre_send()`, see `test/fuzz/`.\n")
        self.assert_content()
        self.plant("SECURITY.md", "# x\n\nSet `kind`.\nSet `kinds_max`.\n")
        self.assert_caught("SECURITY.md:4: kinds_max is in no public header")
        self.plant("SECURITY.md", "# x\n\nCall `gyre_sent()`.\n")
        self.assert_caught("SECURITY.md:3: gyre_sent is in no public header")

    def test_catches_an_answer_that_is_not_where_the_page_says(self):
        self.plant("lib/base/a.c", planted.IDEA + "void gy_a(void)\n{\n}\n")
        self.plant("CONTRIBUTING.md", "# x\n\n| who? | `lib/base/a.c` (`gy_a`) |\n\n## Old names\n\n`lib/b.c`\n")
        self.assert_content()
        self.change("CONTRIBUTING.md", "a.c` (", "b.c` (")
        self.assert_caught("CONTRIBUTING.md:3: there is no lib/base/b.c")
        self.plant("CONTRIBUTING.md", "# x\n\n`lib/base/a.c` (`gy_b`)\n")
        self.assert_caught("CONTRIBUTING.md:3: lib/base/a.c has no gy_b()")


if __name__ == "__main__":
    planted.main()
