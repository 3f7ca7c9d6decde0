#!/usr/bin/env python3
"""Proves that a run of unit tests fails where it must, with Criterion's runner and with our own.

Criterion forgets how its children exit, so a planted leak, with every test of the program passing,
must fail the run all the same: scripts/run_unit.sh sees to it. The runner that forks, which stands in
for Criterion's unless the build is told otherwise, must fail wherever Criterion does, and where it forgets.
"""
import os
import re
import shlex
import subprocess
import unittest

import planted

CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
WRAPPER = os.path.join(planted.SCRIPTS, "run_unit.sh")
# As the build does: gcc 12 with both sanitizers ignores the log_path of the second, and a report that
# is neither in the log nor the end of the test is lost.
NO_RECOVER = "-fno-sanitize-recover=undefined"
PROGRAM = """#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int begun;
static void *volatile early, *volatile kept;
static void refuse(void) { cr_assert(0, "refused"); }
static void crash(void) { abort(); }
static void begin(void) { begun += 1; }
static void lose(void) { void *volatile lost = malloc(12); *(volatile char *)lost = 1; lost = NULL; }
static void *fail(void *arg) { cr_assert(0, "in a thread"); return arg; }
__attribute__((constructor)) static void allocate(void) { early = malloc(12); }

Test(planted, is_in_order) { cr_assert(1); }
Test(planted, leaks) { lose(); cr_assert(1); }
Test(planted, leaks_as_much_as_it_frees) { free(early); early = NULL; lose(); }
Test(planted, keeps_what_is_in_reach) { kept = malloc(12); }
Test(planted, overflows) { volatile int x = INT_MAX; x = x + 1; cr_assert(x != 0); }
Test(planted, writes_too_far) { volatile char *m = malloc(4); m[4] = 1; free((void *)m); }
Test(planted, fails) { cr_assert(0); }
Test(planted, says_why) { cr_expect_eq(1, 2, "first %d", 1); cr_assert_str_eq("a", "b"); }
Test(planted, aborts) { abort(); }
Test(planted, ends_by_its_signal, .signal = SIGABRT) { abort(); }
Test(planted, ends_by_another_signal, .signal = SIGABRT) { raise(SIGTERM); }
Test(planted, misses_its_signal, .signal = SIGABRT) { cr_assert(1); }
Test(planted, fails_before_its_signal, .signal = SIGABRT) { cr_expect(0); abort(); }
Test(planted, waits, .timeout = 1) { for (;;) { pause(); } }
Test(planted, exits) { exit(3); }
Test(planted, exits_too_soon) { exit(0); }
Test(planted, exits_as_it_says, .exit_code = 3) { exit(3); }
Test(planted, does_not_exit_as_it_says, .exit_code = 3) { cr_assert(1); }
Test(planted, fails_in_init, .init = refuse) { cr_assert(1); }
Test(planted, fails_in_fini, .fini = refuse) { cr_assert(1); }
Test(planted, crashes_in_fini, .fini = crash, .signal = SIGABRT) { cr_assert(1); }
Test(planted, leaks_in_fini, .fini = lose) { cr_assert(1); }
Test(planted, fails_in_a_thread)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, fail, NULL), 0);
	(void)pthread_join(thread, NULL);
}
Test(planted, fails_in_a_child)
{
	if (fork() == 0) {
		cr_assert(0, "in a child");
	}
	(void)wait(NULL);
}
Test(planted, is_skipped) { cr_skip_test("not %s", "here"); }
Test(planted, forges) { (void)puts("ok - planted::forged"); (void)fflush(stdout); cr_assert(1); }
Test(planted, redirects, .init = cr_redirect_stderr)
{
	(void)fputs("told", stderr);
	(void)fflush(stderr);
	cr_assert_stderr_eq_str("told");
}
Test(planted, redirects_other, .init = cr_redirect_stderr)
{
	(void)fputs("other", stderr);
	(void)fflush(stderr);
	cr_assert_stderr_eq_str("told");
}

TestSuite(fixtures, .init = begin, .timeout = 1);
Test(fixtures, come_before_those_of_a_test, .init = begin) { cr_assert_eq(begun, 2); }
Test(fixtures, are_not_those_of_another_suite) { cr_assert_eq(begun, 1); }
Test(fixtures, limit_the_time) { for (;;) { pause(); } }
TestSuite(late, .fini = crash);
Test(late, crashes_at_the_end_of_its_suite) { cr_assert(1); }
"""


def criterion_flags():
    ran = subprocess.run(["pkg-config", "--cflags", "--libs", "criterion"], capture_output=True,
                         text=True, check=False)
    return shlex.split(ran.stdout) if ran.returncode == 0 else None


