#!/usr/bin/env python3
"""Proves that scripts/check_tree.py catches what it is for."""
import os

import planted


class Tree(planted.PlantedTest):
    check = "check_tree.py"
    clean = {
        "meson.build": "project('x', 'c')\n",
        "README.md": "# x\n",
        ".gitignore": "/build*/\n",
        ".ci/run": "#!/bin/sh\n",
        "apps/meson.build": "executable('gyre-echo', 'echo.c')\n",
        "apps/echo.c": planted.IDEA,
        "apps/examples/meson.build": "foreach name : ['timer']\nendforeach\n",
        "apps/examples/timer.c": planted.IDEA,
        "include/meson.build": "files('gyre/api.h')\n",
        "include/gyre/api.h": planted.IDEA,
        "lib/meson.build": "files('base/log/log.c')\n",
        "lib/base/log/log.c": planted.IDEA,
        "test/meson.build": "unit_tests = {'base': ['list_test']}\nstress = ['inbox']\n"
                            "system = ['echo_test.py']\n",
        "test/unit/base/list_test.c": planted.IDEA,
        "test/stress/inbox.c": planted.IDEA,
        "test/system/echo_test.py": "#!/usr/bin/env python3\n",
    }

    def setUp(self):
        super().setUp()
        os.chmod(self.path(".ci/run"), 0o755)
        os.chmod(self.path("test/system/echo_test.py"), 0o755)
        status, output = self.run_command(["git", "init", "-q", "."])
        self.assertEqual(status, 0, output)

    def caught(self, path, text, *expected):
        self.plant(path, text)
        self.assert_caught(*expected)

    def test_is_content_with_a_tidy_tree(self):
        self.assert_content()

    def test_ignores_what_git_ignores(self):
        self.plant("build/lib.o", "\0\0")
        self.assert_content()

    def test_catches_a_stranger_at_the_top(self):
        self.caught("NOTES.txt", "x\n", "NOTES.txt: does not belong at the top level")

    def test_allows_what_projects_keep_at_the_top(self):
        for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md"):
            with self.subTest(name):
                self.plant(name, "x\n")
                self.assert_content()

    def test_catches_a_folder_of_somebodys_machine(self):
        for folder in ("ho" + "me/ada", "ro" + "ot", "wo" + "rk", "tm" + "p/bash_jobs"):
            with self.subTest(folder):
                self.caught("README.md", f"x\nsee /{folder}/gyre\n", "README.md:2: names a folder")

    def test_allows_paths_of_every_machine_and_relative_ones(self):
        self.plant("README.md", "x\n/usr/bin/env, ../wo" + "rk/x, a/ro" + "ot/x, /tmp/x\n")
        self.assert_content()

    def test_catches_a_binary(self):
        self.caught("lib/base/log.o", "\x7fELF\0\0", "lib/base/log.o: is a binary")

    def test_catches_space_at_the_end_of_a_line(self):
        self.caught("README.md", "x \n", "README.md:1: ends in space")

    def test_catches_a_missing_newline(self):
        self.caught("README.md", "x", "README.md: does not end in a newline")

    def test_catches_a_script_that_is_not_executable(self):
        self.caught("scripts/run", "#!/bin/sh\n", "scripts/run: starts with #!")

    def test_catches_a_unit_test_that_was_forgotten(self):
        self.caught("test/unit/base/hash_test.c", planted.IDEA, "hash_test.c: is named in no")

    def test_catches_a_stress_program_that_was_forgotten(self):
        self.caught("test/stress/box.c", planted.IDEA, "test/stress/box.c: is named in no")

    def test_catches_a_system_test_that_was_forgotten(self):
        self.plant("test/system/nc_test.sh", "#!/bin/sh\n", 0o755)
        self.assert_caught("nc_test.sh: is named in no")

    def test_catches_a_test_of_users_that_was_forgotten(self):
        self.plant("test/install/wrap_test.py", "#!/usr/bin/env python3\n", 0o755)
        self.assert_caught("wrap_test.py: is named in no")

    def test_catches_a_test_that_is_only_named_in_a_comment(self):
        self.change("test/meson.build", "stress = ['inbox']", "# 'inbox'")
        self.assert_caught("test/stress/inbox.c: is named in no")

    def test_catches_a_source_that_was_forgotten(self):
        self.caught("lib/base/hash.c", planted.IDEA, "lib/base/hash.c: is named in no")

    def test_catches_a_program_that_was_forgotten(self):
        self.caught("apps/examples/batch.c", planted.IDEA, "apps/examples/batch.c: is named in no")

    def test_catches_a_header_that_is_not_installed(self):
        self.caught("include/gyre/log.h", planted.IDEA, "include/gyre/log.h: is named in no")

    def test_catches_a_picture_that_no_page_shows(self):
        self.caught("perf/bars.svg", "<svg/>\n", "perf/bars.svg: is shown by no page")
        self.plant("README.md", "x\n[bars](perf/bars.svg) ![bars](bars.svg)\n")
        self.assert_caught("perf/bars.svg: is shown by no page")
        self.plant("README.md", "x\n![bars](perf/bars.svg)\n")
        self.assert_content()

    def test_looks_without_git_too(self):
        self.run_command(["rm", "-rf", ".git"])
        self.assert_content()
        self.caught("NOTES.txt", "x\n", "NOTES.txt: does not belong")


if __name__ == "__main__":
    planted.main()
