"""What the questions of scripts/bench share: cases, variants and targets, how programs are run, and how
a case is measured and printed.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

RUN_SECONDS_MAX = 120
GYRE = "gyre"


class BenchError(Exception):
    """A program could not be measured; the text says why."""


@dataclass(frozen=True)
class Metric:
    key: str
    label: str
    scale: float = 1  # from what the program prints to what the table shows


@dataclass(frozen=True)
class Target:
    """A bound for gyre's median of a metric, or for its ratio to that of another variant."""

    key: str
    relation: str  # ">=" or "<="
    bound: float
    against: Optional[str] = None

    def value(self, medians):
        value = medians.get(GYRE, {}).get(self.key)
        if self.against is None or value is None:
            return value
        other = medians.get(self.against, {}).get(self.key)
        return value / other if other else None

    def met(self, value):
        return value >= self.bound if self.relation == ">=" else value <= self.bound

    def text(self):
        versus = f" of {self.against}" if self.against else ""
        return f"{self.relation} {number(self.bound)}{versus}"


@dataclass(frozen=True)
class Variant:
    """A program to run: measure() takes the settings and returns its metrics by key."""

    name: str
    program: str  # below the build folder, or a path of another one
    measure: Callable


@dataclass
class Case:
    question: str
    name: str
    variants: list
    metrics: list
    targets: list = field(default_factory=list)


@dataclass
class Settings:
    build: Path
    runs: int
    quick: bool
    full: bool
    priority: bool
    peers: bool = False
    connections: Optional[list] = None  # of echo cases; None: a few that tell most
    sizes: Optional[list] = None
    depths: Optional[list] = None

    def count(self, full_count):
        return full_count // 10 if self.quick else full_count

    def path(self, program):
        return self.build / program

    def bare_build(self):
        """The folder of the build that neither accounts for time nor watches for stalls."""
        return self.build.with_name(self.build.name + "-bare")


# Running programs


def prepare(priority):
    """In a new process: as many descriptors as it may have, and before others if that is wanted."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if not priority:
        return
    os.setsid()  # a session of its own is a scheduling group of its own
    try:
        os.nice(-19)
        Path("/proc/self/autogroup").write_text("-19", encoding="ascii")
    except OSError:
        pass  # not root: measured as any other program


def start(settings, argv):
    return subprocess.Popen(
        [str(argument) for argument in argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: prepare(settings.priority),
    )


def finish(process):
    """What the program printed. It has to end by itself, with status 0."""
    name = Path(process.args[0]).name
    try:
        output, errors = process.communicate(timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise BenchError(f"{name} did not end within {RUN_SECONDS_MAX} s") from None
    if process.returncode != 0:
        reason = (errors.strip() or output.strip()).splitlines()
        raise BenchError(f"{name} ended with {process.returncode}: {reason[-1] if reason else ''}")
    return output


def last_object(output):
    """The last line of @output that is a JSON object, or an empty one."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return {}
    return {}


def measure_program(program, *options):
    """A way to measure: run it with --json, take what it prints."""

    def measure(settings):
        values = last_object(finish(start(settings, [settings.path(program), *options, "--json"])))
        if not values:
            raise BenchError(f"{program} printed no JSON object")
        return values

    return measure


def pair(gyre, limit, loops, options):
    """A program of gyre's and its limit program, with the same options, on the same CPUs."""
    options = ["--loops", loops, *options]
    cpus = ",".join(str(cpu) for cpu in range(loops))
    return [
        Variant(GYRE, gyre, measure_program(gyre, *options, "--cpus", cpus)),
        Variant("limit", limit, measure_program(limit, *options, "--pin")),
    ]


# Measuring and printing


class Progress:
    """On a terminal, a line that says which run of how many is under way, and how long the rest takes by
    what the runs before took. It stands on standard error, and goes before anything else is printed."""

    def __init__(self, cases, runs, out=sys.stderr, clock=time.monotonic):
        self.out = out
        self.clock = clock
        self.cases = len(cases)
        self.left = sum(len(case.variants) for case in cases) * runs
        self.case = 0
        self.done = 0
        self.started = clock()
        self.shown = False

    def begin_case(self):
        self.case += 1

    def begin_run(self, case, turn, runs, name):
        if not self.out.isatty():
            return
        rest = ""
        if self.done > 0:
            seconds = (self.clock() - self.started) / self.done * self.left
            rest = f", about {span_of_time(seconds)} left"
        self.clear()
        self.out.write(f"case {self.case} of {self.cases}, {case.question}: run {turn + 1} of {runs} of "
                       f"{name}{rest}")
        self.out.flush()
        self.shown = True

    def end_run(self):
        self.done += 1
        self.left -= 1

    def leave_out(self, count):
        """That many runs will not be made."""
        self.left -= count

    def clear(self):
        if self.shown:
            self.out.write("\r\x1b[K")
            self.out.flush()
            self.shown = False


