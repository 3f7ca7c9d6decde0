#!/usr/bin/env python3
"""Proves that scripts/check_tutorial.py catches what it is for."""
import planted

PAGE = "apps/tutorial/README.md"
SOURCE = "int main(void)\n{\n\treturn 0;\n}\n\nint other(void)\n{\n\treturn 1;\n}\n"
TEXT = ("# A page\n\n```sh\nscripts/run\n```\n\n```c step1.c\nint main(void)\n{\n\treturn 0;\n}\n```\n\n"
        "```c step2.c\n\treturn 1;\n```\n")


class Tutorial(planted.PlantedTest):
    check = "check_tutorial.py"
    clean = {
        PAGE: TEXT,
        "apps/tutorial/step1.c": SOURCE,
        "apps/tutorial/step2.c": SOURCE,
    }

    def caught(self, old, new, *expected):
        self.change(PAGE, old, new)
        self.assert_caught(*expected)

    def test_is_content_with_what_stands_so(self):
        self.assert_content()

    def test_catches_a_line_that_is_other(self):
        self.caught("\treturn 0;", "\treturn 2;", f"{PAGE}:10: step1.c does not say so")

    def test_catches_a_source_that_has_changed(self):
        self.change("apps/tutorial/step1.c", "main(void)", "main(int argc)")
        self.assert_caught(f"{PAGE}:8: step1.c does not say so")

    def test_catches_lines_that_do_not_follow_each_other(self):
        self.caught("{\n\treturn 0;", "{\n\treturn 1;", "step1.c does not say so")

    def test_catches_a_line_that_was_left_out(self):
        self.caught("{\n\treturn 0;\n", "{\n", "step1.c does not say so")

    def test_catches_a_part_of_a_line(self):
        self.caught("\treturn 1;", "\treturn 1", "step2.c does not say so")

    def test_catches_another_indentation(self):
        self.caught("\treturn 1;", "        return 1;", "step2.c does not say so")

    def test_catches_a_block_without_a_source(self):
        self.caught("```c step2.c", "```c", "README.md:14: this block names no source",
                    "apps/tutorial/step2.c: the page shows nothing of it")

    def test_catches_a_source_that_is_not_there(self):
        self.caught("```c step2.c", "```c step9.c", "README.md:14: there is no step9.c")

    def test_catches_an_empty_block(self):
        self.caught("```c step2.c\n\treturn 1;\n", "```c step2.c\n\n", "README.md:14: this block is empty")

    def test_catches_a_block_that_is_not_closed(self):
        self.caught("\treturn 1;\n```\n", "\treturn 1;\n", "README.md:14: this block is not closed")

    def test_catches_a_source_of_which_nothing_is_shown(self):
        self.plant("apps/tutorial/step3.c", SOURCE)
        self.assert_caught("apps/tutorial/step3.c: the page shows nothing of it")


if __name__ == "__main__":
    planted.main()
