"""The question of scripts/bench about streams: what an element costs on its way."""

import tempfile

from benchlib import GYRE, Case, Metric, Target, Variant, measure_program

PROGRAM = "perf/streams"
BY_HAND = "by hand"
FILE_BYTES = 256 << 20
PART_BYTES = 1 << 20
COUNTED = [Metric("elements_per_s", "elements/s"), Metric("ns_per_element", "ns an element"),
           Metric("allocations", "allocations")]
SENT = [Metric("elements_per_s", "chunks/s"), Metric("cpu_ns_per_element", "ns CPU a chunk"),
        Metric("allocations", "allocations")]


def variants(measure):
    """With streams, and what two actors or a plain loop do without them."""
    return [Variant(GYRE, PROGRAM, measure()), Variant(BY_HAND, PROGRAM, measure("--by-hand"))]


def numbers(settings, mode, loops, elements):
    cpus = ",".join(str(cpu) for cpu in range(loops))
    return variants(lambda *options: measure_program(
        PROGRAM, "--mode", mode, "--elements", settings.count(elements), "--cpus", cpus, *options))


def send_file(*options):
    """A way to measure: a file of its own for each run, which is in the page cache then."""
    def measure(settings):
        with tempfile.NamedTemporaryFile(prefix="gyre-bench-") as file:
            for _ in range(FILE_BYTES // PART_BYTES):
                file.write(b"x" * PART_BYTES)
            file.flush()
            return measure_program(PROGRAM, "--mode", "file", "--path", file.name, "--cpus", 0, *options)(settings)

    return measure


def element_cases(settings):
    """Fused stages, a boundary between loops, and chunks of a file, each beside the same by hand."""
    return [
        Case("elements", "three fused stages", numbers(settings, "fused", 1, 100_000_000), COUNTED,
             [Target("ns_per_element", "<=", 25)]),
        Case("elements", "between two loops", numbers(settings, "loops", 2, 50_000_000), COUNTED,
             [Target("elements_per_s", ">=", 20e6)]),
        Case("elements", "a file to a socket", variants(send_file), SENT,
             [Target("cpu_ns_per_element", "<=", 1.1, BY_HAND)]),
    ]
