#!/usr/bin/env python3
"""Proves that scripts/run_unit.sh fails a run that a sanitizer has something to say about.

Criterion forgets how its children exit, so a planted leak, with every test of the program passing,
must fail the run all the same.
"""
import os
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
#include <limits.h>
#include <stdlib.h>

Test(planted, is_in_order) { cr_assert(1); }
Test(planted, leaks) { volatile char *lost = malloc(12); *lost = 1; lost = NULL; cr_assert(!lost); }
Test(planted, overflows) { volatile int x = INT_MAX; x = x + 1; cr_assert(x != 0); }
Test(planted, writes_too_far) { volatile char *m = malloc(4); m[4] = 1; free((void *)m); }
Test(planted, fails) { cr_assert(0); }
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


class RunUnitWithCriterion(planted.PlantedTest):
    program = None

    @classmethod
    def setUpClass(cls):
        flags = criterion_flags()
        if flags is None:
            raise unittest.SkipTest("Criterion is not there")
        cls.folder = planted.tempfile.mkdtemp(prefix="gyre-planted.")
        cls.addClassCleanup(planted.shutil.rmtree, cls.folder)
        source = os.path.join(cls.folder, "planted.c")
        cls.program = os.path.join(cls.folder, "planted")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([*CC, "-g", "-fsanitize=address,undefined", NO_RECOVER, "-o",
                        cls.program, source, *flags], check=True)

    def run_test(self, name):
        return self.run_command([WRAPPER, self.program, "--tap=-", "--quiet", "--jobs=1",
                                 f"--filter=planted/{name}"])

    def test_is_content_with_a_test_that_is_in_order(self):
        status, output = self.run_test("is_in_order")
        self.assertEqual(status, 0, output)

    def test_fails_on_a_leak_though_the_test_passes(self):
        status, output = self.run_test("leaks")
        self.assertIn("ok - planted::leaks", output)
        self.assertNotIn("not ok", output)
        self.assertIn("LeakSanitizer", output)
        self.assertEqual(status, 99)

    def test_fails_on_undefined_behaviour(self):
        status, output = self.run_test("overflows")
        self.assertIn("not ok - planted::overflows", output)
        self.assertNotEqual(status, 0)

    def test_fails_on_a_write_out_of_bounds_and_shows_it(self):
        status, output = self.run_test("writes_too_far")
        self.assertIn("heap-buffer-overflow", output)
        self.assertNotEqual(status, 0)

    def test_fails_on_a_test_that_fails(self):
        status, output = self.run_test("fails")
        self.assertIn("not ok - planted::fails", output)
        self.assertNotEqual(status, 0)


if __name__ == "__main__":
    planted.main()
