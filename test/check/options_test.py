#!/usr/bin/env python3
"""Proves that scripts/check_options.py catches what it is for."""
import planted

OPTIONS = """# A comment with option('nothing') in it.
option('allocator', type: 'combo', choices: ['mimalloc', 'libc'], value: 'mimalloc',
  description: 'Where memory comes from (either)')
option('high_events', type: 'integer', min: 1, max: 65535, value: 4,
  description: 'More events than this, and it isn\\'t normal')
option('loops', type : 'integer', min : 0, max : 1024, value : 0,
  description : 'Loops of a system; ' +
    '0: one for each CPU')
option('receive_buffers', type: 'combo', choices: ['shared', 'whole'], value: 'shared',
  description: 'Whether receives share a buffer')
option('spin_ns', type: 'integer', min: -2, max: 1000000000, value: -1,
  description: 'Time to poll in nanoseconds')
option('write_max_bytes', type: 'integer', min: 1024, max: 1073741824, value: 1048576,
  description: 'Bytes before a channel is closed')
"""
HEADER = planted.IDEA + """struct gyre_system_options {
	unsigned loops; /* how many */
	unsigned high_events;
	enum gyre_receive_buffers receive_buffers;
	int64_t spin_ns;
	size_t write_max_bytes;
	const char *name;
};
"""
SOURCE = planted.IDEA + """static const char *const sharing[] = { "shared", "whole", NULL };
static const struct field fields[] = {
	OPTION(high_events, 1, UINT16_MAX),
	OPTION(loops, 0, 1024),
	WORDS(receive_buffers, 1, 2, sharing),
	OPTION(spin_ns, -2, INT64_C(1000) * 1000000),
	OPTION(write_max_bytes, 1024, 1U << 30),
};
"""
CONFIG = "tunables = [\n  'high_events', 'loops', 'receive_buffers',\n  'spin_ns',\n  'write_max_bytes',\n]\n"
README = """# gyre

| command | what |
|---|---|
| other | 1 |

| option | default | what |
|---|---|---|
| `allocator` | `mimalloc` | where memory comes from |
| `loops` | 0 | loops |
| `high_events` | 4 | events |
| `receive_buffers` | shared | sharing |
| `spin_ns` | -1 | polls |
| `write_max_bytes` | 1,048,576 | bytes |
"""


class Options(planted.PlantedTest):
    check = "check_options.py"
    clean = {
        "meson_options.txt": OPTIONS,
        "include/gyre/system.h": HEADER,
        "include/meson.build": CONFIG,
        "lib/system/tunables.c": SOURCE,
        "README.md": README,
    }

    def caught(self, path, old, new, *expected):
        self.change(path, old, new)
        self.assert_caught(*expected)

    def test_is_content_when_all_places_agree(self):
        self.assert_content()

    def test_catches_a_tunable_without_a_field(self):
        self.caught("include/gyre/system.h", "\tint64_t spin_ns;\n", "",
                    "spin_ns is no field of struct gyre_system_options")

    def test_catches_a_tunable_without_bounds_in_the_code(self):
        self.caught("lib/system/tunables.c", "\tOPTION(loops, 0, 1024),\n", "",
                    "loops has no OPTION()")

    def test_catches_a_different_lower_bound(self):
        self.caught("lib/system/tunables.c", "spin_ns, -2", "spin_ns, -1",
                    "lib/system/tunables.c:9: spin_ns is -1 to 1000000000 here, -2 to")

    def test_catches_a_different_upper_bound(self):
        self.caught("lib/system/tunables.c", "1U << 30", "1U << 31", "1024 to 2147483648 here")

    def test_catches_a_bound_that_it_cannot_read(self):
        self.caught("lib/system/tunables.c", "0, 1024", "0, LOOPS_MAX", "loops is 0 to None")

    def test_does_not_take_a_comment_for_a_bound(self):
        self.caught("lib/system/tunables.c", "OPTION(loops, 0, 1024),", "/* OPTION(loops, 0, 1024), */",
                    "loops has no OPTION()")

    def test_counts_the_words_of_a_choice_that_is_a_field(self):
        self.caught("lib/system/tunables.c", "receive_buffers, 1, 2", "receive_buffers, 0, 1",
                    "lib/system/tunables.c:8: receive_buffers is 0 to 1 here, 1 to 2 in")

    def test_catches_a_choice_that_is_a_field_without_bounds(self):
        self.caught("lib/system/tunables.c", "\tWORDS(receive_buffers, 1, 2, sharing),\n", "",
                    "receive_buffers has no OPTION()")

    def test_catches_other_words_than_those_of_a_choice(self):
        self.caught("lib/system/tunables.c", '"whole"', '"half"',
                    "tunables.c:8: the words of receive_buffers are not those of meson_options.txt")

    def test_catches_bounds_of_what_is_no_option(self):
        self.caught("lib/system/tunables.c", "\tOPTION(loops", "\tOPTION(extra, 1, 2),\n\tOPTION(loops",
                    "extra is no tunable")

    def test_catches_a_tunable_that_is_not_configured(self):
        self.caught("include/meson.build", "'loops',", "", "loops does not become a GY_DEFAULT_")

    def test_catches_an_option_that_the_readme_leaves_out(self):
        self.caught("README.md", "| `allocator` | `mimalloc` | where memory comes from |\n", "",
                    "no row for allocator")

    def test_catches_an_old_default_in_the_readme(self):
        self.caught("README.md", "1,048,576", "1,000,000",
                    "README.md:14: the default of write_max_bytes is 1048576, not 1,000,000")

    def test_catches_a_row_of_what_is_no_option(self):
        self.caught("README.md", "| `loops` |", "| `gone` | 1 | x |\n| `loops` |",
                    "README.md:10: gone is no option")

    def test_catches_a_readme_without_the_table(self):
        self.plant("README.md", "# gyre\n")
        self.assert_caught("README.md: has no table")

    def test_catches_options_out_of_order(self):
        self.caught("meson_options.txt", "option('allocator'", "option('zallocator'",
                    "meson_options.txt:4: high_events stands after zallocator")

    def test_catches_an_option_without_a_description(self):
        self.caught("meson_options.txt", "'Time to poll in nanoseconds'", "''",
                    "spin_ns has no description")

    def test_catches_a_tunable_without_bounds(self):
        self.caught("meson_options.txt", " min: 1, max: 65535,", "", "high_events has no min or")


if __name__ == "__main__":
    planted.main()
