#!/usr/bin/env python3
"""Proves that scripts/check_format.sh catches what it is for."""
import os
import shutil
import subprocess
import unittest

import planted

GOOD = planted.IDEA + "int gy_x(int a)\n{\n\treturn a + 1;\n}\n"
STYLE = os.path.join(planted.SCRIPTS, "..", ".clang-format")


def have_version_14():
    if shutil.which("clang-format-14"):
        return True
    if not shutil.which("clang-format"):
        return False
    return " 14." in subprocess.run(["clang-format", "--version"], capture_output=True, text=True,
                                    check=True).stdout


class Format(planted.PlantedTest):
    check = "check_format.sh"
    clean = {"lib/base/x.c": GOOD, "apps/x.h": GOOD}

    def setUp(self):
        super().setUp()
        shutil.copy(STYLE, self.root)

    @unittest.skipUnless(have_version_14(), "clang-format 14 is not there")
    def test_is_content_with_our_style(self):
        self.assert_content()

    @unittest.skipUnless(have_version_14(), "clang-format 14 is not there")
    def test_catches_spaces_for_a_tab(self):
        self.plant("lib/base/x.c", GOOD.replace("\treturn", "        return"))
        self.assert_caught("lib/base/x.c:5:")

    @unittest.skipUnless(have_version_14(), "clang-format 14 is not there")
    def test_catches_a_brace_in_the_wrong_place(self):
        self.plant("apps/x.h", GOOD.replace("(int a)\n{", "(int a) {"))
        self.assert_caught("apps/x.h:4:")

    def test_is_skipped_where_only_another_version_is(self):
        self.plant("bin/clang-format", "#!/bin/sh\necho clang-format version 19.1.0\n", 0o755)
        self.plant("bin/clang-format-14", "#!/bin/sh\necho clang-format version 19.1.0\n", 0o755)
        script = os.path.join(planted.SCRIPTS, self.check)
        status, output = self.run_command(
            [script, self.root], env={"PATH": self.path("bin") + ":/usr/bin:/bin"})
        self.assertEqual(status, 77, output)


if __name__ == "__main__":
    planted.main()
