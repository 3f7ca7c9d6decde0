#!/usr/bin/env python3
"""Shows how scripts/count_tests.py counts, and that no failure escapes it."""
import json
import os

import planted

SCRIPT = os.path.join(planted.SCRIPTS, "count_tests.py")
TAP = "TAP version 13\n1..4\n# Criterion\nok - a::one  (0.00s)\nok - a::two\n"
SKIPPED = "ok - a::three  # SKIP test was skipped\n"


def entry(result, status=0, text="", name="gyre:unit / base", **more):
    return json.dumps({"name": name, "stdout": text, "result": result, "returncode": status, **more}) + "\n"


class CountTests(planted.PlantedTest):
    def count(self, *entries, more=()):
        path = self.plant("log.json", "".join(entries))
        return self.run_command([SCRIPT, *more, f"debug={path}"])

    def test_counts_programs_by_their_result(self):
        status, output = self.count(entry("OK"), entry("OK"), entry("SKIP", 77))
        self.assertEqual((status, output), (0, "2 passed, 0 failed, 1 skipped\n"))

    def test_counts_each_test_of_tap(self):
        status, output = self.count(entry("OK", 0, TAP + SKIPPED))
        self.assertEqual((status, output), (0, "2 passed, 0 failed, 1 skipped\n"))

    def test_names_the_tests_that_failed(self):
        status, output = self.count(entry("FAIL", 1, TAP + "not ok - a::bad  (0.00s)\n"))
        self.assertEqual(status, 1)
        self.assertIn("failed: debug: unit / base: a::bad", output)
        self.assertTrue(output.endswith("2 passed, 1 failed, 0 skipped\n"), output)

    def test_counts_a_program_that_fails_though_its_tests_pass(self):
        status, output = self.count(entry("ERROR", 99, TAP))
        self.assertEqual(status, 1)
        self.assertTrue(output.endswith("2 passed, 1 failed, 0 skipped\n"), output)

    def test_counts_every_bad_result(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            with self.subTest(result):
                status, output = self.count(entry("OK"), entry(result, 1))
                self.assertEqual(status, 1)
                self.assertTrue(output.endswith("1 passed, 1 failed, 0 skipped\n"), output)

    def test_counts_steps_that_left_no_log(self):
        status, output = self.count(entry("OK"), more=("--failed-steps", "2"))
        self.assertEqual((status, output), (1, "1 passed, 2 failed, 0 skipped\n"))

    def test_fails_when_nothing_ran(self):
        self.assertEqual(self.count(), (1, "0 passed, 0 failed, 0 skipped\n"))

    def test_sums_over_several_logs(self):
        first = self.plant("one.json", entry("OK"))
        second = self.plant("two.json", entry("OK", 0, TAP))
        result = self.run_command([SCRIPT, f"debug={first}", f"asan={second}"])
        self.assertEqual(result, (0, "3 passed, 0 failed, 0 skipped\n"))

    def test_names_what_took_longest(self):
        quick = [entry("OK", name=f"gyre:unit / {i}", duration=0.1) for i in range(20)]
        _, output = self.count(*quick, entry("OK", duration=7.6))
        self.assertIn("longest: debug: unit / base 8 s, debug: unit / ", output)
        self.assertEqual(output.count(" s,"), 11)


if __name__ == "__main__":
    planted.main()
