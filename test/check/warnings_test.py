#!/usr/bin/env python3
"""Proves that what the headers inline warns of nothing in a program that checks its results.

A reader of a number leaves its output alone when it fails. The compiler must see that it has written it in
the other case, or a caller who looks at the sign of the result hears that the number may be uninitialized.
The first test takes that knowledge away, and must then hear so from gcc.
"""
import os
import re
import shlex
import shutil

import planted

CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
INCLUDE = os.path.join(planted.SCRIPTS, "..", "include")
FLAGS = ["-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null"]
LEVELS = ["-O1", "-O2", "-O3"]
KINDS = ["u8", "i8"] + [kind + order for kind in ("u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64")
                        for order in ("be", "le")]
READER = """
{type} read_{kind}_{name}(struct gyre_buffer *buffer);
{type} read_{kind}_{name}(struct gyre_buffer *buffer)
{{
	{type} first;
	{type} second;

	if (gyre_buffer_get_{kind}(buffer, 1, &first) {failed} || gyre_buffer_read_{kind}(buffer, &second) {failed}) {{
		return 0;
	}}
	return ({type})(first + second);
}}
"""
GUARDED = re.compile(r"if \(r < 0\) {\s*\\\s*return r;\s*\\\s*}\s*\\\s*"
                     r"memcpy\(ret_value, &whole, sizeof\(whole\)\);\s*\\\s*return 0;")


def type_of(kind):
    bits = re.search(r"\d+", kind).group()
    return {"f32": "float", "f64": "double"}.get(kind[:3], f"{'u' if kind[0] == 'u' else ''}int{bits}_t")


class Warnings(planted.PlantedTest):
    def setUp(self):
        super().setUp()
        readers = [READER.format(kind=kind, type=type_of(kind), name=name, failed=failed)
                   for kind in KINDS for name, failed in (("sign", "< 0"), ("not_zero", "!= 0"))]
        self.plant("reads.c", planted.IDEA + "#include <gyre/number.h>\n" + "".join(readers))

    def compile(self, compiler, include):
        """What the compiler says at all levels."""
        said = ""
        for level in LEVELS:
            _, output = self.run_command([*compiler, *FLAGS, level, "-I", include, "reads.c"])
            said += output
        return said

    def require(self, *compilers):
        for compiler in compilers:
            if shutil.which(compiler) is None:
                self.skipTest(f"{compiler} is not there")

    def test_gcc_would_say_that_a_number_may_be_uninitialized(self):
        self.require("gcc")
        shutil.copytree(INCLUDE, self.path("include"))
        with open(self.path("include/gyre/number.h"), encoding="utf-8") as file:
            text, count = GUARDED.subn("if (r == 0) { memcpy(ret_value, &whole, sizeof(whole)); } return r;",
                                       file.read())
        self.assertEqual(count, 1)
        self.plant("include/gyre/number.h", text)
        self.assertIn("may be used uninitialized", self.compile(["gcc"], self.path("include")))

    def test_numbers_are_read_without_a_warning_of_the_builds_compiler(self):
        self.assertEqual(self.compile(CC, INCLUDE), "")

    def test_numbers_are_read_without_a_warning_of_gcc_in_c_and_cpp(self):
        self.require("gcc", "g++")
        self.assertEqual(self.compile(["gcc", "-std=c11"], INCLUDE), "")
        self.assertEqual(self.compile(["g++", "-x", "c++", "-std=c++17"], INCLUDE), "")


if __name__ == "__main__":
    planted.main()
