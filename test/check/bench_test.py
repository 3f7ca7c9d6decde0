#!/usr/bin/env python3
"""Proves what scripts/bench says of figures: how a sweep reads its values and draws them, and tables."""
import contextlib
import io
import json
import os
import re
import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

import planted

sys.path.insert(0, planted.SCRIPTS)
# pylint: disable=wrong-import-position
import bench_gates  # noqa: E402
import bench_instructions  # noqa: E402
import bench_plot  # noqa: E402
import bench_sweep  # noqa: E402
import bench_table  # noqa: E402
import check_options  # noqa: E402
from benchlib import BenchError, Case, Metric, Progress, Settings, Target, Variant, bench  # noqa: E402

TREE = Path(planted.SCRIPTS).resolve().parent
BENCH = TREE / "scripts" / "bench"
FIGURES = [TREE / "perf" / name for name in ("figures.json", "growth.json", "instructions.json")]
OPTIONS = bench_sweep.options_of_tree()
FIELDS = check_options.fields_of_struct(str(TREE), [])


class Sweep(unittest.TestCase):
    def refused(self, *words):
        with self.assertRaises(BenchError) as caught:
            bench_sweep.parse(words, OPTIONS)
        return str(caught.exception)

    def test_every_tunable_is_swept_or_has_a_reason_not_to_be(self):
        tunables = {name for name, option in OPTIONS.items() if option.is_tunable(FIELDS)}
        self.assertEqual(tunables, bench_sweep.SWEEPS.keys() | bench_sweep.UNSWEPT.keys())

    def test_every_tunable_has_a_row_on_the_page_of_tuning(self):
        page = (TREE / "scripts/doc/pages/tuning.md").read_text(encoding="utf-8")
        for name in bench_sweep.SWEEPS.keys() | bench_sweep.UNSWEPT.keys():
            self.assertRegex(page, rf"(?m)^\| `{name}` \|")

    def test_own_values_are_within_the_bounds(self):
        for name in bench_sweep.SWEEPS:
            option, values = bench_sweep.parse([name], OPTIONS)
            self.assertIn(str(option.default), values)
            self.assertGreater(len(values), 1)

    def test_values_are_sorted_and_the_default_is_among_them(self):
        option, values = bench_sweep.parse(["run_budget", "1_000", "16,4", "16"], OPTIONS)
        self.assertEqual((option.name, values), ("run_budget", ["4", "16", "256", "1000"]))

    def test_words_stay_in_their_order(self):
        self.assertEqual(bench_sweep.parse(["receive_buffers", "whole"], OPTIONS)[1], ["whole", "shared"])

    def test_negative_values_are_values(self):
        self.assertEqual(bench_sweep.parse(["spin_ns", "-2", "500"], OPTIONS)[1], ["-2", "-1", "500"])

    def test_refuses_what_is_out_of_bounds_or_no_value(self):
        self.assertIn("run_budget is 1 to 1000000, not 0", self.refused("run_budget", "0"))
        self.assertIn("run_budget is a number, not many", self.refused("run_budget", "many"))
        self.assertIn("one of shared, whole, not 1", self.refused("receive_buffers", "1"))

    def test_refuses_an_option_that_there_is_not_or_that_nothing_shows(self):
        self.assertIn("budget is no tunable; there are buffer_bytes", self.refused("budget"))
        self.assertIn("assertions is no tunable", self.refused("assertions"))
        self.assertIn("decides when an ask fails", self.refused("ask_timeout_ns"))

    def test_draws_a_bar_for_each_value_and_the_ratio_to_the_default(self):
        lines = bench_sweep.draw(Metric("x", "hops/s"), {"4": 5e6, "256": 20e6, "1024": 10e6}, "256")
        self.assertEqual(lines, [
            "  hops/s",
            "        4        5M   0.250  " + 10 * "#",
            "  *   256       20M   1.000  " + 40 * "#",
            "     1024       10M   0.500  " + 20 * "#",
        ])

    def test_draws_small_values_and_none_and_a_default_that_failed(self):
        lines = bench_sweep.draw(Metric("x", "y"), {"1": 1.0, "2": 1000.0, "3": 0.0}, "9")
        self.assertEqual([line.split()[-1] for line in lines[1:]], ["#", 40 * "#", "-"])