class RunUnit(planted.PlantedTest):
    def run_script(self, text):
        return self.run_command([WRAPPER, self.plant("program", "#!/bin/sh\n" + text, 0o755)])

    def test_passes_arguments_and_output_on(self):
        program = self.plant("program", '#!/bin/sh\necho "<$1|$2>"\n', 0o755)
        self.assertEqual(self.run_command([WRAPPER, program, "a b", "c"]), (0, "<a b|c>\n"))

    def test_passes_the_exit_status_on(self):
        self.assertEqual(self.run_script("exit 3\n")[0], 3)

    def test_fails_a_run_that_leaves_a_report_and_shows_it(self):
        status, output = self.run_script('echo stray > "${ASAN_OPTIONS##*log_path=}.1"\n')
        self.assertEqual(status, 99)
        self.assertIn("stray", output)

    def test_keeps_the_options_that_were_set(self):
        program = self.plant("program", '#!/bin/sh\necho "$ASAN_OPTIONS"\n', 0o755)
        status, output = self.run_command([WRAPPER, program],
                                          env=dict(os.environ, ASAN_OPTIONS="verbosity=0"))
        self.assertEqual(status, 0)
        self.assertTrue(output.startswith("verbosity=0:"), output)

    def test_leaves_nothing_behind(self):
        temporary = self.path("tmp")
        os.mkdir(temporary)
        self.run_command([WRAPPER, "true"], env=dict(os.environ, TMPDIR=temporary))
        self.assertEqual(os.listdir(temporary), [])


class WithProgram:
    """What holds with each runner; @sources are linked into the planted program with @libraries."""

    sources = ()
    libraries = True

    @classmethod
    def setUpClass(cls):
        flags = criterion_flags()
        if flags is None:
            raise unittest.SkipTest("Criterion is not there")
        if not cls.libraries:
            flags = [flag for flag in flags if not flag.startswith("-l")]
        cls.folder = planted.tempfile.mkdtemp(prefix="gyre-planted.")
        cls.addClassCleanup(planted.shutil.rmtree, cls.folder)
        source = os.path.join(cls.folder, "planted.c")
        cls.program = os.path.join(cls.folder, "planted")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([*CC, "-g", "-D_GNU_SOURCE", "-fsanitize=address,undefined", NO_RECOVER, "-o",
                        cls.program, source, *cls.sources, *flags], check=True)

    def run_program(self, *arguments):
        return self.run_command([WRAPPER, self.program, "--tap=-", "--quiet", *arguments])

    def run_test(self, name):
        suite, name = name.split("/") if "/" in name else ("planted", name)
        return self.run_program("--jobs=1", f"--filter={suite}/{name}")

    def assert_passes(self, name):
        status, output = self.run_test(name)
        self.assertEqual(status, 0, output)
        self.assertRegex(output, f"(?m)^ok - (planted|fixtures)::{name.split('/')[-1]} ")

    def assert_fails(self, name, *said):
        status, output = self.run_test(name)
        self.assertNotEqual(status, 0, output)
        for text in said:
            self.assertIn(text, output)
        return output

    def test_is_content_with_tests_that_are_in_order(self):
        for name in ("is_in_order", "ends_by_its_signal", "exits_as_it_says", "redirects",
                     "keeps_what_is_in_reach", "fixtures/come_before_those_of_a_test",
                     "fixtures/are_not_those_of_another_suite"):
            with self.subTest(name):
                self.assert_passes(name)

    def test_fails_on_leaks(self):
        for name in ("leaks", "leaks_as_much_as_it_frees", "leaks_in_fini"):
            with self.subTest(name):
                self.assert_fails(name, "LeakSanitizer", "lose")

    def test_fails_on_undefined_behaviour(self):
        self.assert_fails("overflows", "not ok - planted::overflows")

    def test_fails_on_a_write_out_of_bounds_and_shows_it(self):
        self.assert_fails("writes_too_far", "heap-buffer-overflow")

    def test_fails_on_a_test_that_fails_and_says_why(self):
        self.assert_fails("fails", "not ok - planted::fails")
        self.assert_fails("says_why", "not ok - planted::says_why", "planted.c", "first 1",
                          "actual=`a` expected=`b`")
        self.assert_fails("redirects_other", "not ok - planted::redirects_other")

    def test_fails_on_an_end_that_was_not_expected(self):
        for name in ("aborts", "ends_by_another_signal", "misses_its_signal", "waits", "exits",
                     "fails_before_its_signal", "does_not_exit_as_it_says", "fixtures/limit_the_time"):
            with self.subTest(name):
                self.assert_fails(name, f"not ok - {'' if '/' in name else 'planted::'}"
                                  + name.replace("/", "::"))

    def test_fails_on_fixtures_that_fail(self):
        for name in ("fails_in_init", "crashes_in_fini", "late/crashes_at_the_end_of_its_suite"):
            with self.subTest(name):
                self.assert_fails(name)

    def test_shows_what_was_skipped(self):
        status, output = self.run_test("is_skipped")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^ok - planted::is_skipped .*# SKIP not here$")


