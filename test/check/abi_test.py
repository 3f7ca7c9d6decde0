#!/usr/bin/env python3
"""Proves that scripts/check_abi.py, and the compiler with the list that it keeps, catch what is for them."""
import os
import shlex
import shutil

import planted

CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
HEADER = planted.IDEA + """#include <stddef.h>
struct gyre_span {
	const void *bytes;
	size_t count;
};
struct gyre_line_options {
	size_t bytes_max;
	struct gyre_span end;
};
int gyre_line_sized(const struct gyre_line_options *options, size_t options_bytes);
static inline int gyre_line(const struct gyre_line_options *options)
{
	return gyre_line_sized(options, sizeof(*options));
}
static inline size_t gyre_span_count(const struct gyre_span *span)
{
	return span->count; /* of bytes */
}
#define GYRE_TWICE(N) ((N) * 2)
"""
VERSION = planted.IDEA + """#define GYRE_VERSION_MAJOR 0
#define GYRE_VERSION_MINOR 1
#define GYRE_VERSION_PATCH 2
#define GYRE_VERSION_TEXT "0.1.2"
"""


class Abi(planted.PlantedTest):
    check = "check_abi.py"
    clean = {
        "include/gyre/gyre.h": HEADER,
        "include/gyre/version.h": VERSION,
        "meson.build": "project('gyre', 'c',\n  version: '0.1.2')\n",
        "lib/meson.build": "libgyre = library(\n  soversion: '0.1')\n",
        "lib/system/.keep": "",
    }

    def setUp(self):
        super().setUp()
        status, output = self.run_check("--keep")
        self.assertEqual(status, 0, output)

    def compiles(self):
        lists = [self.path(f"lib/system/layouts_{name}.c") for name in ("frozen", "growing")]
        return self.run_command([*CC, "-fsyntax-only", "-I", self.path("include"), "-I", self.path("lib"), *lists])

    def test_is_content_with_what_it_has_listed(self):
        self.assert_content()
        self.assertEqual(self.compiles(), (0, ""))

    def test_does_not_look_at_comments_and_spaces(self):
        self.change("include/gyre/gyre.h", "span->count; /* of bytes */", "span->count;")
        self.assert_content()

    def test_catches_an_inline_function_that_was_changed(self):
        self.change("include/gyre/gyre.h", "return span->count;", "return span->count + 1;")
        self.assert_caught("gyre_span_count is inlined and was changed")

    def test_catches_a_macro_that_was_changed(self):
        self.change("include/gyre/gyre.h", "((N) * 2)", "((N) + (N))")
        self.assert_caught("GYRE_TWICE is inlined and was changed")

    def test_catches_an_inline_function_that_is_not_listed(self):
        self.plant("include/gyre/more.h", planted.IDEA + "static inline int gyre_one(void)\n{\n\treturn 1;\n}\n")
        self.assert_caught("include/gyre/more.h:4: gyre_one is inlined and not in lib/gyre.inline")

    def test_catches_an_inline_function_that_has_gone(self):
        self.change("include/gyre/gyre.h", "#define GYRE_TWICE(N) ((N) * 2)\n", "")
        self.assert_caught("lib/gyre.inline: GYRE_TWICE is in no public header")

    def test_catches_a_structure_that_is_not_listed(self):
        self.plant("include/gyre/more.h", planted.IDEA + "struct gyre_new {\n\tint x;\n};\n")
        self.assert_caught("struct gyre_new is not in lib/system/layouts_frozen.c")

    def test_catches_a_member_that_is_not_listed(self):
        self.change("include/gyre/gyre.h", "struct gyre_span end;", "struct gyre_span end;\n\tint more;")
        self.assert_caught("more of struct gyre_line_options is not in lib/system/layouts_growing.c")
        self.assertEqual(self.compiles()[0], 0)

    def test_catches_a_member_in_the_middle_and_so_does_the_compiler(self):
        self.change("include/gyre/gyre.h", "size_t bytes_max;", "int more;\n\tsize_t bytes_max;")
        self.assert_caught("a new member of struct gyre_line_options is not at its end")
        self.assertIn("bytes_max of struct gyre_line_options was moved", self.compiles()[1])

    def test_the_compiler_catches_a_frozen_structure_that_has_grown(self):
        self.change("include/gyre/gyre.h", "size_t count;", "size_t count;\n\tsize_t more;")
        self.assertIn("struct gyre_span has another size", self.compiles()[1])

    def test_catches_a_structure_that_comes_to_stand_inside_of_another(self):
        self.plant("include/gyre/more.h",
                   planted.IDEA + "struct gyre_both {\n\tstruct gyre_line_options line;\n};\n")
        self.assert_caught("struct gyre_line_options is FROZEN, and GROWS in lib/system/layouts_growing.c")

    def test_catches_headers_that_tell_another_version(self):
        self.change("include/gyre/version.h", "PATCH 2", "PATCH 3")
        self.assert_caught("include/gyre/version.h: tells version 0.1.3, and meson.build 0.1.2")

    def test_catches_a_soname_of_another_version(self):
        self.change("meson.build", "0.1.2", "0.2.2")
        self.assert_caught("lib/meson.build: the soname is 0.1, and the version 0.2.2")

    def test_the_list_of_this_tree_holds_the_compiler_to_it(self):
        root = os.path.join(planted.SCRIPTS, "..")
        shutil.copytree(os.path.join(root, "include"), self.path("include"), dirs_exist_ok=True)
        for name in ("layouts.h", "layouts_frozen.c", "layouts_growing.c"):
            shutil.copy(os.path.join(root, "lib", "system", name), self.path(f"lib/system/{name}"))
        self.assertEqual(self.compiles(), (0, ""))
        self.change("include/gyre/stack.h", "\tvoid *actor;\n\tvoid *frame;", "\tvoid *frame;\n\tvoid *actor;")
        self.assertIn("actor of struct gyre_stack was moved", self.compiles()[1])


if __name__ == "__main__":
    planted.main()
