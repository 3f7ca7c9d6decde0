#!/usr/bin/env python3
"""Shows what scripts/package fills in, builds and tries, in a small tree and with feigned tools."""
import os
import shutil

import planted

DEBIAN = os.path.join(planted.SCRIPTS, "debian")
BUILDPACKAGE = """#!/bin/sh
echo "dpkg-buildpackage $*" >> "$LOG"
ls >> "$LOG"
touch ../libgyre9_1.2.3-1_amd64.deb ../libgyre9-dbgsym_1.2.3-1_amd64.deb ../gyre_1.2.3-1_amd64.changes
exit "${BUILD_STATUS:-0}"
"""


class Package(planted.PlantedTest):
    clean = {
        "CHANGELOG.md": "# x\n",
        "LICENSE": "MIT License\n\nCopyright (c) 2031 The authors\n",
        "lib/gyre.map": "GYRE_0.1 {\n};\nGYRE_0.2 {\n} GYRE_0.1;\n",
        "lib/meson.build": "both_libraries('gyre',\n  version: '9.8.7',\n  soversion: '9',\n)\n",
        "meson.build": "project('gyre', 'c',\n  version: '1.2.3')\n",
        "scripts/install-deps": '#!/bin/sh\necho "install-deps $*" >> "$LOG"\n',
    }

    def setUp(self):
        super().setUp()
        shutil.copytree(DEBIAN, self.path("scripts/debian"))
        os.chmod(self.path("scripts/install-deps"), 0o755)
        self.plant("bin/dpkg-buildpackage", BUILDPACKAGE, 0o755)
        self.tool("lintian", "LINTIAN_STATUS")
        self.tool("mmdebstrap", "TRIAL_STATUS")

    def tool(self, name, status):
        self.plant("bin/" + name, f'#!/bin/sh\necho "{name} $*" >> "$LOG"\nexit "${{{status}:-0}}"\n', 0o755)

    def package(self, *arguments, **variables):
        environment = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"],
                       "LOG": self.path("log"), **variables}
        script = os.path.join(planted.SCRIPTS, "package")
        status, output = self.run_command([script, *arguments, self.root], env=environment)
        log = self.text("log") if os.path.exists(self.path("log")) else ""
        return status, output, log

    def text(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return file.read()

    def fill(self):
        status, output, _ = self.package("--fill", self.path("debian"))
        self.assertEqual(status, 0, output)

    def assert_fails(self, expected, *arguments, **variables):
        status, output, _ = self.package(*arguments, **variables)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def test_names_the_library_after_its_soname(self):
        self.change("lib/meson.build", "soversion: '9'", "soversion: '0.1'")
        self.fill()
        self.assertIn("\nPackage: libgyre0.1\n", self.text("debian/control"))
        self.assertTrue(os.path.exists(self.path("debian/libgyre0.1.install")))
        self.assertTrue(os.path.exists(self.path("debian/libgyre-sim0.1.install")))
        self.assertTrue(os.path.exists(self.path("debian/libgyre-dev.install")))
        self.assertTrue(self.text("debian/libgyre0.1.symbols").startswith(
            "libgyre.so.0.1 libgyre0.1 #MINVER#\n"))

    def test_fills_in_versions_of_the_tree_and_of_its_symbols(self):
        self.fill()
        self.assertTrue(self.text("debian/changelog").startswith("gyre (1.2.3-1) "))
        self.assertIn(" (symver)GYRE_0.1 0.1\n (symver)GYRE_0.2 0.2\n",
                      self.text("debian/libgyre9.symbols"))
        self.assertIn("Copyright: 2031 ", self.text("debian/copyright"))

    def test_leaves_no_name_in_place_of_a_value(self):
        self.fill()
        for folder, _, names in os.walk(self.path("debian")):
            for name in names:
                self.assertNotRegex(self.text(os.path.join(folder, name)), "@[A-Z]+@")

    def test_keeps_what_must_be_executable_so(self):
        self.fill()
        self.assertTrue(os.access(self.path("debian/rules"), os.X_OK))

    def test_catches_a_value_that_it_does_not_know(self):
        self.plant("scripts/debian/watch", "@COLOUR@\n")
        self.assert_fails("watch: what is @COLOUR@?", "--fill", self.path("debian"))

    def test_catches_a_library_without_a_soname(self):
        self.change("lib/meson.build", "soversion", "so_version")
        self.assert_fails("soversion in lib/meson.build", "--fill", self.path("debian"))

    def test_builds_a_copy_and_leaves_the_tree_alone(self):
        self.run_command(["git", "init", "-q", "."])
        self.plant(".gitignore", "/build*/\n/notes\n")
        self.plant("notes", "x\n")
        status, output, log = self.package()
        self.assertEqual(status, 0, output)
        self.assertIn("install-deps package\n", log)
        self.assertIn("\ndebian\n", log)
        self.assertNotIn("\nnotes\n", log)
        self.assertFalse(os.path.exists(self.path("debian")))
        self.assertNotIn("mmdebstrap", log)
        self.assertEqual(os.path.basename(output.splitlines()[-1]), "libgyre9_1.2.3-1_amd64.deb")

    def test_fails_when_the_build_or_lintian_does(self):
        self.assert_fails("failed: dpkg-buildpackage", BUILD_STATUS="2")
        self.assert_fails("failed: lintian", LINTIAN_STATUS="1")

    def test_tries_the_packages_and_not_their_symbols_in_a_clean_root(self):
        status, output, log = self.package("--check", "--mirror", "http://mirror.test/debian")
        self.assertEqual(status, 0, output)
        tried = [line for line in log.splitlines() if line.startswith("mmdebstrap")]
        self.assertEqual(len(tried), 1, log)
        self.assertIn("libgyre9_1.2.3-1_amd64.deb", tried[0])
        self.assertNotIn("dbgsym", tried[0])
        self.assertTrue(tried[0].endswith(" /dev/null http://mirror.test/debian"), tried[0])

    def test_fails_when_the_trial_does(self):
        self.assert_fails("failed: mmdebstrap", "--check", TRIAL_STATUS="1")


if __name__ == "__main__":
    planted.main()
