#!/usr/bin/env python3
"""Runs a program that was built before structures had grown against today's library.

Copies the public headers, takes the last members of structures away, and builds test/abi/older.c with
them. The program has each structure right before memory that may not be touched, and must come to its end.
Then, for one structure after the other, the older headers pass the size that the structure has today, as
if there were no sizes: the library must then reach over its end, so that the program dies by SIGSEGV.
"""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
import planted  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
BUILD = os.environ["GYRE_BUILD"]
CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
PATIENCE_S = 60

# The last members of structures, which an older program does not have.
YOUNGER = {
    "gyre_acceptor_options": ["ret_address"],
    "gyre_class": ["keep_children", "supervision"],
    "gyre_class_snapshot": ["busy_ns"],
    "gyre_connect_options": ["place"],
    "gyre_counters": ["allocations"],
    "gyre_group_options": ["shrink_after_ns", "count_max", "count_min", "grow_above", "reserved"],
    "gyre_handler": ["send_file"],
    "gyre_idle_options": ["close"],
    "gyre_loop_snapshot": ["promises"],
    "gyre_node_options": ["away_ns", "end_when_declared_down", "listen_local", "users", "users_count", "listen_mode"],
    "gyre_timer_options": ["period_ns"],
    "gyre_type": ["encoding", "tail", "copy"],
}
# The options of a system end in those of its node; without them there is none, and no type of it.
WITHOUT_NODE = {"gyre_system_options": ["node"]}


class Older(planted.PlantedTest):
    def copy_headers(self, younger):
        """The headers without the members of @younger; returns a folder for -I."""
        folder = self.path("include")
        shutil.copytree(os.path.join(ROOT, "include", "gyre"), os.path.join(folder, "gyre"))
        for struct, members in younger.items():
            path = self.header_of(struct)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            start = text.index(f"struct {struct} {{")
            end = text.index("\n};", start)
            body = text[start:end]
            for member in members:
                self.assertRegex(body, rf"\n\t[^\n]*\b{member};")
                body = re.sub(rf"\n\t[^\n]*\b{member};", "", body)
            self.write(path, text[:start] + body + text[end:])
        if "gyre_type" in younger:
            self.edit(os.path.join(folder, "gyre", "declare.h"),
                      r",[\s\\]*\(ENCODING\),[\s\\]*__VA_ARGS__,[\s\\]*\(COPY\) \};", " };")
        return folder

    def header_of(self, struct):
        folder = self.path("include/gyre")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                if f"struct {struct} {{" in file.read():
                    return os.path.join(folder, name)
        raise AssertionError(f"no header has struct {struct}")

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def edit(self, path, pattern, text):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = re.sub(pattern, text, old)
        self.assertTrue(old != new, f"{path} has no {pattern}")
        self.write(path, new)

    def today(self, struct):
        with open(os.path.join(ROOT, "lib", "system", "layouts_growing.c"), encoding="utf-8") as file:
            return re.search(rf"GROWS\({struct}, (\d+)\)", file.read()).group(1)

    def run_older(self, *flags):
        """Builds the program and runs it; its exit status, and what it said."""
        program = self.path("older")
        libraries = os.path.join(BUILD, "lib")
        status, output = self.run_command(
            [*CC, "-std=gnu11", "-O1", "-Wall", "-Werror", *flags, "-I", self.path("include"),
             os.path.join(HERE, "older.c"), "-o", program, "-L", libraries, "-lgyre",
             f"-Wl,-rpath,{libraries}"])
        self.assertEqual(status, 0, output)
        ran = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False, timeout=PATIENCE_S)
        return ran.returncode, ran.stdout

    def assert_serves(self, *flags):
        status, output = self.run_older(*flags)
        self.assertEqual(status, 0, output)
        self.assertIn("served", output)

    def assert_dies(self, struct, *flags):
        """With today's size of @struct the library reaches over its end."""
        status, output = self.run_older(*flags)
        self.assertEqual(status, -signal.SIGSEGV, f"{struct}: {output}")

    def test_a_program_with_todays_headers_serves(self):
        self.copy_headers({})
        self.assert_serves()

    def test_a_program_with_older_structures_serves(self):
        self.copy_headers(YOUNGER)
        self.assert_serves()

    def test_a_program_with_older_options_of_a_system_serves(self):
        self.copy_headers({**YOUNGER, **WITHOUT_NODE})
        self.assert_serves("-DWITHOUT_NODE")

    def dies_where_the_size_is_ignored(self, struct, header, pattern, text):
        self.copy_headers(YOUNGER)
        self.edit(self.path(f"include/gyre/{header}.h"), pattern, text.replace("TODAY", self.today(struct)))
        self.assert_dies(struct)

    def test_options_are_read_over_their_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_connect_options", "connect", r"sizeof\(\*options\)", "TODAY")

    def test_options_of_a_node_are_read_over_their_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_node_options", "system",
                                            r"sizeof\(struct gyre_node_options\)", "TODAY")

    def test_counters_are_written_over_their_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_counters", "counters", r"sizeof\(\*ret_counters\)", "TODAY")

    def test_resolved_options_are_written_over_their_end_where_the_size_is_ignored(self):
        self.copy_headers({**YOUNGER, **WITHOUT_NODE})
        self.edit(self.path("include/gyre/system.h"), r"sizeof\(\*ret_options\)", self.today("gyre_system_options"))
        self.assert_dies("gyre_system_options", "-DWITHOUT_NODE")

    def test_a_class_is_read_over_its_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_class", "actor", r"sizeof\(\*actor_class\)", "TODAY")

    def test_a_handler_is_read_over_its_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_handler", "pipeline", r"sizeof\(\*handler\)", "TODAY")

    def test_options_of_a_handler_are_read_over_their_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_idle_options", "idle", r"sizeof\(\*options\)", "TODAY")

    def test_a_type_is_read_over_its_end_where_the_size_is_ignored(self):
        self.dies_where_the_size_is_ignored("gyre_type", "declare", r"sizeof\(struct gyre_type\)", "TODAY")


if __name__ == "__main__":
    planted.main()
