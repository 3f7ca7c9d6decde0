#!/usr/bin/env python3
"""Shows what scripts/test does and counts, in a small tree and with feigned tools."""
import json
import os
import re
import shutil
import signal
import subprocess

import planted

MESON = """#!/bin/sh
echo "meson $*" >> "$LOG"
[ -z "${GYRE_ENGINE:-}" ] || echo "engine $GYRE_ENGINE: meson $1 $7" >> "$LOG"
case "$1" in
setup)
	[ "$2" != "$ROOT/build-test/$BAD_BUILD" ] || { echo "ERROR: planted"; exit 1; }
	mkdir -p "$2/meson-logs"
	touch "$2/build.ninja"
	[ ! -d "$ROOT/described" ] || cp -r "$ROOT/described" "$2/meson-info"
	;;
test)
	for word; do
		[ "$before" != --logbase ] || log=$word
		before=$word
	done
	[ "$3" = "$ROOT/build-test/$NO_TESTS" ] || cp "$ROOT/testlog.json" "$3/meson-logs/$log.json"
	exit 1
	;;
esac
"""


class Test(planted.PlantedTest):
    def setUp(self):
        super().setUp()
        for name in ("test", "count_tests.py", "print_coverage.py", "test_targets.py"):
            os.makedirs(self.path("scripts"), exist_ok=True)
            shutil.copy(os.path.join(planted.SCRIPTS, name), self.path("scripts"))
        self.plant("scripts/install-deps", '#!/bin/sh\necho "deps $*" >> "$LOG"\nexit "${DEPS_STATUS:-0}"\n',
                   0o755)
        self.plant("bin/meson", MESON, 0o755)
        self.plant("bin/ninja", '#!/bin/sh\necho "ninja $*" >> "$LOG"\n', 0o755)
        self.compiler("clang", "exit 0")
        self.compiler("gcc", "exit 0")
        self.result("OK")

    def compiler(self, name, program):
        """A compiler whose programs are a line of shell."""
        text = f'#!/bin/sh\nprintf "#!/bin/sh\\n{program}\\n" > "$3"\nchmod +x "$3"\n'
        self.plant("bin/" + name, text, 0o755)

    def result(self, result):
        entry = {"name": "gyre:x / y", "stdout": "", "result": result, "returncode": 0}
        self.plant("testlog.json", json.dumps(entry) + "\n")

    def environment(self, **variables):
        own = {"PATH": self.path("bin") + ":" + os.environ["PATH"], "LOG": self.path("log"),
               "ROOT": self.root, "BAD_BUILD": "-", "NO_TESTS": "-"}
        return {**{name: value for name, value in os.environ.items() if name != "GYRE_ENGINE"}, **own, **variables}

    def run_it(self, *arguments, **variables):
        status, output = self.run_command([self.path("scripts/test"), *arguments],
                                          env=self.environment(**variables))
        log = ""
        if os.path.exists(self.path("log")):
            with open(self.path("log"), encoding="utf-8") as file:
                log = file.read()
        return status, output.splitlines(), log

    def test_runs_every_build_and_sums_up_in_the_last_line(self):
        status, lines, log = self.run_it()
        self.assertEqual((status, lines[-1]), (0, "7 passed, 0 failed, 0 skipped"))
        for expected in ("--werror", "-Dassertions=full", "-Db_sanitize=address,undefined",
                         "-Db_sanitize=thread", "-Dreceive_buffers=whole", "-Dunit_runner=criterion",
                         "--buildtype=release",
                         "--suite unit --suite system --suite fuzz --suite random",
                         "channel net", "--suite unit --suite system --suite stress --suite random --suite cpp",
                         "engine epoll: meson test epoll", "--logbase tsan --num-processes",
                         "engine epoll: meson test tsan-epoll"):
            self.assertIn(expected, log)
        self.assertEqual(log.count("meson setup"), 5)

    def test_runs_more_at_once_when_nothing_is_compiled_beside(self):
        def processes(log):
            return [int(jobs) for jobs in re.findall(r"^meson test .*--num-processes (\d+)", log, re.MULTILINE)]
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(processes(self.run_it()[2]), [processors + 1] * 2 + [2 * processors] * 5)
        os.remove(self.path("log"))
        self.assertEqual(processes(self.run_it("--quick")[2]), [2 * processors])

    def describe(self, targets, tests):
        """What meson tells of each build that it configures."""
        shutil.rmtree(self.path("described"), ignore_errors=True)
        self.plant("described/intro-targets.json", json.dumps(targets))
        self.plant("described/intro-tests.json", json.dumps(tests))
        self.plant("described/meson-info.json", json.dumps({"directories": {"source": self.root}}))

    @staticmethod
    def built(log, top):
        """The targets that ninja was last given for the build @top."""
        return [line.split()[3:] for line in log.splitlines() if line.startswith(f"ninja -C {top}")][-1]

    def test_builds_only_what_is_run_where_not_all_is(self):
        for name in ("asan", "tsan", "debug"):
            top = os.path.join(self.root, "build-test", name)
            targets = [{"id": target + "@exe", "build_by_default": target == "app", "filename": [f"{top}/{target}"],
                        "defined_in": self.path("apps/meson.build")}
                       for target in ("app", "unit-x", "stress-x", "cpp-x")]
            tests = [{"name": "x", "suite": ["gyre:" + suite], "depends": [suite + "-x@exe"]}
                     for suite in ("unit", "stress", "cpp")]
            self.describe(targets, tests)
            shutil.rmtree(self.path("build-test"), ignore_errors=True)
            _, _, log = self.run_it()
            self.assertEqual(self.built(log, top), {"asan": ["app", "unit-x"], "tsan": ["app", "stress-x"],
                                                    "debug": ["app", "unit-x", "stress-x", "cpp-x"]}[name])

    def test_compiles_perf_and_the_examples_with_gcc_once_each(self):
        for name, built in (("debug", ["app", "example", "unit-x"]), ("release", ["app", "speed"])):
            top = os.path.join(self.root, "build-test", name)
            targets = [{"id": target + "@exe", "build_by_default": target != "unit-x", "filename": [f"{top}/{target}"],
                        "defined_in": f"{self.root}/{folder}/meson.build"}
                       for target, folder in (("app", "apps"), ("example", "apps/examples"), ("speed", "perf"),
                                              ("unit-x", "test"))]
            suite, depends = ("unit", ["unit-x@exe"]) if name == "debug" else ("instructions", [])
            self.describe(targets, [{"name": "x", "suite": ["gyre:" + suite], "depends": depends}])
            shutil.rmtree(self.path("build-test"), ignore_errors=True)
            self.assertEqual(self.built(self.run_it()[2], top), built)
        shutil.rmtree(self.path("build-test"))
        quick = self.run_it("--quick")[2]
        self.assertEqual(self.built(quick, os.path.join(self.root, "build-test", "debug")), [])

    def test_lets_clang_leave_out_what_it_compiles_with_sanitizers(self):
        top = os.path.join(self.root, "build-test", "clang")
        targets = [{"id": name + "@exe", "build_by_default": True, "filename": [f"{top}/{name}"],
                    "defined_in": f"{self.root}/{folder}/meson.build"}
                   for name, folder in (("lib", "lib"), ("app", "apps"), ("speed", "perf"), ("unit-net", "test"),
                                        ("unit-base", "test"), ("model", "test/model"))]
        tests = [{"name": name, "suite": ["gyre:unit"], "depends": [f"unit-{name}@exe"]} for name in ("net", "base")]
        self.describe(targets, tests)
        _, _, log = self.run_it()
        self.assertEqual(self.built(log, top), ["lib", "speed", "unit-net", "model"])
        self.assertRegex(log, r"meson setup \S*/tsan .*--werror")
        # gcc's thread sanitizer leaves what it compiles to clang.
        shutil.rmtree(self.path("build-test"))
        os.remove(self.path("log"))
        self.compiler("clang", "exit 1")
        _, _, log = self.run_it()
        self.assertEqual(self.built(log, top), [])
        self.assertNotRegex(log, r"meson setup \S*/tsan .*--werror")

    def test_does_only_the_first_when_in_a_hurry(self):
        status, lines, log = self.run_it("--quick")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(log.count("meson setup"), 1)

    def feign_gcovr(self, program):
        self.plant("bin/gcovr", '#!/bin/sh\necho "gcovr $*" >> "$LOG"\n'
                   'while [ "$1" != --json-summary ]; do shift; done\n' + program, 0o755)

    def test_prints_what_was_reached_and_builds_nothing_else(self):
        summary = {"files": [{"filename": "lib/base/a.c", "line_total": 8, "line_covered": 6,
                              "branch_total": 4, "branch_covered": 1}]}
        self.plant("summary.json", json.dumps(summary))
        old = self.plant("build-test/coverage/lib/a.gcda", "of a run before")
        self.feign_gcovr('cp "$ROOT/summary.json" "$2"\n')
        status, lines, log = self.run_it("--coverage")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 0 skipped"), lines)
        self.assertIn("base 6 8 75.0 % 1 4 25.0 % under 90 %".split(), [line.split() for line in lines])
        self.assertFalse(os.path.exists(old))
        self.assertEqual(log.count("meson setup"), 1)
        for expected in ("deps coverage\n", "-Db_coverage=true", "-fprofile-update=atomic",
                         "--suite unit --suite system --suite stress"):
            self.assertIn(expected, log)

    def test_fails_when_coverage_was_not_counted(self):
        for program in ("exit 1\n", 'echo \'{"files": []}\' > "$2"\n'):
            with self.subTest(program):
                self.feign_gcovr(program)
                status, lines, _ = self.run_it("--coverage")
                self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"), lines)

    def test_fails_when_a_test_failed(self):
        self.result("FAIL")
        status, lines, _ = self.run_it("--quick")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_counts_a_build_that_failed_and_goes_on(self):
        for name in ("debug", "asan", "tsan", "clang", "release"):
            with self.subTest(name):
                status, lines, _ = self.run_it(BAD_BUILD=name)
                self.assertIn("ERROR: planted", lines)
                runs = 5 if name in ("debug", "tsan") else 6  # the epoll engine has no builds of its own
                self.assertEqual((status, lines[-1]), (1, f"{runs} passed, 1 failed, 0 skipped"))

    def test_counts_a_run_that_left_no_log(self):
        status, lines, _ = self.run_it(NO_TESTS="asan")
        self.assertEqual((status, lines[-1]), (1, "6 passed, 1 failed, 0 skipped"))

    def test_counts_no_log_of_a_run_before_where_none_begins(self):
        old = self.plant("build-test/clang/meson-logs/clang.json", '{"name": "gyre:x / y", "result": "OK"}\n')
        os.makedirs(self.path("build-test/clang.out"))  # so its output cannot be written
        status, lines, _ = self.run_it()
        self.assertEqual((status, lines[-1]), (1, "6 passed, 1 failed, 0 skipped"))
        self.assertFalse(os.path.exists(old))

    def test_leaves_no_build_behind_when_it_is_told_to_end(self):
        # Each build says who it is, and holds its pipe until it has ended.
        self.plant("bin/ninja", '#!/bin/sh\nexec > "$ROOT/pipe-${2##*/}"\necho $$\nexec sleep 1000\n', 0o755)
        for name in ("debug", "asan"):
            os.mkfifo(self.path("pipe-" + name))
        with subprocess.Popen([self.path("scripts/test")], env=self.environment(),
                              stdout=subprocess.DEVNULL) as process, \
                open(self.path("pipe-debug"), encoding="ascii") as first, \
                open(self.path("pipe-asan"), encoding="ascii") as beside:
            foreground = int(first.readline())
            beside.readline()
            process.terminate()
            os.kill(foreground, signal.SIGTERM)
            self.assertNotEqual(process.wait(), 0)
            self.assertEqual(beside.read(), "")

    def test_leaves_no_test_behind_when_it_is_told_to_end(self):
        held = MESON.replace("test)\n", 'test)\n[ "$3" != "$ROOT/build-test/clang" ] || '
                             '{ exec > "$ROOT/pipe"; echo begun; exec sleep 1000; }\n')
        self.plant("bin/meson", held, 0o755)
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([self.path("scripts/test")], env=self.environment(),
                              stdout=subprocess.DEVNULL) as process, \
                open(self.path("pipe"), encoding="ascii") as beside:
            self.assertEqual(beside.readline(), "begun\n")
            process.terminate()
            self.assertNotEqual(process.wait(), 0)
            self.assertEqual(beside.read(), "")

    def test_shows_what_was_run_beside_others_in_one_piece(self):
        self.plant("bin/meson", MESON.replace("test)\n", 'test)\necho "$3"\n'), 0o755)
        lines = self.run_it()[1]
        for name in ("clang", "release", "tsan"):
            after = lines.index(f"{self.root}/build-test/{name}")
            self.assertRegex(lines[after - 1], f"^== {name}: tested ")

    def test_takes_the_compiler_whose_thread_sanitizer_starts(self):
        self.compiler("clang", "exit 66")
        status, lines, _ = self.run_it()
        self.assertEqual(status, 0)
        self.assertTrue(any(line.startswith("== tsan: building with gcc (") for line in lines), lines)

    def test_fails_when_no_thread_sanitizer_starts(self):
        self.compiler("clang", "exit 66")
        self.compiler("gcc", "exit 66")
        status, lines, _ = self.run_it()
        self.assertEqual((status, lines[-1]), (1, "5 passed, 1 failed, 0 skipped"))

    def test_stops_when_something_is_missing_and_cannot_be_installed(self):
        status, _, log = self.run_it(DEPS_STATUS="1")
        self.assertEqual((status, log), (1, "deps test\n"))

    def test_refuses_an_unknown_option(self):
        self.assertEqual(self.run_it("--fast")[0], 2)


if __name__ == "__main__":
    planted.main()
