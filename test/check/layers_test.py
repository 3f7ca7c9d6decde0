#!/usr/bin/env python3
"""Proves that scripts/check_layers.py catches what it is for."""
import planted

WHEEL = planted.IDEA + '#include "loop/wheel.h"\n#include "base/list.h"\n#include <gyre/api.h>\n'


class Layers(planted.PlantedTest):
    check = "check_layers.py"
    clean = {
        "include/gyre/api.h": planted.IDEA + "#include <stdint.h>\n",
        "include/gyre/address.h": planted.IDEA + "#include <gyre/api.h>\n",
        "lib/base/list.h": planted.IDEA + '#include "gyre_config.h"\n',
        "lib/ring/ring.c": planted.IDEA + '#include <liburing.h>\n#include "base/list.h"\n',
        "lib/loop/wheel.h": planted.IDEA + "#include <net/if.h>\n",
        "lib/loop/wheel.c": WHEEL,
        "lib/channel/input/input.c": planted.IDEA + '#include "channel/channel.h"\n',
        "lib/channel/channel.h": planted.IDEA + '#include "loop/wheel.h"\n',
        "lib/channel/pipeline/events.c": planted.IDEA + '#include "channel/file/region.h"\n',
        "lib/channel/file/region.h": planted.IDEA + '#include "channel/channel.h"\n',
        "lib/channel/codec/codec.h": planted.IDEA + '#include "channel/channel.h"\n',
        "lib/channel/codec/line.c": planted.IDEA + '#include "channel/codec/codec.h"\n',
        "lib/channel/tls/tls.h": planted.IDEA,
        "lib/net/pipe.c": planted.IDEA + '#include "channel/file/region.h"\n',
        "apps/echo.c": planted.IDEA + '#include <gyre/api.h>\n#include "options.h"\n',
        "apps/options.h": planted.IDEA,
    }

    def test_is_content_with_includes_that_go_down(self):
        self.assert_content()

    def test_catches_an_include_that_goes_up(self):
        self.plant("lib/base/list.h", planted.IDEA + '#include "loop/wheel.h"\n')
        self.assert_caught("lib/base/list.h:4:", "floor loop, which is above base")

    def test_catches_an_include_that_goes_up_behind_spaces_and_comments(self):
        self.plant("lib/base/list.h", planted.IDEA + '  #  include /* */ "loop/wheel.h"\n'
                   '#  include "actor/home.h"\n')
        self.assert_caught("lib/base/list.h:5:")

    def test_ignores_an_include_in_a_comment_and_in_a_string(self):
        self.plant("lib/base/list.h", planted.IDEA + '/*\n#include "loop/wheel.h"\n*/\n'
                   'static const char *text = "\\n#include \\"loop/wheel.h\\"";\n')
        self.assert_content()

    def test_catches_a_room_that_the_core_of_its_floor_knows(self):
        self.plant("lib/channel/input/input.c", planted.IDEA + '#include "channel/codec/codec.h"\n')
        self.assert_caught("lib/channel/input/input.c:4:", "the core of floor channel must not know")

    def test_catches_a_room_that_knows_another(self):
        self.plant("lib/channel/codec/line.c", planted.IDEA + '#include "channel/tls/tls.h"\n')
        self.assert_caught("lib/channel/codec/line.c:4:", "room channel/codec must not know")

    def test_catches_a_room_that_knows_another_where_they_are_apart(self):
        self.plant("lib/system/observe/stall.c", planted.IDEA + '#include "system/machine/cpus.h"\n')
        self.assert_caught("lib/system/observe/stall.c:4:", "room system/observe must not know")

    def test_lets_a_core_use_rooms_that_are_apart(self):
        self.plant("lib/system/system.c", planted.IDEA + '#include "system/machine/cpus.h"\n')
        self.assert_content()

    def test_lets_open_rooms_know_each_other(self):
        self.plant("lib/actor/mail/send.c", planted.IDEA + '#include "actor/stack/stack.h"\n')
        self.assert_content()

    def test_takes_the_parts_of_a_core_for_the_core(self):
        self.plant("lib/channel/channel.c", planted.IDEA + '#include "channel/output/output.h"\n')
        self.plant("lib/channel/tls/tls.c", planted.IDEA + '#include "channel/input/input.h"\n')
        self.assert_content()

    def test_catches_another_room_in_a_file_with_an_exception(self):
        self.plant("lib/channel/pipeline/events.c", planted.IDEA + '#include "channel/file/region.h"\n'
                   '#include "channel/tls/tls.h"\n')
        self.assert_caught("lib/channel/pipeline/events.c:5:")

    def test_catches_an_exception_that_is_not_needed(self):
        self.plant("lib/channel/pipeline/events.c", planted.IDEA + '#include "channel/channel.h"\n')
        self.assert_caught("lib/channel/pipeline/events.c:", "take the exception back")

    def test_catches_a_room_of_a_floor_above(self):
        self.plant("lib/loop/wheel.c", WHEEL + '#include "channel/tls/tls.h"\n')
        self.assert_caught("floor channel, which is above loop")

    def test_catches_liburing_outside_ring(self):
        self.plant("lib/loop/wheel.c", WHEEL + "#include <liburing.h>\n")
        self.assert_caught("lib/loop/wheel.c:7:", "for lib/ring/ alone")

    def test_catches_the_kernels_ring_header_outside_ring(self):
        self.plant("lib/loop/wheel.c", WHEEL + "#include <linux/io_uring.h>\n")
        self.assert_caught("for lib/ring/ alone")

    def test_catches_liburing_in_a_public_header(self):
        self.plant("include/gyre/api.h", planted.IDEA + "#include <liburing.h>\n")
        self.assert_caught("include/gyre/api.h:4:")

    def test_catches_a_private_header_in_a_public_one(self):
        self.plant("include/gyre/api.h", planted.IDEA + '#include "base/list.h"\n')
        self.assert_caught("not a public header")

    def test_catches_a_header_without_its_floor(self):
        self.plant("lib/loop/wheel.c", planted.IDEA + '#include "wheel.h"\n')
        self.assert_caught('write "loop/wheel.h"')

    def test_catches_a_path_that_climbs(self):
        self.plant("lib/loop/wheel.c", planted.IDEA + '#include "../actor/house.h"\n')
        self.assert_caught("climbs")

    def test_catches_our_own_header_in_angle_brackets(self):
        self.plant("lib/ring/ring.c", planted.IDEA + "#include <loop/wheel.h>\n")
        self.assert_caught("is ours")

    def test_catches_benchmarks_and_tests_inside_the_library(self):
        self.plant("lib/loop/wheel.c", WHEEL + '#include "perf/common/report.h"\n')
        self.assert_caught("not of the library")

    def test_catches_a_file_in_no_floor(self):
        self.plant("lib/util/misc.c", planted.IDEA)
        self.assert_caught("lib/util/misc.c: is in no floor")

    def test_catches_a_program_that_knows_the_library_inside(self):
        self.plant("apps/echo.c", planted.IDEA + '#include "loop/wheel.h"\n')
        self.assert_caught("apps/echo.c:4:", "inside the library")


if __name__ == "__main__":
    planted.main()
