#!/usr/bin/env python3
"""Proves that scripts/check_assertions.py catches what it is for, and what the levels compile to."""
import os
import shlex

import planted

CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
LIB = os.path.join(planted.SCRIPTS, "..", "lib")
INCLUDE = os.path.join(planted.SCRIPTS, "..", "include")

FLOORS = ["base", "ring", "loop", "actor", "buffer", "channel", "net", "remote", "system"]
GOOD = planted.IDEA + "".join(f"int f{i}(int x)\n{{\n\tgy_assert(x > {i});\n\treturn x;\n}}\n"
                              for i in range(6))
WALKED = "void g(int *x);\nvoid g(int *x)\n{\n\tgy_walk(gy_thing_check(x));\n}\n"

TIMER_TWICE = planted.IDEA + """#include "loop/wheel.h"

static struct gy_wheel wheel;
static struct gy_timer timer;

static void fire(struct gy_timer *fired)
{
	(void)fired;
}

int main(int argc, char **argv)
{
	gy_wheel_init(&wheel, 1000, 0);
	gy_timer_init(&timer, fire);
	gy_timer_start(&wheel, &timer, 1);
	if (argc > 1 && argv[1][0] == 'd') {
		gy_timer_start(&wheel, &timer, 2);
	} else if (argc > 1) {
		gy_timer_start_at(&wheel, &timer, 2000);
	}
	return 0;
}
"""
CONFIG = """#define GY_ASSERT_LEVEL @level@
#define GY_ALLOCATOR_MIMALLOC 0
#define GY_INSPECT 1
#define GY_PLANTED_DELAYS 0
"""
SOURCES = ["loop/wheel.c", "base/clock.c", "base/log/log.c", "base/log/log_buffer.c", "base/log/log_text.c", "base/log/log_writer.c", "base/memory/memory.c",
           "base/thread.c", "base/wakeup.c"]


class Assertions(planted.PlantedTest):
    check = "check_assertions.py"
    clean = {f"lib/{floor}/a.c": GOOD for floor in FLOORS}

    def test_is_content_with_enough_of_them(self):
        self.assert_content()

    def test_catches_a_floor_with_too_few(self):
        self.plant("lib/loop/a.c", GOOD + "/* more */\n" * 2000)
        self.assert_caught("lib/loop:", "5.0 is the least")

    def test_does_not_count_what_only_compares_with_null(self):
        for condition in ("x != NULL", "NULL != x && y != NULL", "x->y == NULL"):
            self.plant("lib/actor/a.c", GOOD.replace("x > ", f"{condition} /* ").replace(");", "*/);"))
            self.assert_caught("lib/actor:", "has 0 assertions")

    def test_counts_what_compares_with_null_among_other_things(self):
        self.plant("lib/actor/a.c", GOOD.replace("x > ", "y != NULL && x > "))
        self.assert_content()

    def test_does_not_count_comments_strings_and_macros(self):
        fake = '/* gy_assert(x > 1); */\n#define Y() gy_assert(x > 1)\nconst char *z = "gy_assert(x > 1)";\n'
        self.plant("lib/base/a.c", planted.IDEA + fake)
        self.assert_caught("lib/base:", "has 0 assertions")

    def test_catches_a_floor_that_it_does_not_know(self):
        self.plant("lib/attic/a.c", GOOD)
        self.assert_caught("lib/attic:", "has no minimum")

    def test_catches_a_walker_without_planted_damage(self):
        self.plant("lib/net/b.c", planted.IDEA + WALKED)
        self.assert_caught("lib/net/b.c:7:", "shows no damage that gy_thing_check() finds")
        self.plant("test/check/walkers/thing.c", planted.IDEA + "/* gy_thing_check() */\n")
        self.assert_caught("shows no damage")
        self.plant("test/check/walkers/thing.c", planted.IDEA + "void (*w)(int *) = gy_thing_check;\n")
        self.assert_content()

    def test_catches_a_walker_that_is_named_otherwise(self):
        self.plant("lib/net/b.c", planted.IDEA + WALKED.replace("gy_thing_check", "gy_thing_look"))
        self.assert_caught("gy_thing_look is not named gy_..._check")


class Levels(planted.PlantedTest):
    """A timer that is started twice, in a program as a release has it."""

    def outcome(self, level, argument):
        source = self.plant("timer.c", TIMER_TWICE)
        self.plant("gyre_config.h", CONFIG.replace("@level@", str(level)))
        program = self.path("timer")
        sources = [os.path.join(LIB, *path.split("/")) for path in SOURCES]
        status, output = self.run_command([*CC, "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-I", self.root,
                                           "-I", LIB, "-I", INCLUDE, "-o", program, source, *sources])
        self.assertEqual(status, 0, output)
        return self.run_command([program, *argument])

    def test_a_release_catches_a_timer_that_is_started_twice(self):
        for argument in ("delay", "time"):
            status, output = self.outcome(1, [argument])
            self.assertEqual(status, -6, output)
            self.assertIn("assertion failed: timer->place == GY_TIMER_STOPPED", output)

    def test_a_timer_that_is_started_once_passes_at_every_level(self):
        for level in (0, 1, 2):
            self.assertEqual(self.outcome(level, []), (0, ""))

    def test_the_level_off_checks_nothing(self):
        self.assertEqual(self.outcome(0, ["delay"]), (0, ""))


if __name__ == "__main__":
    planted.main()
