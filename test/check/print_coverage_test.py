#!/usr/bin/env python3
"""Shows what scripts/print_coverage.py makes of a summary."""
import json
import os

import planted

SCRIPT = os.path.join(planted.SCRIPTS, "print_coverage.py")


def file(name, lines, reached, branches=0, branches_reached=0):
    return {"filename": name, "line_total": lines, "line_covered": reached,
            "branch_total": branches, "branch_covered": branches_reached}


class PrintCoverage(planted.PlantedTest):
    def table(self, *files):
        self.plant("summary.json", json.dumps({"files": files}))
        status, output = self.run_command([SCRIPT, self.path("summary.json")])
        return status, output.splitlines()

    def row(self, name, *files):
        """The words of the row of a floor."""
        status, lines = self.table(*files)
        self.assertEqual(status, 0, lines)
        return [line.split() for line in lines if line.startswith(name)]

    def test_sums_up_the_files_of_a_floor(self):
        files = (file("lib/base/a.c", 60, 57, 20, 10), file("lib/base/in/b.h", 40, 38, 4, 2),
                 file("lib/net/c.c", 10, 10, 2, 2))
        self.assertEqual(self.row("base", *files),
                         ["base 95 100 95.0 % 12 24 50.0 %".split()])
        self.assertEqual(self.row("net", *files), ["net 10 10 100.0 % 2 2 100.0 %".split()])
        self.assertEqual(self.row("all", *files), ["all 105 110 95.4 % 14 26 53.8 %".split()])

    def test_rounds_down(self):
        row = self.row("base", file("lib/base/a.c", 10000, 9999, 3, 2))
        self.assertEqual(row, ["base 9999 10000 99.9 % 2 3 66.6 %".split()])

    def test_counts_a_floor_without_branches_as_reached(self):
        row = self.row("base", file("lib/base/a.c", 1, 1))
        self.assertEqual(row, ["base 1 1 100.0 % 0 0 100.0 %".split()])

    def test_marks_a_floor_under_ninety_and_the_files_that_miss_most(self):
        files = [file(f"lib/net/{name}.c", 100, 100 - missing)
                 for name, missing in zip("abcdef", (10, 60, 2, 30, 20, 40))]
        _, lines = self.table(file("lib/base/a.c", 10, 9), *files)
        self.assertFalse(lines[1].endswith("under 90 %"), lines)
        self.assertTrue(lines[2].endswith("under 90 %"), lines)
        self.assertEqual([line.split() for line in lines[3:8]],
                         [[count, "lines", "of", f"lib/net/{name}.c"] for count, name in
                          (("60", "b"), ("40", "f"), ("30", "d"), ("20", "e"), ("10", "a"))])
        self.assertTrue(lines[8].startswith("all "), lines)

    def test_leaves_out_what_is_not_the_library(self):
        files = (file("lib/base/a.c", 1, 1), file("apps/echo.c", 10, 0))
        self.assertEqual(self.row("all", *files), ["all 1 1 100.0 % 0 0 100.0 %".split()])

    def test_fails_when_nothing_was_counted(self):
        status, lines = self.table(file("apps/echo.c", 10, 0))
        self.assertEqual((status, lines), (1, ["coverage: no file of lib/ was counted"]))

    def test_refuses_to_guess_what_to_read(self):
        self.assertEqual(self.run_command([SCRIPT])[0], 2)


if __name__ == "__main__":
    planted.main()
