#!/usr/bin/env python3
"""Shows what scripts/container/seccomp-profile prints, and what input it refuses."""
import json
import os
import re

import planted

CALLS = ["io_uring_setup", "io_uring_enter", "io_uring_register"]
KEPT = {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW", "args": []}
BASE = {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "syscalls": [
    KEPT,
    {"names": ["io_uring_setup", "mount"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
    {"names": ["io_uring_enter"], "action": "SCMP_ACT_ERRNO"},
]}


class SeccompProfile(planted.PlantedTest):
    check = "container/seccomp-profile"

    def profile(self, text):
        return self.run_command([planted.SCRIPTS + "/" + self.check, self.plant("base.json", text)])

    def test_allows_the_three_calls_and_keeps_the_rest(self):
        status, output = self.profile(json.dumps(BASE))
        self.assertEqual(status, 0, output)
        rules = [KEPT, {**BASE["syscalls"][1], "names": ["mount"]}, {"names": CALLS, "action": "SCMP_ACT_ALLOW"}]
        self.assertEqual(json.loads(output), {**BASE, "syscalls": rules})

    def test_refuses_what_is_no_profile(self):
        for text in ("{", "[]", '{"defaultAction": "a"}', '{"defaultAction": "a", "syscalls": [{}]}'):
            status, output = self.profile(text)
            self.assertEqual(status, 1, output)
            self.assertIn("base.json is no", output)

    def test_reads_standard_input_and_the_old_form_of_a_rule(self):
        rule = {"name": "io_uring_setup", "action": "SCMP_ACT_ERRNO"}
        status, output = self.run_command(
            ["sh", "-c", f"{planted.SCRIPTS}/{self.check} - < {self.plant('old.json', json.dumps({**BASE, 'syscalls': [rule]}))}"])
        self.assertEqual(status, 0, output)
        self.assertEqual([rule["names"] for rule in json.loads(output)["syscalls"]], [CALLS])

    def test_the_image_installs_what_the_build_needs_and_serves_a_program_of_the_tree(self):
        root = os.path.dirname(planted.SCRIPTS)
        texts = {}
        for path in ("scripts/container/Containerfile", "scripts/install-deps", "apps/meson.build"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
        image = texts["scripts/container/Containerfile"]
        packages = re.search(r"--no-install-recommends (.*) ", image).group(1).split()
        self.assertGreater(len(packages), 3)
        for package in packages:
            self.assertIn(re.sub(r"[0-9.]+$", "", package) + "-dev", texts["scripts/install-deps"])
        self.assertIn("scripts/install-deps build", image)
        self.assertTrue(os.access(os.path.join(root, "scripts/install-deps"), os.X_OK))
        self.assertIn("gyre-echo", image)


if __name__ == "__main__":
    planted.main()
