#!/usr/bin/env python3
"""Proves that test/simulate/plant.py --check sees when a fault cannot be planted any more."""
import os
import sys

import planted

PLANT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simulate", "plant.py")
LIST = "test/simulate/faults.py"
CODE = "lib/loop/park.c"


def list_of(*faults):
    return f"FAULTS = {list(faults)!r}\n"


def fault(**other):
    return {"name": "sleeps-too-long", "file": CODE, "old": "wake();\n", "new": "", "says": "It sleeps.", **other}


class Faults(planted.PlantedTest):
    clean = {CODE: planted.IDEA + "void f(void)\n{\n\twake();\n}\n", LIST: list_of(fault())}

    def run_check(self, *arguments):
        return self.run_command([sys.executable, PLANT, "--check", "--root", self.root, *arguments])

    def caught(self, *faults, says):
        self.plant(LIST, list_of(*faults))
        self.assert_caught(LIST, says)

    def test_a_fault_whose_text_stands_once_passes(self):
        self.assert_content()

    def test_a_text_that_has_gone_is_caught(self):
        self.change(CODE, "wake();", "rouse();")
        self.assert_caught("sleeps-too-long: its text stands 0 times in " + CODE)

    def test_a_text_that_stands_twice_is_caught(self):
        self.change(CODE, "\twake();\n", "\twake();\n\twake();\n")
        self.assert_caught("sleeps-too-long: its text stands 2 times in " + CODE)

    def test_a_file_that_has_gone_is_caught(self):
        self.caught(fault(file="lib/loop/sleep.c"), says="lib/loop/sleep.c is not there")

    def test_a_fault_that_changes_nothing_is_caught(self):
        self.caught(fault(new="wake();\n"), says="it changes nothing")

    def test_a_name_that_is_there_twice_is_caught(self):
        self.caught(fault(), fault(), says="there are two of this name")

    def test_a_name_that_is_not_words_with_dashes_is_caught(self):
        self.caught(fault(name="Sleeps_1"), says="its name is not words with dashes")

    def test_a_field_that_is_missing_is_caught(self):
        without = fault()
        del without["says"]
        self.caught(without, says="its fields are not file, name, new, old, says")

    def test_a_list_without_faults_is_caught(self):
        self.caught(says="it is empty")


if __name__ == "__main__":
    planted.main()
