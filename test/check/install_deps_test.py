#!/usr/bin/env python3
"""Shows what scripts/install-deps does as root, with sudo and with neither, on a feigned system."""
import os
import shutil

import planted

SCRIPT = os.path.join(planted.SCRIPTS, "install-deps")
PRESENT = ("gcc libc6-dev meson ninja-build pkg-config python3 liburing-dev liburcu-dev libc-ares-dev "
           "libssl-dev").split()
MISSING = "libmimalloc-dev"


class InstallDeps(planted.PlantedTest):
    def setUp(self):
        super().setUp()
        for name in ("sh", "mktemp", "rm", "cat", "chmod", "env"):
            os.makedirs(self.path("bin"), exist_ok=True)
            os.symlink(shutil.which(name), self.path("bin/" + name))
        self.be(0)
        self.have(PRESENT + [MISSING])
        self.tool("apt-get", f'echo "apt-get $*" >> {self.path("log")}\nexit ${{APT_STATUS:-0}}\n')

    def tool(self, name, text):
        self.plant("bin/" + name, "#!/bin/sh\n" + text, 0o755)

    def be(self, user):
        self.tool("id", f"echo {user}\n")

    def have(self, packages):
        lines = "".join(f"{name}) echo installed ;;\n" for name in packages)
        self.tool("dpkg-query", f'for name; do :; done\ncase "$name" in\n{lines}*) exit 1 ;;\nesac\n')

    def install(self, *arguments, **variables):
        environment = {"PATH": self.path("bin"), "TMPDIR": self.root, **variables}
        status, output = self.run_command([SCRIPT, *arguments], env=environment)
        if not os.path.exists(self.path("log")):
            return status, output, ""
        with open(self.path("log"), encoding="utf-8") as file:
            return status, output, file.read()

    def test_does_nothing_and_is_silent_when_nothing_is_missing(self):
        self.assertEqual(self.install("build"), (0, "", ""))

    def test_installs_only_what_is_missing(self):
        self.have(PRESENT)
        status, output, log = self.install("build")
        self.assertEqual(status, 0, output)
        self.assertEqual(output, f"installing: {MISSING}\n")
        self.assertIn("update", log)
        self.assertTrue(log.endswith(f" install {MISSING}\n"), log)

    def test_wants_more_for_tests_than_for_a_build(self):
        status, output, log = self.install()
        self.assertEqual(status, 0, output)
        self.assertIn("libcriterion-dev", log)
        self.assertIn("doxygen", log)
        self.assertNotIn("liburing-dev", log)

    def test_installs_what_the_reference_needs_alone(self):
        status, output, log = self.install("docs")
        self.assertEqual(status, 0, output)
        self.assertEqual(output, "installing: doxygen graphviz\n")
        self.assertTrue(log.endswith(" install doxygen graphviz\n"), log)

    def feign_install(self, script):
        """An apt-get that runs @script as dpkg does the scripts of packages: $folder comes first in its PATH."""
        self.tool("apt-get", 'case "$*" in *" install "*) ;; *) exit 0 ;; esac\nset -e\n'
                  'for word; do case "$word" in DPkg::Path=*) PATH=${word#*=} ;; esac; done\n'
                  'folder=${PATH%%:*}\n' + script)

    def test_has_postgresql_make_no_cluster_and_start_nothing(self):
        self.feign_install('run() { test "$(command -v "$1")" = "$folder/$1"; "$@"; }\n'
                           "run pg_createcluster -u postgres --no-status 15 main\n"
                           "run invoke-rc.d postgresql start 15\n"
                           "run invoke-rc.d --skip-systemd-native postgresql start\n"
                           "run deb-systemd-invoke start postgresql.service\n"
                           f'echo "$PATH" >>{self.path("log")}\n')
        status, output, log = self.install()
        self.assertEqual(status, 0, output)
        folder, *others = log.rstrip("\n").split(":")
        self.assertEqual(others, ["/usr/sbin", "/usr/bin", "/sbin", "/bin"])
        self.assertFalse(os.path.exists(folder), "it left something behind")

    def test_has_nginx_start_neither_now_nor_later(self):
        self.feign_install('run() { test "$(command -v "$1")" = "$folder/$1"; "$@"; }\n'
                           "run invoke-rc.d nginx start\n"
                           "run deb-systemd-invoke start nginx.service\n"
                           "run deb-systemd-helper enable nginx.service\n"
                           f'echo done >>{self.path("log")}\n')
        status, output, log = self.install("peers")
        self.assertEqual((status, log), (0, "done\n"), output)

    def test_has_redis_start_neither_now_nor_later(self):
        self.feign_install('run() { test "$(command -v "$1")" = "$folder/$1"; "$@"; }\n'
                           "run invoke-rc.d redis-server start\n"
                           "run deb-systemd-invoke start redis-server.service\n"
                           "run deb-systemd-helper enable redis-server.service\n"
                           f'echo done >>{self.path("log")}\n')
        status, output, log = self.install("peers")
        self.assertEqual((status, log), (0, "done\n"), output)

    def test_leaves_other_services_to_who_starts_them(self):
        self.feign_install(f'cat "$folder/"*-rc.d "$folder/deb-systemd-"* >>{self.path("log")}\n')
        status, output, log = self.install()
        self.assertEqual(status, 0, output)
        for name in ("invoke-rc.d", "deb-systemd-invoke", "deb-systemd-helper"):
            self.assertIn(f'PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec {name} "$@"\n', log)

    def test_wants_other_tools_for_packages(self):
        status, output, log = self.install("package")
        self.assertEqual(status, 0, output)
        self.assertIn("lintian", log)
        self.assertNotIn("libcriterion-dev", log)

    def test_goes_through_sudo_when_not_root(self):
        self.be(1000)
        self.have(PRESENT)
        self.tool("sudo", f'echo "sudo $*" >> {self.path("log")}\nexec "$@"\n')
        status, output, log = self.install("build")
        self.assertEqual(status, 0, output)
        self.assertIn("sudo apt-get", log)

    def test_needs_no_sudo_when_nothing_is_missing(self):
        self.be(1000)
        self.assertEqual(self.install("build"), (0, "", ""))

    def test_says_in_one_line_what_to_do_with_neither_root_nor_sudo(self):
        self.be(1000)
        self.have(PRESENT)
        status, output, log = self.install("build")
        self.assertEqual((status, log), (1, ""))
        self.assertEqual(output.count("\n"), 1, output)
        self.assertIn(f"apt-get install {MISSING}", output)

    def test_shows_why_apt_failed(self):
        self.have(PRESENT)
        self.tool("apt-get", "echo no network\nexit 100\n")
        status, output, _ = self.install("build")
        self.assertEqual(status, 1)
        self.assertIn("no network", output)

    def test_says_what_is_needed_where_there_is_no_apt(self):
        os.remove(self.path("bin/apt-get"))
        status, output, _ = self.install("build")
        self.assertEqual(status, 0)
        self.assertIn("liburing-dev", output)

    def test_refuses_an_unknown_word(self):
        self.assertEqual(self.install("everything")[0], 2)


if __name__ == "__main__":
    planted.main()
