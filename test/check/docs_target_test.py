#!/usr/bin/env python3
"""Shows what the option docs does: the target is there where it can be, and what is installed."""
import os
import shutil

import planted

ROOT = os.path.dirname(os.path.abspath(planted.SCRIPTS))
BARE = ["-Dtests=disabled", "-Dapps=false", "-Dperf=false"]


class DocsTarget(planted.PlantedTest):
    def setUp(self):
        super().setUp()
        compiler = os.environ.get("GYRE_CC", "")
        self.environment = {**os.environ, **({"CC": compiler} if compiler else {})}

    def meson(self, *arguments):
        return self.run_command(["meson", *arguments], env=self.environment)

    def set_up(self, *options):
        return self.meson("setup", self.path("build"), ROOT, *BARE, *options)

    def without_doxygen(self):
        return "--native-file=" + self.plant("tools.ini", "[binaries]\ndoxygen = 'no-such-doxygen'\n")

    def needs_doxygen(self):
        if not shutil.which("doxygen") or not shutil.which("dot"):
            self.skipTest("doxygen or dot is missing")

    def test_installs_html_and_manual_pages_when_it_is_enabled(self):
        self.needs_doxygen()
        status, output = self.set_up("-Ddocs=enabled", "--prefix=/usr")
        self.assertEqual(status, 0, output)
        status, output = self.meson("compile", "-C", self.path("build"), "docs")
        self.assertEqual(status, 0, output)
        status, output = self.meson("install", "-C", self.path("build"), "--no-rebuild",
                                    "--tags=doc,man", "--destdir", self.path("root"))
        self.assertEqual(status, 0, output)
        for path in ("doc/gyre/html/index.html", "man/man3/gyre_notify.3", "man/man7/gyre-actors.7"):
            self.assertTrue(os.path.isfile(self.path("root/usr/share/" + path)), path)

    def test_has_no_target_and_says_why_without_doxygen(self):
        status, output = self.set_up(self.without_doxygen())
        self.assertEqual(status, 0, output)
        self.assertIn("No reference: doxygen or dot is missing", output)
        status, output = self.meson("compile", "-C", self.path("build"), "docs")
        self.assertNotEqual(status, 0)
        self.assertIn("target not found", output)

    def test_has_no_target_when_it_is_disabled(self):
        status, output = self.set_up("-Ddocs=disabled")
        self.assertEqual(status, 0, output)
        self.assertNotIn("No reference", output)
        self.assertNotEqual(self.meson("compile", "-C", self.path("build"), "docs")[0], 0)

    def test_fails_without_doxygen_when_it_is_enabled(self):
        status, output = self.set_up("-Ddocs=enabled", self.without_doxygen())
        self.assertNotEqual(status, 0)
        self.assertIn("no-such-doxygen", output)


if __name__ == "__main__":
    planted.main()