class Program(planted.PlantedTest):
    """scripts/bench itself, which measures programs that are planted."""

    def bench(self, *arguments):
        return self.run_command([str(BENCH), *arguments])

    def test_sweeps_by_the_flag_of_a_program_in_alternating_runs(self):
        self.plant("perf/ring", '#!/bin/sh\necho "$*" >> log\nfor last; do case $last in\n'
                   'run_budget=*) budget=${last#*=};; esac; done\n'
                   'echo "{\\"hops_per_s\\": $((budget * 1000))}"\n', 0o755)
        status, output = self.bench("--no-build", "--build", self.root, "--runs", "2", "--quick",
                                    "--json", self.path("out.json"), "--sweep", "run_budget", "64", "128")
        self.assertEqual(status, 0, output)
        self.assertIn("medians of 2 alternating runs, with the ratio to the default (*), 256", output)
        self.assertIn("     64       64k   0.250  " + 10 * "#", output)
        self.assertIn("  *  256      256k   1.000  " + 40 * "#", output)
        with open(self.path("log"), encoding="utf-8") as file:
            order = re.findall(r"--set run_budget=(\d+)", file.read())
        self.assertEqual(order, ["64", "128", "256", "128", "256", "64"])
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["results"][0]["summaries"]["64"]["hops_per_s"]["median"], 64000)

    def test_fails_when_a_value_cannot_be_measured(self):
        self.plant("perf/ring", "#!/bin/sh\necho no such tunable >&2\nexit 1\n", 0o755)
        status, output = self.bench("--no-build", "--build", self.root, "--runs", "1", "--sweep", "run_budget")
        self.assertEqual(status, 1, output)
        self.assertIn("FAILED, ring ended with 1: no such tunable", output)

    def test_refuses_a_bad_value_before_it_builds(self):
        status, output = self.bench("--build", self.path("build"), "--sweep", "run_budget", "0")
        self.assertEqual((status, output), (1, "bench: run_budget is 1 to 1000000, not 0\n"))
        self.assertFalse(os.path.exists(self.path("build")))

    def test_the_readme_has_the_tables_of_the_kept_figures(self):
        page = (TREE / "README.md").read_text(encoding="utf-8")
        tables = page.partition(bench_table.BEGIN)[2].partition(bench_table.END)[0].strip()
        status, output = self.bench("--table", *map(str, FIGURES))
        self.assertEqual(status, 0, output)
        self.assertEqual(tables, output.strip(), "run scripts/bench --table perf/figures.json perf/growth.json "
                         "perf/instructions.json --into README.md")

    def test_the_readme_shows_the_picture_of_the_kept_figures(self):
        page = (TREE / "README.md").read_text(encoding="utf-8")
        self.assertRegex(page, r"!\[[^]]+\]\(perf/figures\.svg\)")
        status, output = self.bench("--table", str(FIGURES[0]), "--only", "ring,ask,fanin,echo",
                                    "--plot", "figures.svg")
        self.assertEqual((status, output), (0, ""))
        with open(self.path("figures.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), (TREE / "perf/figures.svg").read_text(encoding="utf-8"),
                             "run scripts/bench --table perf/figures.json --only ring,ask,fanin,echo "
                             "--plot perf/figures.svg")

    def test_puts_tables_between_the_marks_of_a_page(self):
        self.plant("page.md", f"before\n{bench_table.BEGIN}\nold\n{bench_table.END}\nafter\n")
        figures = {"figures": {"echo": 1234.4}, "compiler": "GCC 1"}
        self.plant("kept.json", json.dumps(figures))
        status, output = self.bench("--table", "kept.json", "--into", "page.md")
        self.assertEqual((status, output), (0, ""))
        with open(self.path("page.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("| echo | 1,234 |", page)
        self.assertTrue(page.startswith("before\n") and page.endswith("\nafter\n") and "old" not in page, page)
        self.plant("page.md", "no marks\n")
        status, output = self.bench("--table", "kept.json", "--into", "page.md")
        self.assertEqual(status, 1)
        self.assertIn("page.md lacks the lines", output)

    def test_refuses_a_file_of_something_else(self):
        for text in ("{", "{}", '{"results": [1]}', '{"results": [{"case": "x"}]}'):
            self.plant("bad.json", text)
            status, output = self.bench("--table", "bad.json")
            self.assertEqual(status, 1)
            self.assertIn("bad.json is no file that scripts/bench has written", output)


class Table(unittest.TestCase):
    def lines(self, *results):
        return bench_table.tables_of_results({"machine": {"system": "here", "command": "bench -x"},
                                              "results": list(results)})

    def test_divides_medians_and_leaves_out_empty_columns(self):
        lines = self.lines({"question": "echo", "case": "50 connections", "summaries": {
            "gyre": {"requests_per_s": {"median": 300000}, "server_cpu_ns_per_request": {"median": 90}},
            "io_uring": {"requests_per_s": {"median": 200000}, "server_cpu_ns_per_request": {"median": 100}},
        }})
        self.assertEqual(lines, [
            "**Servers**", "",
            "| servers | gyre | rate ÷ limit | CPU ÷ limit |", "| --- | --- | --- | --- |",
            "| TCP echo: 50 connections | 300k requests/s | 1.50 | 0.90 |", "",
            "Measured by `bench -x`: here."])

    def test_whole_buffers_are_compared_with_whole_buffers(self):
        lines = self.lines({"question": "echo", "case": "50 connections", "summaries": {
            "gyre": {"server_cpu_ns_per_request": {"median": 90}},
            "io_uring": {"server_cpu_ns_per_request": {"median": 100}},
            "whole": {"server_cpu_ns_per_request": {"median": 120}},
            "io_uring whole": {"server_cpu_ns_per_request": {"median": 150}},
        }})
        self.assertEqual(lines[2], "| servers | CPU ÷ limit | CPU ÷ limit, whole buffers |")
        self.assertEqual(lines[4], "| TCP echo: 50 connections | 0.90 | 0.80 |")

    def test_takes_kept_ratios_and_pairs(self):
        lines = self.lines({"question": "nodes", "case": "ring", "ratios": {
            "sockets": {"hops_per_s": [0.5, 0.75]}, "with a secret": {"cpu_ns_per_hop": 0.5}},
            "summaries": {"gyre": {"hops_per_s": {"median": [1e6, 2e6]}}}})
        self.assertEqual(lines[2], "| nodes | gyre | rate ÷ plain sockets | CPU with a secret ÷ without |")
        self.assertEqual(lines[4], "| nodes: ring | 1M to 2M hops/s | 0.50 to 0.75 | 2.00 |")


RING = {"question": "ring", "case": "a & b", "summaries": {
    "gyre": {"hops_per_s": {"median": 50.0, "deviation": 1.0, "min": 40.0, "max": 60.0}},
    "limit": {"hops_per_s": {"median": 100.0, "deviation": 1.0, "min": 90.0, "max": 120.0}}}}


KEPT = {"question": "echo", "case": "50 connections", "summaries": {"gyre": {"requests_per_s": {"median": 300}}},
        "ratios": {"io_uring": {"requests_per_s": 1.5, "server_cpu_ns_per_request": 0.5},
                   "libuv": {"server_cpu_ns_per_request": 0.8},
                   "io_uring whole": {"server_cpu_ns_per_request": 0.9}}}


class Plot(unittest.TestCase):
    @staticmethod
    def elements(kind, results):
        root = ElementTree.fromstring(bench_plot.picture(results))
        return [element for element in root.iter() if element.tag.endswith("}" + kind)]

    def texts(self, results):
        return [text.text for text in self.elements("text", results)]

    def test_draws_a_bar_for_each_variant_with_its_spread_and_the_ratio(self):
        paper, *bars = self.elements("rect", [RING])
        self.assertEqual([bar.get("class") for bar in bars], ["gyre", "other"])
        widths = [float(bar.get("width")) for bar in bars]
        self.assertAlmostEqual(widths[1], 2 * widths[0], delta=0.2)
        spreads = [float(line.get("x2")) - float(line.get("x1")) for line in self.elements("line", [RING])]
        self.assertAlmostEqual(spreads[0] / widths[0], 20 / 50, delta=0.01)
        self.assertTrue(all(float(line.get("x2")) < float(paper.get("width"))
                            for line in self.elements("line", [RING])))
        self.assertEqual(self.texts([RING])[:2], ["ring, hops per s", "a & b"])
        self.assertEqual(self.texts([RING])[4:], ["limit", "100", "gyre/it 0.50"])

    def test_draws_kept_ratios_by_the_metric_that_most_others_have(self):
        texts = self.texts([KEPT])
        self.assertEqual(texts[:2], ["TCP echo, server CPU per request, gyre = 1", "50 connections"])
        self.assertEqual(texts[2:], ["gyre", "1", "io_uring", "2", "gyre/it 0.50", "libuv", "1.2", "gyre/it 0.80"])
        self.assertEqual(self.elements("line", [KEPT]), [])

    def test_leaves_out_cases_that_gyre_was_not_measured_in_and_rows_of_several(self):
        others = {"question": "ring", "case": "c", "summaries": {"limit": RING["summaries"]["limit"]}}
        several = {"question": "unix", "case": "d", "summaries": {"gyre": {"x_per_s": {"median": [1, 2]}}},
                   "ratios": {"io_uring": {"x_per_s": [0.5, 0.6]}}}
        self.assertEqual(len(self.elements("rect", [RING, others])), 3)
        for result in (others, several):
            with self.assertRaises(BenchError):
                bench_plot.picture([result])

    def test_many_cases_stand_in_two_columns_below_their_headings(self):
        paper = self.elements("rect", [RING] * 9 + [KEPT])[0]
        self.assertEqual(paper.get("width"), str(2 * bench_plot.WIDTH))
        self.assertEqual(self.texts([RING] * 9 + [KEPT]).count("ring, hops per s"), 1)
        self.assertEqual(self.elements("rect", [RING] * 8 + [KEPT])[0].get("width"), str(bench_plot.WIDTH))

    def test_draws_runs_that_did_nothing(self):
        none = {"hops_per_s": {"median": 0.0, "deviation": 0.0, "min": 0.0, "max": 0.0}}
        bars = self.elements("rect", [{"question": "x", "case": "y", "summaries": {"gyre": none}}])
        self.assertEqual(float(bars[1].get("width")), 0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Shown(unittest.TestCase):
    """What is said while runs go on."""

    def run_case(self, out):
        seconds = iter(range(0, 10000, 30))
        failing = iter([1.0, None])

        def fail(_):
            value = next(failing)
            if value is None:
                raise BenchError("broken")
            return {"x": value}

        variants = [Variant("gyre", "perf", lambda _: {"x": 2.0}), Variant("limit", "perf", fail),
                    Variant("peer", "no/such/program", fail)]
        case = Case("ring", "one", variants, [Metric("x", "x/s")], [Target("x", ">=", 1)])
        progress = Progress([case, case], 3, out, lambda: next(seconds))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            result = bench(case, Settings(TREE, 3, True, False, False), progress)
        return progress, result, said.getvalue()

    def test_a_terminal_is_told_which_run_and_how_long_the_rest_takes(self):
        out = Terminal()
        progress, result, _ = self.run_case(out)
        lines = [line for line in out.getvalue().split("\r\x1b[K") if line]
        self.assertEqual(lines[0], "case 1 of 2, ring: run 1 of 3 of gyre")
        # Of 18 runs 3 are left out at once, and 2 when one has failed.
        self.assertEqual(lines[1], "case 1 of 2, ring: run 1 of 3 of limit, about 7 min left")
        self.assertEqual(len(lines), 5)
        self.assertTrue(out.getvalue().endswith("\x1b[K"))
        self.assertEqual((progress.done, progress.left), (4, 9))
        self.assertEqual(result["failures"], ["ring, one, limit: broken"])

    def test_a_file_is_told_nothing_of_it(self):
        out = io.StringIO()
        _, _, said = self.run_case(out)
        self.assertEqual(out.getvalue(), "")
        self.assertIn("target x/s >= 1, is 2: met", said)


class Gates(unittest.TestCase):
    def report(self, state, cost):
        verdict = {"key": "hops_per_s", "target": ">= 0.55 of limit", "value": 0.6, "state": state}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = bench_gates.report([{"question": "ring", "case": "two", "targets": [verdict]}],
                                        [("ring", cost, 125, cost <= 125)])
        return status, said.getvalue()

    def test_are_met_when_each_was_measured_and_reached(self):
        status, said = self.report("met", 120)
        self.assertEqual(status, 0)
        self.assertIn("ring: two           hops per s >= 0.55 of limit  0.6  met\n"
                      "instructions: ring  <= 125                       120  met\n"
                      "2 of 2 gates met", said)

    def test_fail_when_one_is_missed_or_was_not_measured(self):
        for state, cost in (("MISSED", 120), ("not measured", 120), ("met", 126)):
            status, said = self.report(state, cost)
            self.assertEqual(status, 1)
            self.assertIn("1 of 2 gates met", said)

    def test_of_instructions_are_of_cases_that_there_are(self):
        self.assertLessEqual(bench_instructions.GATES.keys(),
                             {case.name for case in bench_instructions.cases()})


if __name__ == "__main__":
    planted.main()
