"""What the tests of the checks share: a small tree that is in order, and ways to spoil it.

Each test writes a tree into a temporary folder, plants one fault, runs a check of scripts/ on it, and
looks whether the check fails and says so where the fault is; and that it is content without the fault.
Results are printed as TAP, so that meson counts each.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")
IDEA = "/*\n * A file of a small tree, which is here so that something can be planted in it.\n */\n"


class PlantedTest(unittest.TestCase):
    """A temporary tree, at first with the files of @clean; @check is the script under test."""

    check = ""
    clean = {}

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="gyre-planted.")
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in self.clean.items():
            self.plant(path, text)

    def path(self, path):
        return os.path.join(self.root, path)

    def plant(self, path, text, mode=0o644):
        whole = self.path(path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(whole, mode)
        return whole

    def change(self, path, old, new):
        """Puts @new in the place of @old, which must be there."""
        with open(self.path(path), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        self.plant(path, text.replace(old, new, 1), os.stat(self.path(path)).st_mode & 0o777)

    def run_command(self, command, **more):
        """Exit status and all output of a command."""
        more.setdefault("cwd", self.root)
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False, **more)
        return ran.returncode, ran.stdout

    def run_check(self, *arguments):
        return self.run_command([os.path.join(SCRIPTS, self.check), self.root, *arguments])

    def assert_content(self, *arguments):
        status, output = self.run_check(*arguments)
        self.assertEqual(status, 0, output)

    def assert_caught(self, *expected, arguments=()):
        """The check fails and says each of @expected."""
        status, output = self.run_check(*arguments)
        self.assertEqual(status, 1, output)
        for text in expected:
            self.assertIn(text, output)


class TapResult(unittest.TestResult):
    """Prints each test's outcome as a line of TAP."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def say(self, test, outcome, remark=""):
        self.count += 1
        name = test.id().split(".", 1)[-1].replace("test_", "", 1).replace("#", "")
        print(f"{outcome} {self.count} - {name}{remark}", flush=True)

    def explain(self, error):
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "ok", f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "not ok")
        self.explain(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say(subtest, "not ok")
            self.explain(err)

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "not ok")
        self.explain(err)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print("TAP version 13", flush=True)
    result = TapResult()
    suite.run(result)
    print(f"1..{result.count}")
    sys.exit(0 if result.wasSuccessful() else 1)
