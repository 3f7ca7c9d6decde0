#!/usr/bin/env python3
"""Proves that scripts/check_sizes.py catches what it is for, and is not fooled by text."""
import planted

CLEAN = planted.IDEA + """#include <stdlib.h>

#define GY_LOOP(list) for (int i = 0; i < (list); i++)

struct gy_ops {
	void *(*malloc)(size_t bytes);
	void (*free)(void *memory);
};

/* Calls strcpy(), malloc() and sprintf() in a comment. */
static const char *text = "strcpy(a, b); malloc(1); \\" sprintf( { { { { {";

static int four(struct gy_ops *ops, int x)
{
	do {
		if (x > '{') {
			while (x > 0) {
				x--;
			}
		} else if (x == 0) {
			goto out;
		} else {
			struct gy_ops y[] = { { .malloc = NULL, .free = (handler){ NULL } } };
			call(&(struct gy_ops){ .malloc = ops->malloc }, y);
		}
		switch (x) {
		case 1:
			GY_LOOP(2) {
				ops->free(ops->malloc(1));
			}
			break;
		default:
			break;
		}
	} while (x > 0);
	x = ({
		int y = x ? x : -x;

		y;
	});
#ifdef GY_DEEP
	if (x) {
#else
	if (!x) {
#endif
		x = 1;
	}
out:
	return x;
}

Test(suite, a_name_with_options, .init = four, .fini = four, .timeout = 1, .signal = 2, .a = 3,
     .b = 4)
{
	int strcpy_count = 0;

	four(NULL, strcpy_count);
}
"""
BODY = "static int f(int x)\n{\n%s}\n"


class Sizes(planted.PlantedTest):
    check = "check_sizes.py"
    clean = {"lib/loop/clean.c": CLEAN}

    def caught(self, code, *expected, path="lib/loop/planted.c"):
        self.plant(path, planted.IDEA + code)
        self.assert_caught(path, "sizes: 1 to mend", *expected)

    def content(self, code, path="lib/loop/planted.c"):
        self.plant(path, planted.IDEA + code)
        self.assert_content()

    def test_is_content_with_what_only_looks_wrong(self):
        self.assert_content()

    def test_allows_a_function_of_70_lines_and_catches_one_of_71(self):
        self.content(BODY % ("\tx++;\n" * 67))
        self.caught(BODY % ("\tx++;\n" * 68), "planted.c:4: f() has 71 lines")

    def test_counts_the_lines_of_a_declaration_over_several(self):
        self.caught("static int f(int x,\n\t\t int y)\n{\n%s}\n" % ("\tx++;\n" * 67),
                    "f() has 71 lines")

    def test_allows_six_parameters_and_catches_a_seventh(self):
        self.content("int f(int a, int b, int c, int d, int e, int f);\n")
        self.caught("int f(int a, int b, int c, int d, int e, void (*g)(int, int), int h);\n",
                    "f() has 7 parameters")

    def test_catches_a_seventh_parameter_of_a_definition_behind_attributes(self):
        self.caught("GY_PRINTF(1, 2) static int f(int a, int b, int c, int d, int e, int g, int h)\n"
                    "{\n\treturn a;\n}\n", "f() has 7 parameters")

    def test_catches_a_fifth_level(self):
        deep = "\tif (x) {\n\t\tfor (;;) {\n\t\t\twhile (x) {\n%s\t\t\t}\n\t\t}\n\t}\n"
        self.content(BODY % (deep % "\t\t\t\tx++;\n"))
        self.caught(BODY % (deep % "\t\t\t\tif (x) {\n\t\t\t\t\tx++;\n\t\t\t\t}\n"),
                    "planted.c:9: f() has 5 levels")

    def test_catches_a_fifth_level_inside_a_loop_macro(self):
        self.caught(BODY % ("\tgy_each(x) {\n\tgy_each(x) {\n\tgy_each(x) {\n\tgy_each(x) {\n"
                            "\tx++;\n\t}\n\t}\n\t}\n\t}\n"), "f() has 5 levels")

    def test_follows_the_braces_through_both_branches_of_a_condition(self):
        self.caught("#if A\nint f(int a)\n{\n#else\nint f(void)\n{\n#endif\n\treturn 0;\n}\n"
                    + BODY % ("\tx++;\n" * 68), "planted.c:13: f() has 71 lines")

    def test_catches_a_file_of_801_lines(self):
        self.caught("int a;\n" * 798, "801 lines")

    def test_catches_a_line_of_101_columns(self):
        self.content("/* " + "x" * 94 + " */\n")
        self.caught("/* " + "x" * 95 + " */\n", "planted.c:4: 101 columns")

    def test_counts_a_tab_as_eight(self):
        self.caught("\t/* " + "x" * 87 + " */\n", "101 columns")

    def test_catches_each_banned_call(self):
        for name in ("strcpy strcat sprintf vsprintf gets strtok rand localtime alloca atoi usleep "
                     "sleep nanosleep printf fprintf perror malloc calloc realloc free exit "
                     "__builtin_alloca").split():
            with self.subTest(name):
                self.caught(BODY % f"\t{name} (x);\n", f"planted.c:6: {name}()")

    def test_catches_a_banned_call_in_a_macro(self):
        self.caught("#define GY_COPY(a, b) \\\n\tstrcpy(a, b)\n", "planted.c:5: strcpy()")

    def test_allows_the_heap_in_base_and_printing_in_the_log(self):
        self.content(BODY % "\tfree(malloc(1));\n", path="lib/base/memory/memory.c")
        self.content(BODY % "\tfprintf(stderr, x);\n", path="lib/base/log/log.c")

    def test_allows_programs_to_print_and_to_wait(self):
        self.content(BODY % "\tprintf(x);\n\tsleep(1);\n\texit(1);\n", path="apps/echo.c")

    def test_catches_printing_elsewhere_in_base(self):
        self.caught(BODY % "\tprintf(x);\n", path="lib/base/memory/pool.c")

    def test_catches_sleep_in_a_test(self):
        self.caught(BODY % "\tusleep(1);\n", path="test/stress/inbox.c")

    def test_catches_typedef_of_a_struct(self):
        self.caught("typedef struct gy_x {\n\tint a;\n} gy_x;\n", "typedef struct")

    def test_catches_what_was_left_open(self):
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            with self.subTest(word):
                self.caught(f"/* {word}: later */\n", "leaves something open")

    def test_catches_missing_braces(self):
        for code, word in (("if (x)\n\t\tx++;", "if"), ("for (;;)\n\t\tx++;", "for"),
                           ("while (x)\n\t\tx++;", "while"), ("while (x);", "while"),
                           ("if (x) {\n\t} else\n\t\tx++;", "else"), ("do x++; while (x);", "do")):
            with self.subTest(code):
                self.plant("lib/loop/planted.c", planted.IDEA + BODY % f"\t{code}\n")
                self.assert_caught(f"{word} without braces")

    def test_catches_goto_backwards(self):
        self.caught(BODY % "again:\n\tx++;\n\tgoto again;\n", "planted.c:8: goto again goes back")


if __name__ == "__main__":
    planted.main()
