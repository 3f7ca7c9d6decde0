#!/usr/bin/env python3
"""Proves that scripts/check_concepts.py catches what it is for."""
import os

import planted

TREE = os.path.join(planted.SCRIPTS, "..")
CHAT = "apps/tutorial/step5.c"


def files_of(*folders):
    """The pages, and the sources of folders, as they are in this tree."""
    paths = ["README.md"]
    for folder in folders:
        paths += [os.path.join(folder, name) for name in os.listdir(os.path.join(TREE, folder))
                  if name.endswith((".h", ".c", ".md"))]
    found = {}
    for path in paths:
        with open(os.path.join(TREE, path), encoding="utf-8") as file:
            found[path] = file.read()
    return found


class Concepts(planted.PlantedTest):
    check = "check_concepts.py"
    clean = files_of("include/gyre", "apps/kv", "apps/tutorial")

    def test_is_content_with_what_was_counted(self):
        self.assert_content()

    def test_catches_a_name_of_no_concept(self):
        self.plant("apps/kv/more.c", "int more = GYRE_BOND_PART;\n")
        self.assert_caught("GYRE_BOND_PART is used, and stands under no idea")

    def test_does_not_look_at_comments_and_texts(self):
        self.plant("apps/kv/more.c", "/* gyre_poison() */\nconst char *more = \"gyre_poison\";\n")
        self.assert_content()

    def test_does_not_count_names_of_the_program(self):
        self.plant("apps/kv/more.c", "int gyre_of_my_own;\n")
        self.assert_content()

    def test_catches_a_name_that_is_used_no_longer(self):
        self.change(CHAT, "gyre_take(stack)", "NULL")
        self.assert_caught("gyre_take stands under Message, and is used nowhere",
                           "README.md:", "its table is not what was counted")

    def test_catches_a_table_that_says_otherwise(self):
        self.change("README.md", "| 1 | System |", "| 2 | System |")
        self.assert_caught("README.md:", "its table is not what was counted")

    def test_catches_a_step_that_has_grown(self):
        self.change("apps/tutorial/step2.c", "\n", "\n\n")
        self.assert_caught("apps/tutorial/README.md:", "its table is not what was counted")

    def test_catches_a_page_without_a_table(self):
        self.change("README.md", "check_concepts.py: begin", "check_concepts.py: here")
        self.assert_caught("README.md: its table is not between the two comments")

    def test_writes_the_tables_anew(self):
        self.change("apps/tutorial/step2.c", "\n", "\n\n")
        self.assert_content("--keep")
        self.assert_content()


if __name__ == "__main__":
    planted.main()
