#!/usr/bin/env python3
"""Proves that scripts/check_headers.py catches what it is for."""
import json
import os
import re
import sys

import planted

GOOD = planted.IDEA + """#ifndef GYRE_GOOD_H
#define GYRE_GOOD_H
#include <stdint.h>
struct gyre_good {
	uint32_t slot;
};
static inline uint32_t gyre_slot(struct gyre_good good)
{
	return good.slot;
}
#endif
"""


class Headers(planted.PlantedTest):
    check = "check_headers.py"
    clean = {"include/gyre/good.h": GOOD}

    def caught(self, code, *expected):
        guarded = f"#ifndef GYRE_BAD_H\n#define GYRE_BAD_H\n{code}\n#endif\n"
        self.plant("include/gyre/bad.h", planted.IDEA + guarded)
        self.assert_caught("include/gyre/bad.h:", *expected)

    def test_is_content_with_a_header_that_stands_alone(self):
        self.assert_content()

    def test_catches_a_header_that_needs_another(self):
        self.caught("static inline uint64_t gyre_x(void) { return 1; }", "as C11", "as C++17")

    def test_catches_what_is_not_pedantic_c11(self):
        self.caught("struct gyre_x { int (*f)(void); int a[0]; };", "as C11")

    def test_catches_what_is_not_cxx(self):
        self.caught("static inline int *gyre_x(void *p) { int *class = p; return class; }",
                    "as C++17")

    def test_catches_a_warning(self):
        self.caught("static inline int gyre_x(int a, unsigned b) { return a < b; }", "as C11")

    def test_catches_a_header_that_cannot_be_included_twice(self):
        self.plant("include/gyre/bad.h", planted.IDEA + "struct gyre_x { int a; };\n")
        self.assert_caught("include/gyre/bad.h:", "redefinition")

    def test_catches_a_header_that_the_umbrella_leaves_out(self):
        self.plant("include/gyre/gyre.h", planted.IDEA + "typedef int gyre_nothing;\n")
        self.assert_caught("include/gyre/good.h: is not included by gyre/gyre.h")

    def test_compiles_headers_of_cxx20_as_that_and_without_exceptions(self):
        guarded = planted.IDEA + "#ifndef GYRE_X_HPP\n#define GYRE_X_HPP\n%s\n#endif\n"
        self.plant("include/gyre/x.hpp", guarded % "#include <concepts>\ntemplate <std::integral T> T gyre_x(T x) { return x; }")
        self.assert_content()
        self.plant("include/gyre/x.hpp", guarded % "inline void gyre_x() { throw 1; }")
        self.assert_caught("include/gyre/x.hpp: g++ as C++20 without exceptions")
        self.plant("include/gyre/x.hpp", guarded % "inline std::size_t gyre_x() { return 1; }")
        self.assert_caught("include/gyre/x.hpp: g++ as C++20:")

    def test_catches_a_header_of_cxx20_that_the_umbrella_leaves_out(self):
        self.plant("include/gyre/x.hpp", planted.IDEA + "#pragma once\n")
        self.plant("include/gyre/y.hpp", planted.IDEA + "#pragma once\n#include <gyre/x.hpp>\n")
        self.plant("include/gyre/gyre.hpp", planted.IDEA + "#pragma once\n#include <gyre/y.hpp>\n")
        self.assert_content()
        self.plant("include/gyre/gyre.hpp", planted.IDEA + "#pragma once\n#include <gyre/x.hpp>\n")
        self.assert_caught("include/gyre/y.hpp: is not included by gyre/gyre.hpp")

    def test_catches_a_private_header_that_needs_another(self):
        self.plant("build/include/gyre_config.h", "#pragma once\n#define GY_X 1\n")
        self.plant("lib/base/good.h", "#pragma once\n#include \"gyre_config.h\"\n"
                   "#include <gyre/good.h>\nenum { GY_Y = GY_X };\n")
        build = ("--build", self.path("build"))
        self.assert_content(*build)
        self.plant("lib/base/bad.h", "#pragma once\nstatic inline size_t gy_x(void);\n")
        self.assert_caught("lib/base/bad.h: gcc as gnu17", arguments=build)

    def library(self, source, header):
        """A build that compiles lib/base/x.c, which includes x.h; the arguments that name the build."""
        entry = {"directory": self.path("build"), "file": "../lib/base/x.c", "output": "lib/x.p/x.c.o"}
        self.plant("build/compile_commands.json", json.dumps([entry]))
        self.plant("lib/base/x.c", planted.IDEA + source)
        self.plant("lib/base/x.h", planted.IDEA + header)
        return ("--build", self.path("build"))

    def compilations(self, build):
        status, output = self.run_check(*build)
        self.assertEqual(status, 0, output)
        return int(re.search(r"(\d+) compilations", output).group(1))

    def test_leaves_to_the_build_what_that_compiles_alone(self):
        guarded = "#ifndef GY_X_H\n#define GY_X_H\n#ifdef X\n#endif\ntypedef int gy_x;\n#endif /* GY_X_H */\n"
        first, later = '#include "base/x.h"\n', '#include <stddef.h>\n#include "base/x.h"\n'
        build = self.library(first, guarded)
        built = self.compilations(build)
        self.assertEqual(self.compilations(self.library(later, guarded)), built + 1)
        self.assertEqual(self.compilations(self.library("typedef int gy_y;\n" + first, guarded)), built + 1)
        self.assertEqual(self.compilations(self.library("#define GY_Y 1\n" + first, guarded)), built + 1)
        self.plant("build/compile_commands.json", "[]")
        self.assertEqual(self.compilations(build), built + 1)

    def test_compiles_twice_what_a_source_includes_first_and_no_guard_surrounds(self):
        ends = "#ifndef GY_X_H\n#define GY_X_H\n%s#endif\n%s"
        for header in ("struct gy_x { int a; };\n", ends % ("", "struct gy_x { int a; };\n"),
                       ends.replace("define GY_X_H", "define GY_X") % ("struct gy_x { int a; };\n", ""),
                       ends % ("#else\nstruct gy_x { int a; };\nint x[sizeof(gy_x)];\n", "")):
            with self.subTest(header):
                self.assert_caught("lib/base/x.h: gcc as gnu17: ",
                                   arguments=self.library('#include "base/x.h"\n', header))

    def test_catches_a_private_header_that_a_source_includes_after_what_it_needs(self):
        header = "#ifndef GY_X_H\n#define GY_X_H\nstatic inline size_t gy_x(void);\n#endif\n"
        build = self.library('#include <stddef.h>\n#include "base/x.h"\n', header)
        self.assert_caught("lib/base/x.h: gcc as gnu17", arguments=build)

    def test_is_skipped_without_a_compiler(self):
        script = os.path.join(planted.SCRIPTS, self.check)
        status, output = self.run_command([sys.executable, script, self.root],
                                          env={"PATH": self.root})
        self.assertEqual(status, 77, output)


if __name__ == "__main__":
    planted.main()