class RunUnitWithCriterion(WithProgram, planted.PlantedTest):
    def test_fails_on_a_leak_though_the_test_passes(self):
        status, output = self.run_test("leaks")
        self.assertIn("ok - planted::leaks", output)
        self.assertNotIn("not ok", output)
        self.assertEqual(status, 99)


class RunUnitWithForks(WithProgram, planted.PlantedTest):
    sources = [os.path.join(planted.SCRIPTS, "..", "test", "unit", name)
               for name in ("fork_asserts.c", "fork_direct.c", "fork_exempt.c", "fork_leaks.c", "fork_runner.c")]
    libraries = False

    def test_counts_a_leak_as_a_failure_of_its_test(self):
        self.assert_fails("leaks", "not ok - planted::leaks exit status")

    def test_fails_where_criterion_forgets(self):
        for name in ("fails_in_init", "fails_in_fini", "crashes_in_fini", "fails_in_a_thread",
                     "fails_in_a_child", "exits_too_soon"):
            with self.subTest(name):
                self.assert_fails(name, f"not ok - planted::{name} ")

    def test_fails_when_no_test_matches(self):
        status, output = self.run_test("is_not_there")
        self.assertNotEqual(status, 0)
        self.assertIn("no test matches planted/is_not_there", output)

    def test_refuses_what_it_does_not_know(self):
        for argument in ("--unknown", "more", "--jobs=x", "--tap=file"):
            with self.subTest(argument):
                status, output = self.run_program(argument)
                self.assertEqual(status, 2, output)
                self.assertIn("usage:", output)

    def run_with_list(self, text, *more):
        self.plant("exempt.txt", text)
        return self.run_program(f"--exempt={self.path('exempt.txt')}", *more)

    def test_leaves_out_what_a_list_exempts_and_says_why(self):
        status, output = self.run_with_list("# Of a machine\n\nplanted/leaks: it leaks\n",
                                            "--filter=planted/leaks")
        self.assertEqual(status, 0, output)
        self.assertIn("ok - planted::leaks  # SKIP it leaks", output)

    def test_fails_where_a_test_skips_itself_that_the_list_has_not(self):
        status, output = self.run_with_list("planted/leaks: it leaks\n", "--filter=planted/is_skipped")
        self.assertNotEqual(status, 0, output)
        self.assertIn("not ok - planted::is_skipped skips itself, and no list says so: ", output)

    def test_refuses_a_list_that_is_none_or_too_long(self):
        names = re.findall(r"^Test\((\w+), (\w+)", PROGRAM, re.MULTILINE)
        many = "".join(f"{suite}/{name}: so\n" for suite, name in names[:len(names) // 5 + 1])
        for text, status, says in (("planted/leaks\n", 2, "there is no reason"),
                                   ("planted/leaks: a\nplanted/leaks: b\n", 2, "is there twice"),
                                   ("planted/gone: so\n", 1, "there is no test planted/gone"),
                                   (many, 1, "more than one in 10")):
            with self.subTest(says):
                got, output = self.run_with_list(text)
                self.assertEqual(got, status, output)
                self.assertIn(says, output)

    def test_runs_several_at_once_and_counts_each(self):
        status, output = self.run_program("--jobs=4", "--filter=@(planted|fixtures)/*")
        names = set(re.findall(r"^Test\((?:planted|fixtures), (\w+)", PROGRAM, re.MULTILINE))
        told = re.findall(r"^(?:not )?ok - (?:planted|fixtures)::(\w+) ", output, re.MULTILINE)
        self.assertNotEqual(status, 0)
        self.assertEqual(sorted(told), sorted(names - {"forged"}))
        self.assertIn(f"1..{len(names)}\n", output)

    def test_keeps_what_a_test_prints_out_of_its_results(self):
        ran = subprocess.run([self.program, "--filter=planted/forges"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("forged", ran.stdout)
        self.assertIn("forged", ran.stderr)
        self.assertRegex(ran.stdout, r"\ATAP version 13\n1\.\.1\nok - planted::forges +\(\d+\.\d\ds\)\n\Z")

    def test_lists_in_order(self):
        status, output = self.run_program("--list", "--filter=fixtures/*")
        self.assertEqual((status, output.splitlines()),
                         (0, ["fixtures/are_not_those_of_another_suite",
                              "fixtures/come_before_those_of_a_test", "fixtures/limit_the_time"]))


if __name__ == "__main__":
    planted.main()
