"""The question of scripts/bench about simulation: what a second of a processor simulates."""

from benchlib import GYRE, Case, Metric, Target, Variant, measure_program


def chat_case(settings, name, loops, targets):
    chat = measure_program("perf/sim_chat", "--seconds", settings.count(1000), "--loops", loops)
    return Case("simulated", f"chat on five nodes, {name}, 100 clients", [Variant(GYRE, "perf/sim_chat", chat)],
                [Metric("virtual_s_per_cpu_s", "virtual s/s of CPU"),
                 Metric("lines_per_virtual_s", "lines/virtual s")], targets)


def simulated_cases(settings):
    """A chat of five nodes with a hundred clients, and random actor programs of a thousand steps."""
    actors = measure_program("perf/sim_actors", "--seeds", settings.count(1000))
    return [
        chat_case(settings, "one loop each", 1, [Target("virtual_s_per_cpu_s", ">=", 1000)]),
        chat_case(settings, "two loops each", 2, []),
        Case("simulated", "random actor programs, 1,000 steps",
             [Variant(GYRE, "perf/sim_actors", actors)],
             [Metric("seeds_per_cpu_s", "programs/s of CPU"), Metric("steps_per_seed", "steps/program")],
             [Target("seeds_per_cpu_s", ">=", 200)]),
    ]