def span_of_time(seconds):
    minutes = round(seconds / 60)
    return f"{round(seconds)} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def number(value):
    """Four digits that count, and a letter for what is large."""
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"


def run_case(case, settings, progress):
    """The runs of each variant by name; a variant that cannot be measured is left out."""
    runs = {}
    failures = []
    for variant in case.variants:
        if settings.path(variant.program).exists():
            runs[variant.name] = []
        else:
            progress.leave_out(settings.runs)
            print(f"  {variant.name}: skipped, {variant.program} is not built")
    for turn in range(settings.runs):
        shift = turn % len(case.variants)
        for variant in case.variants[shift:] + case.variants[:shift]:
            if variant.name not in runs:
                continue
            progress.begin_run(case, turn, settings.runs, variant.name)
            try:
                runs[variant.name].append(variant.measure(settings))
                progress.end_run()
            except BenchError as error:
                progress.clear()
                progress.leave_out(settings.runs - turn)
                failures.append(f"{case.question}, {case.name}, {variant.name}: {error}")
                print(f"  {variant.name}: FAILED, {error}")
                del runs[variant.name]
    progress.clear()
    return runs, failures


def summarize(values):
    median = statistics.median(values)
    deviation = statistics.median(abs(value - median) for value in values)
    return {"median": median, "deviation": deviation, "min": min(values), "max": max(values)}


def summarize_runs(case, runs):
    """Summaries by variant and key, of those metrics that the programs gave."""
    summaries = {}
    for name, results in runs.items():
        summaries[name] = {}
        for metric in case.metrics:
            values = [result[metric.key] for result in results
                      if isinstance(result.get(metric.key), (int, float))]
            if values:
                summaries[name][metric.key] = summarize(values)
    return summaries


def ratio_to(summaries, name, key):
    """gyre's median as a ratio to that of @name, as text."""
    mine = summaries.get(GYRE, {}).get(key)
    other = summaries[name][key]
    if name == GYRE or mine is None or other["median"] == 0:
        return ""
    return f"{mine['median'] / other['median']:.3f}"


def print_table(case, summaries):
    titles = ["median", "MAD", "min", "max", "gyre/it"]
    print(f"  {'':26}{'':14}" + "".join(f"{title:>10}" for title in titles))
    for metric in case.metrics:
        label = metric.label
        for name, summary in summaries.items():
            if metric.key not in summary:
                continue
            row = summary[metric.key]
            cells = [number(row[key] * metric.scale)
                     for key in ("median", "deviation", "min", "max")]
            cells.append(ratio_to(summaries, name, metric.key))
            print(f"  {label:26}{name:14}" + "".join(f"{cell:>10}" for cell in cells))
            label = ""


def judge(case, summaries):
    """Prints how each target stands, and returns that for the JSON file."""
    medians = {name: {key: row["median"] for key, row in summary.items()}
               for name, summary in summaries.items()}
    labels = {metric.key: metric.label for metric in case.metrics}
    verdicts = []
    for target in case.targets:
        value = target.value(medians)
        state = "not measured" if value is None else "met" if target.met(value) else "MISSED"
        shown = "" if value is None else f", is {number(value)}"
        print(f"  target {labels[target.key]} {target.text()}{shown}: {state}")
        verdicts.append({"key": target.key, "target": target.text(), "value": value,
                         "state": state})
    return verdicts


def bench(case, settings, progress):
    print(f"\n{case.question}: {case.name}", flush=True)
    progress.begin_case()
    runs, failures = run_case(case, settings, progress)
    summaries = summarize_runs(case, runs)
    verdicts = []
    if summaries:
        print_table(case, summaries)
        verdicts = judge(case, summaries)
    sys.stdout.flush()
    return {"question": case.question, "case": case.name, "summaries": summaries,
            "targets": verdicts, "runs": runs, "failures": failures}
