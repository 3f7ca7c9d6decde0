#!/usr/bin/env python3
"""Proves that scripts/check_spelling.sh catches what it is for."""
import os
import shutil
import unittest

import planted

# Spelt in two parts, so that this file passes the check itself.
WRONG = "recie" + "ve"
CLEAN = {"README.md": "# x\nAn answer that was received.\n", "lib/base/x.c": planted.IDEA}


@unittest.skipUnless(shutil.which("codespell"), "codespell is not there")
class Spelling(planted.PlantedTest):
    check = "check_spelling.sh"
    clean = CLEAN

    def test_is_content_with_words_that_are_right(self):
        self.assert_content()

    def test_catches_a_misspelling_in_prose(self):
        self.plant("README.md", f"# x\nAs you {WRONG} it.\n")
        self.assert_caught("README.md:2: ", f"{WRONG} ==> receive")

    def test_catches_a_misspelling_in_a_comment(self):
        self.plant("lib/base/x.c", f"/* We {WRONG} it. */\n")
        self.assert_caught("lib/base/x.c:1: ")

    def test_catches_a_misspelling_in_a_hidden_file(self):
        self.plant(".ci/run", f"# {WRONG}\n")
        self.assert_caught(".ci/run:1: ")

    def test_catches_a_misspelling_in_a_name(self):
        self.plant(f"lib/base/{WRONG}.c", planted.IDEA)
        self.assert_caught(f"{WRONG}.c")

    def test_catches_as_many_as_an_exit_status_has_values(self):
        self.plant("README.md", f"{WRONG}\n" * 256)
        self.assert_caught("README.md:256: ")

    def test_does_not_look_into_build_folders(self):
        self.plant("build/log.txt", f"{WRONG}\n")
        self.assert_content()

    def test_looks_at_what_git_would_keep_and_at_nothing_else(self):
        self.run_command(["git", "init", "-q", "."])
        self.plant(".gitignore", "/notes.txt\n")
        self.plant("notes.txt", f"{WRONG}\n")
        self.assert_content()
        self.plant("lib/base/new file.c", f"/* {WRONG} */\n")
        self.assert_caught("lib/base/new file.c:1: ")

    def test_leaves_out_what_was_deleted_and_not_yet_committed(self):
        self.run_command(["git", "init", "-q", "."])
        self.run_command(["git", "add", "-A"])
        os.remove(self.path("lib/base/x.c"))
        self.assert_content()


class Skipped(planted.PlantedTest):
    check = "check_spelling.sh"
    clean = CLEAN

    def test_is_skipped_where_codespell_is_not(self):
        os.makedirs(self.path("bin"))
        for name in ("sh", "dirname"):
            os.symlink(shutil.which(name), self.path("bin/" + name))
        status, output = self.run_command([os.path.join(planted.SCRIPTS, self.check), self.root],
                                          env={"PATH": self.path("bin")})
        self.assertEqual(status, 77, output)


if __name__ == "__main__":
    planted.main()
