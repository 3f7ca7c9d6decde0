#!/usr/bin/env python3
"""Proves that scripts/check_tidy.py catches what it is for, and looks anew at what has changed only."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import planted

sys.path.insert(0, planted.SCRIPTS)
import check_tidy  # pylint: disable=wrong-import-position

CONFIG = os.path.join(planted.SCRIPTS, "..", ".clang-tidy")
GOOD = planted.IDEA + '#include "base/x.h"\n\nint gy_x(int a)\n{\n\treturn gy_y(a) + 1;\n}\n'
HEADER = planted.IDEA + "static inline int gy_y(int a)\n{\n\treturn a;\n}\n"
HAVE = check_tidy.find_program()[0] is not None


class Tidy(planted.PlantedTest):
    check = "check_tidy.py"
    clean = {"lib/base/x.c": GOOD, "lib/base/x.h": HEADER, "apps/x.c": GOOD}

    def setUp(self):
        super().setUp()
        shutil.copy(CONFIG, self.root)
        os.makedirs(self.path("build"))
        self.commands(self.command("lib/base/x.c"), self.command("apps/x.c"))

    def command(self, path, folder=None, flags="-I../lib -DX"):
        output = (folder or path.split("/", maxsplit=1)[0]) + "/x.p/x.o"
        return {"directory": self.path("build"), "file": "../" + path, "output": output,
                "command": f"ccache gcc {flags} -Wlogical-op -o {output} -c ../{path}"}

    def commands(self, *entries):
        self.plant("build/compile_commands.json", json.dumps(entries))

    def run_check(self, *arguments):
        return super().run_check("--build", self.path("build"), *arguments)

    def looked(self):
        """How many sources were looked at anew by a run that found nothing."""
        status, output = self.run_check()
        self.assertEqual(status, 0, output)
        self.assertIn("tidy: 2 sources, ", output)
        return int(output.split(" anew")[0].split()[-1])

    def plant_mistake(self, path):
        self.change(path, "return", "if (a > 0 && a > 0) {\n\t\treturn 2;\n\t}\n\treturn")


@unittest.skipUnless(HAVE, "clang-tidy 14 is not there")
class Findings(Tidy):
    def test_is_content_with_tidy_sources(self):
        self.assert_content()

    def test_catches_a_mistake_in_a_source(self):
        self.plant_mistake("lib/base/x.c")
        self.assert_caught("lib/base/x.c:8: both sides of operator are equivalent "
                           "[misc-redundant-expression]", "tidy: 1 to mend")

    def test_catches_a_mistake_on_one_of_two_ways_through_a_function(self):
        self.change("lib/base/x.c", "return", "int *p = a > 0 ? &a : (int *)0;\n\n\treturn *p +")
        self.assert_caught("lib/base/x.c:10: ", "[clang-analyzer-core.NullDereference]")

    def test_tells_a_mistake_in_a_header_once(self):
        self.plant_mistake("lib/base/x.h")
        self.assert_caught("lib/base/x.h:6: ", "tidy: 1 to mend")

    def test_leaves_out_in_a_folder_what_that_one_says(self):
        self.plant_mistake("apps/x.c")
        self.assert_caught("apps/x.c:8: ")
        self.plant("apps/.clang-tidy",
                   "InheritParentConfig: true\nChecks: '-misc-redundant-expression'\n")
        self.assert_content()
        self.plant_mistake("lib/base/x.c")
        self.assert_caught("lib/base/x.c:8: ", "tidy: 1 to mend")

    def test_tells_a_message_of_several_lines(self):
        self.change(".clang-tidy", "  -clang-analyzer-optin.performance.Padding,\n", "")
        fields = "".join(f"\tchar c{i};\n\tlong l{i};\n" for i in range(8))
        self.plant("apps/x.c", GOOD + f"\nstruct x {{\n{fields}}};\n\nstruct x gy_xs[2];\n")
        self.assert_caught("apps/x.c:11: Excessive padding", "tidy: 1 to mend")

    def test_tells_a_source_that_cannot_be_read(self):
        self.change("lib/base/x.c", "base/x.h", "base/z.h")
        self.assert_caught("lib/base/x.c:4: 'base/z.h' file not found [clang-diagnostic-error]")

    def test_takes_defines_and_folders_of_the_build(self):
        self.change("lib/base/x.c", "int gy_x", "#ifndef X\n#error planted\n#endif\nint gy_x")
        self.assert_content()

    def test_leaves_out_a_source_that_a_test_compiles_in_its_own_way(self):
        self.change("lib/base/x.c", "int gy_x", "#ifdef SHADOW\n#error planted\n#endif\nint gy_x")
        self.commands(self.command("lib/base/x.c"),
                      self.command("lib/base/x.c", "test", "-I../lib -DSHADOW"))
        self.assert_content()

    def test_names_sources_that_the_build_leaves_out(self):
        self.commands(self.command("lib/base/x.c"))
        status, output = self.run_check()
        self.assertEqual(status, 0, output)
        self.assertIn("not looked at: apps/x.c", output)


@unittest.skipUnless(HAVE, "clang-tidy 14 is not there")
class Kept(Tidy):
    def test_looks_at_nothing_twice(self):
        self.assertEqual(self.looked(), 2)
        self.assertEqual(self.looked(), 0)

    def test_looks_again_at_a_source_that_has_changed(self):
        self.looked()
        self.change("lib/base/x.c", "+ 1", "+ 2")
        self.assertEqual(self.looked(), 1)

    def test_looks_again_at_all_that_include_a_header_which_has_changed(self):
        self.looked()
        self.change("lib/base/x.h", "return a", "return 2 * a")
        self.assertEqual(self.looked(), 2)

    def test_looks_again_when_flags_or_its_configuration_have_changed(self):
        self.looked()
        self.commands(self.command("lib/base/x.c", None, "-I../lib -DX=2"), self.command("apps/x.c"))
        self.assertEqual(self.looked(), 1)
        with open(self.path(".clang-tidy"), "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.assertEqual(self.looked(), 2)

    def test_looks_again_when_the_configuration_of_a_folder_has_changed(self):
        self.looked()
        self.plant("apps/.clang-tidy", "InheritParentConfig: true\nChecks: '-misc-*'\n")
        self.assertEqual(self.looked(), 2)

    def test_tells_again_what_it_has_told(self):
        self.plant_mistake("lib/base/x.c")
        self.assert_caught("lib/base/x.c:8: ")
        self.assert_caught("lib/base/x.c:8: ")

    def test_forgets_what_is_no_more(self):
        self.looked()
        self.change("lib/base/x.c", "+ 1", "+ 2")
        self.looked()
        self.assertEqual(len(os.listdir(self.path("build/tidy"))), 2)


class Without(Tidy):
    def test_is_skipped_where_only_another_version_is(self):
        for name in ("clang-tidy", "clang-tidy-14"):
            self.plant("bin/" + name, "#!/bin/sh\necho LLVM version 19.1.0\n", 0o755)
        script = os.path.join(planted.SCRIPTS, self.check)
        ran = subprocess.run([script, self.root, "--build", self.path("build")], check=False,
                             env={"PATH": self.path("bin") + ":/usr/bin:/bin"}, capture_output=True)
        self.assertEqual(ran.returncode, 77, ran.stdout)

    @unittest.skipUnless(HAVE, "clang-tidy 14 is not there")
    def test_wants_a_build_that_is_configured(self):
        os.remove(self.path("build/compile_commands.json"))
        status, output = self.run_check()
        self.assertEqual(status, 2, output)
        self.assertIn("configure", output)


if __name__ == "__main__":
    planted.main()
