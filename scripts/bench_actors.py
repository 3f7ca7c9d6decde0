"""The questions of scripts/bench about actors and their mail."""

from benchlib import GYRE, Case, Metric, Target, Variant, measure_program, pair

NO_ALLOCATION = Target("allocations", "<=", 0)


def go(settings, work, loops, options):
    """The same on goroutines and channels, where Go was there to build it."""
    if not settings.peers:
        return []
    program = "perf/peers/go_actors"
    cpus = ",".join(str(cpu) for cpu in range(loops))
    return [Variant("Go", program, measure_program(program, work, "--loops", loops, "--cpus", cpus,
                                                   *options))]


def ring_cases(settings):
    metrics = [Metric("laps_per_s", "laps/s"), Metric("hops_per_s", "hops/s"),
               Metric("allocations", "allocations")]
    limit = "perf/limit/ring"

    def variants(messages, loops, hops):
        options = ["--actors", 100, "--messages", messages]
        hops = settings.count(hops)
        return [*pair("perf/ring", limit, loops, [*options, "--hops", hops]),
                *go(settings, "ring", loops, [*options, "--hops", hops // 4])]

    chains = measure_program(limit, "--loops", 2, "--hops", settings.count(40_000_000), "--pin",
                             "--chain")
    return [
        Case("ring", "one loop, 100 actors, 1,024 tokens", variants(1024, 1, 200_000_000), metrics,
             [Target("laps_per_s", ">=", 1.3e6), Target("laps_per_s", ">=", 0.45, "limit"),
              NO_ALLOCATION]),
        Case("ring", "one loop, 100 actors, 1 token", variants(1, 1, 100_000_000), metrics,
             [Target("laps_per_s", ">=", 0.5e6), NO_ALLOCATION]),
        Case("ring", "two loops, every hop changes loop, 100 actors, 1,024 tokens",
             [*variants(1024, 2, 40_000_000), Variant("limit chains", limit, chains)], metrics,
             [Target("hops_per_s", ">=", 0.55, "limit"), NO_ALLOCATION]),
    ]


def ask_cases(settings):
    metrics = [Metric("asks_per_s", "round trips/s"), Metric("allocations", "allocations")]

    def case(name, outstanding, loops, asks, *bound):
        options = ["--outstanding", outstanding, "--asks"]
        asks = settings.count(asks)
        return Case("ask", name, [*pair("perf/ask", "perf/limit/ask", loops, [*options, asks]),
                                  *go(settings, "ask", loops, [*options, asks // 4])], metrics,
                    [Target("asks_per_s", ">=", *bound), NO_ALLOCATION])

    return [
        case("one loop, 1 outstanding", 1, 1, 30_000_000, 20e6),
        case("one loop, 1,000 outstanding", 1000, 1, 50_000_000, 30e6),
        case("two loops, 1,000 outstanding", 1000, 2, 20_000_000, 0.32, "limit"),
    ]


def spawn_cases(_settings):
    return [
        Case("spawn", "a million idle actors without state",
             [Variant(GYRE, "perf/spawn", measure_program("perf/spawn", "--actors", 1_000_000)),
              Variant("limit", "perf/limit/spawn", measure_program("perf/limit/spawn", "--actors", 1_000_000))],
             [Metric("spawns_per_s", "spawns/s"), Metric("rss_bytes", "bytes resident"),
              Metric("bytes_per_actor", "bytes an actor"), Metric("churn_per_s", "come and go/s"),
              Metric("allocations", "allocations")],
             # An actor has 256 bytes; the allocator has a little beside.
             [Target("spawns_per_s", ">=", 1e6), Target("bytes_per_actor", "<=", 257), NO_ALLOCATION]),
    ]


def inspect_cases(settings):
    """What accounting, a watchdog and a thread that takes snapshots cost."""
    bare = settings.bare_build() / "perf/ring"

    def case(name, messages, hops):
        options = ["--actors", 100, "--messages", messages, "--hops", settings.count(hops),
                   "--cpus", 0]
        return Case("inspect", name, [
            Variant(GYRE, "perf/ring", measure_program("perf/ring", *options, "--inspect")),
            Variant("without", bare, measure_program(bare, *options)),
        ], [Metric("hops_per_s", "hops/s")], [Target("hops_per_s", ">=", 0.98, "without")])

    return [
        case("ring, one loop, 100 actors, 1,024 tokens", 1024, 200_000_000),
        case("ring, one loop, 100 actors, 1 token", 1, 100_000_000),
    ]


def outside_cases(settings):
    options = ["--notices", settings.count(100_000_000), "--pin"]
    return [
        Case("outside", "notices of one thread to an awake loop", [
            Variant(GYRE, "perf/outside",
                    measure_program("perf/outside", *options, "--cpus", 0)),
            Variant("limit", "perf/limit/outside",
                    measure_program("perf/limit/outside", *options)),
        ], [Metric("notices_per_s", "notices/s"),
            Metric("allocations_each", "allocations a notice")],
             [Target("notices_per_s", ">=", 0.8, "limit"), Target("allocations_each", "<=", 0)]),
        Case("outside", "asks of one thread that waits for each answer", [
            Variant(GYRE, "perf/outside",
                    measure_program("perf/outside", "--asks", settings.count(300_000), "--pin",
                                    "--cpus", 0)),
        ], [Metric("asks_per_s", "round trips/s"),
            Metric("allocations_each", "allocations an ask")]),
    ]


def fanin_cases(settings):
    metrics = [Metric("messages_per_s", "messages/s"),
               Metric("crossed_share", "share from the other loop"),
               Metric("allocations", "allocations")]

    def case(name, loops, messages, options, targets):
        options = ["--messages", settings.count(messages), *options]
        variants = [*pair("perf/fanin", "perf/limit/fanin", loops, options),
                    *go(settings, "fanin", loops, options)]
        if loops == 2:
            variants.append(Variant("limit chains", "perf/limit/fanin", measure_program(
                "perf/limit/fanin", "--loops", loops, *options, "--pin", "--chain")))
        return Case("fanin", name, variants, metrics, [*targets, NO_ALLOCATION])

    return [
        case("8 producers on two loops, one consumer", 2, 100_000_000, [],
             [Target("messages_per_s", ">=", 30e6)]),
        case("8 producers on one loop, the consumer on the other", 2, 50_000_000, ["--apart"],
             [Target("messages_per_s", ">=", 0.5, "limit"), Target("messages_per_s", ">=", 32e6)]),
        case("8 producers and the consumer on one loop", 1, 100_000_000, [], []),
    ]


def event_cases(settings):
    """What it costs that the publisher does not know who has subscribed."""
    def case(name, loops, events, *options):
        options = ["--loops", loops, "--cpus", ",".join(str(cpu) for cpu in range(loops)),
                   "--events", settings.count(events), *options]
        return Case("events", name, [
            Variant(GYRE, "perf/events", measure_program("perf/events", *options)),
            Variant("by hand", "perf/events", measure_program("perf/events", *options, "--by-hand")),
        ], [Metric("messages_per_s", "events/s"), Metric("allocations", "allocations")],
                    [NO_ALLOCATION])

    return [
        case("one publisher, 8 subscribers on its loop", 1, 5_000_000),
        case("one publisher, 1 subscriber on its loop", 1, 20_000_000, "--subscribers", 1),
        case("one publisher, 8 subscribers on the other loop", 2, 3_000_000, "--apart"),
        case("one publisher, 1,000 subscribers on two loops", 2, 30_000, "--subscribers", 1000),
    ]
