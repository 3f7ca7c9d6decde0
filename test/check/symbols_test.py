#!/usr/bin/env python3
"""Proves that scripts/check_symbols.py catches what it is for, with a library of a few lines."""
import os
import shlex

import planted

HEADER = planted.IDEA + """GYRE_BEGIN_DECLS
GYRE_API int gyre_one(int x);
GYRE_API __attribute__((cold)) const char *gyre_two(void);
GYRE_API extern const int gyre_level;
static inline int gyre_three(void) { return 3; }
GYRE_END_DECLS
"""
MAP = """GYRE_0.1 {
	global:
		gyre_level;
		gyre_one;
	local:
		*;
};

GYRE_0.2 {
	global:
		gyre_two; /* the newest */
} GYRE_0.1;
"""
SOURCE = """
int gyre_one(int x) { return x; }
const char *gyre_two(void) { return "two"; }
const int gyre_level = 1;
int gy_hidden(void) { return 0; }
int gyre_forgotten(void) { return 0; }
"""


class Symbols(planted.PlantedTest):
    check = "check_symbols.py"
    clean = {"include/gyre/one.h": HEADER, "lib/gyre.map": MAP, "lib/base/one.c": SOURCE}

    def build(self, *map_file):
        """Links the library with lib/gyre.map, or with another map; returns its path."""
        library = self.path("libgyre.so")
        script = self.path(map_file[0] if map_file else "lib/gyre.map")
        command = [*shlex.split(os.environ.get("GYRE_CC", "cc")), "-shared", "-fPIC", "-o", library,
                   self.path("lib/base/one.c"), f"-Wl,--version-script={script}"]
        status, output = self.run_command(command)
        self.assertEqual(status, 0, output)
        return library

    def test_is_content_when_all_three_agree(self):
        self.assert_content("--library", self.build())

    def test_is_content_with_headers_and_map_alone(self):
        self.assert_content()

    def test_catches_a_function_missing_in_the_map(self):
        self.change("lib/gyre.map", "\t\tgyre_one;\n", "")
        self.assert_caught("include/gyre/one.h:5: gyre_one is GYRE_API and not in lib/gyre.map")

    def test_catches_a_variable_missing_in_the_map(self):
        self.change("lib/gyre.map", "\t\tgyre_level;\n", "")
        self.assert_caught("gyre_level is GYRE_API and not in")

    def test_catches_a_name_in_the_map_that_no_header_declares(self):
        self.change("lib/gyre.map", "\t\tgyre_one;\n", "\t\tgyre_gone;\n\t\tgyre_one;\n")
        self.assert_caught("lib/gyre.map:4: gyre_gone is no GYRE_API")

    def test_catches_a_function_without_definition(self):
        self.change("lib/base/one.c", "int gyre_one(int x) { return x; }\n", "")
        self.assert_caught("gyre_one is declared and libgyre.so does not export it",
                           arguments=("--library", self.build()))

    def test_catches_a_definition_that_no_header_declares(self):
        wide = MAP.replace("gyre_one;", "gyre_one;\n\t\tgyre_forgotten;")
        self.plant("wide.map", wide)
        self.assert_caught("libgyre.so: gyre_forgotten is exported and in no public header",
                           arguments=("--library", self.build("wide.map")))

    def test_catches_a_hidden_symbol_that_is_exported(self):
        self.plant("wide.map", MAP.replace("gyre_one;", "gyre_one;\n\t\tgy_hidden;"))
        self.assert_caught("libgyre.so: gy_hidden is exported",
                           arguments=("--library", self.build("wide.map")))

    def test_catches_a_pattern(self):
        self.change("lib/gyre.map", "gyre_one;", "gyre_one;\n\t\tgyre_*;")
        self.assert_caught("lib/gyre.map:5: gyre_* is a pattern")

    def test_catches_a_name_without_our_prefix(self):
        self.change("lib/gyre.map", "gyre_one;", "gy_one;")
        self.change("include/gyre/one.h", "gyre_one", "gy_one")
        self.assert_caught("gy_one is exported and does not begin with gyre_")

    def test_catches_a_name_that_is_listed_twice(self):
        self.change("lib/gyre.map", "gyre_two;", "gyre_two;\n\t\tgyre_one;")
        self.assert_caught("gyre_one is listed twice")


if __name__ == "__main__":
    planted.main()
