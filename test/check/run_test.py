#!/usr/bin/env python3
"""Shows what scripts/run does, in a small tree and with feigned build tools."""
import os
import pty
import shutil
import subprocess

import planted

ECHO = '#!/bin/sh\\necho "echo:$*"\\nexit 5\\n'
TIMER = '#!/bin/sh\\necho "timer:$*"\\nexit 6\\n'
LISTED = ("one of:\n  echo\nor of these examples of actors:\n  timer             Timers: what a timer shows.\n"
          "or of the steps of apps/tutorial/README.md:\n  step1             Step 1: a greeting.\n")


class Run(planted.PlantedTest):
    def setUp(self):
        super().setUp()
        self.plant("scripts/install-deps", f'#!/bin/sh\necho "deps $*" >> {self.path("log")}\n', 0o755)
        shutil.copy(os.path.join(planted.SCRIPTS, "run"), self.path("scripts/run"))
        self.plant("bin/meson", f'#!/bin/sh\necho "meson $*" >> {self.path("log")}\n'
                   'mkdir -p "$2/apps"\ntouch "$2/build.ninja"\n', 0o755)
        self.plant("bin/ninja", f'#!/bin/sh\nprintf \'{ECHO}\' > "$2/apps/gyre-echo"\n'
                   'chmod +x "$2/apps/gyre-echo"\nmkdir -p "$2/apps/gyre-echo.p"\n'
                   'touch "$2/apps/gyre-notes"\n'
                   'mkdir -p "$2/apps/examples/gyre-example-timer.p"\n'
                   f'printf \'{TIMER}\' > "$2/apps/examples/gyre-example-timer"\n'
                   'chmod +x "$2/apps/examples/gyre-example-timer"\n'
                   'mkdir -p "$2/apps/tutorial"\n'
                   'cp "$2/apps/examples/gyre-example-timer" "$2/apps/tutorial/gyre-tutorial-step1"\n', 0o755)
        self.plant("apps/tutorial/step1.c", "/*\n * Step 1: a greeting.\n */\n")
        self.plant("apps/examples/actors/timer.c", "/*\n * Timers: what a timer shows.\n *\n * More.\n */\n")

    def run_it(self, *arguments):
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        return self.run_command([self.path("scripts/run"), *arguments], env=environment, cwd="/")

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def test_builds_release_and_becomes_the_program(self):
        status, output = self.run_it("echo", "--bind", "a b")
        self.assertIn("echo:--bind a b\n", output)
        self.assertEqual(status, 5)
        self.assertIn("deps build", self.log())
        self.assertIn("--buildtype=release", self.log())

    def test_becomes_an_example_or_a_step(self):
        self.assertEqual(self.run_it("timer", "a b")[0], 6)
        self.assertEqual(self.run_it("timer", "a b"), (6, "timer:a b\n"))
        self.assertEqual(self.run_it("step1", "a b"), (6, "timer:a b\n"))

    def test_configures_once(self):
        self.run_it("echo")
        self.assertEqual(self.run_it("echo"), (5, "echo:\n"))
        self.assertEqual(self.log().count("meson setup"), 1)

    def test_lists_the_names_when_one_is_unknown(self):
        status, output = self.run_it("nothing")
        self.assertEqual(status, 2)
        self.assertIn('no program "nothing"', output)
        self.assertTrue(output.endswith(LISTED), output)

    def test_lists_the_names_without_one(self):
        status, output = self.run_it()
        self.assertEqual(status, 2)
        self.assertTrue(output.endswith(LISTED), output)

    def on_terminal(self, *arguments):
        """What it writes to a terminal that is its standard error, and its standard output."""
        terminal, end = pty.openpty()
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        with subprocess.Popen([self.path("scripts/run"), *arguments], env=environment, cwd="/",
                              stdout=subprocess.PIPE, stderr=end, text=True) as ran:
            os.close(end)
            shown = b""
            try:
                while part := os.read(terminal, 1024):
                    shown += part
            except OSError:  # the other end is closed
                pass
            os.close(terminal)
            return shown.decode(), ran.stdout.read(), ran.wait()

    def test_shows_how_far_a_build_is_on_a_terminal_alone(self):
        with open(self.path("bin/ninja"), encoding="utf-8") as file:
            script = file.read()
        self.plant("bin/ninja", script.replace("#!/bin/sh\n", "#!/bin/sh\necho [7/9] building\n"), 0o755)
        shown, said, status = self.on_terminal("echo")
        self.assertIn("[7/9] building", shown)
        self.assertEqual((said, status), ("echo:\n", 5))
        self.assertEqual(self.run_it("echo"), (5, "echo:\n"))

    def test_shows_nothing_on_a_terminal_when_there_is_nothing_to_build(self):
        self.run_it("echo")
        self.plant("bin/ninja", '#!/bin/sh\necho "ninja: no work to do."\n', 0o755)
        self.assertEqual(self.on_terminal("echo"), ("", "echo:\n", 5))

    def test_says_on_a_terminal_that_a_build_failed(self):
        self.plant("bin/ninja", "#!/bin/sh\necho undefined reference\nexit 1\n", 0o755)
        shown, said, status = self.on_terminal("echo")
        self.assertIn("undefined reference", shown)
        self.assertIn("this failed: ninja", shown)
        self.assertEqual((said, status), ("", 1))

    def test_shows_why_a_build_failed(self):
        self.plant("bin/ninja", "#!/bin/sh\necho undefined reference\nexit 1\n", 0o755)
        status, output = self.run_it("echo")
        self.assertEqual(status, 1)
        self.assertIn("undefined reference", output)


if __name__ == "__main__":
    planted.main()
