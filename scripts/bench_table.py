"""Markdown tables of what scripts/bench has measured, for scripts/bench --table.

A file is one that `scripts/bench --json` wrote, perf/instructions.json, or perf/figures.json, which keeps
the figures of the README: the same form, with "ratios" in the place of what others were measured at, and
two numbers where several cases are one row.
"""

import json

from bench_servers import LIMIT_WHOLE, WHOLE
from benchlib import GYRE, BenchError, number

BEGIN = "<!-- scripts/bench --table: begin -->"
END = "<!-- scripts/bench --table: end -->"
LIMITS = ("limit", "io_uring", "recvmmsg", "sockets")
TITLES = {"ring": "ring", "ask": "ask and reply", "fanin": "fan-in", "outside": "other threads", "events": "events",
          "inspect": "inspection", "spawn": "spawn", "sessions": "connections with an actor", "echo": "TCP echo", "unix": "Unix echo",
          "many": "TCP echo", "accept": "TCP accept", "stream": "TCP stream", "udp": "UDP echo",
          "nodes": "nodes", "growth": "growth", "elements": "streams"}
# What a unit of work is, and what is said beside its rate: key, text, scale.
RATES = [("hops_per_s", "hops/s", 1), ("asks_per_s", "asks/s", 1), ("messages_per_s", "messages/s", 1),
         ("notices_per_s", "notices/s", 1), ("spawns_per_s", "spawns/s", 1),
         ("requests_per_s", "requests/s", 1), ("connections_per_s", "connections/s", 1),
         ("datagrams_per_s", "datagrams/s", 1), ("elements_per_s", "elements/s", 1), ("bytes_per_s", "GB/s", 1e-9)]
BESIDE = [("rss_bytes", "MB resident", 1e-6), ("system_calls_per_request", "system calls each", 1),
          ("cpu_ns_per_hop", "ns of CPU each", 1), ("cpu_ns_per_message", "ns of CPU each", 1),
         ("allocations_each", "allocation each", 1)]
COSTS = ("server_cpu_ns_per_request", "server_cpu_ns_per_connection", "server_cpu_ns_per_byte",
         "server_cpu_ns_per_datagram", "cpu_ns_per_hop", "cpu_ns_per_ask", "cpu_ns_per_message", "cpu_ns_per_element")


class Row:
    """A case: medians and ratios, whichever the file has."""

    def __init__(self, result):
        self.name = f"{TITLES.get(result['question'], result['question'])}: {result['case']}"
        self.question = result["question"]
        self.medians = {name: {key: row["median"] for key, row in summary.items()}
                        for name, summary in result.get("summaries", {}).items()}
        self.ratios = result.get("ratios", {})

    def ratio(self, name, keys, of=GYRE):
        """That of the variant @of as a ratio to that of @name, of the first of @keys that both have; else
        None."""
        for key in keys:
            if key in self.ratios.get(name, {}):
                return self.ratios[name][key]
            mine, other = self.medians.get(of, {}).get(key), self.medians.get(name, {}).get(key)
            if mine is not None and other:
                return mine / other
        return None

    def first_ratio(self, names, keys):
        found = [self.ratio(name, keys) for name in names]
        return next((ratio for ratio in found if ratio is not None), None)

    def rate(self):
        mine = self.medians.get(GYRE, {})
        found = [(mine[key], text, scale) for key, text, scale in RATES if key in mine][:1]
        found += [(mine[key], text, scale) for key, text, scale in BESIDE if mine.get(key)]
        return ", ".join(f"{span(value, lambda x, by=scale: number(x * by))} {text}"
                         for value, text, scale in found)


def span(value, form):
    """One number, or two that others lie between."""
    if isinstance(value, list):
        return f"{form(value[0])} to {form(value[1])}"
    return form(value)


def ratio_text(value):
    return "" if value is None else span(value, lambda x: f"{x:.2f}")


def rate_keys():
    return [key for key, _, _ in RATES]


def inverse(value):
    return None if value is None else 1 / value


# Title, questions, and columns: a heading and what a row says there.
TABLES = [
    ("Actors", ("ring", "ask", "fanin", "outside", "events", "spawn", "inspect"), [
        ("gyre", Row.rate),
        ("rate ÷ limit", lambda row: ratio_text(row.first_ratio(LIMITS, rate_keys()))),
        ("rate ÷ linked chains", lambda row: ratio_text(row.ratio("limit chains", rate_keys()))),
        ("rate ÷ Go", lambda row: ratio_text(row.ratio("Go", rate_keys()))),
    ]),
    ("Servers", ("echo", "many", "unix", "accept", "stream", "udp"), [
        ("gyre", Row.rate),
        ("rate ÷ limit", lambda row: ratio_text(row.first_ratio(LIMITS, rate_keys()))),
        ("CPU ÷ limit", lambda row: ratio_text(row.first_ratio(LIMITS, COSTS))),
        ("CPU ÷ limit, whole buffers", lambda row: ratio_text(row.ratio(LIMIT_WHOLE, COSTS, WHOLE))),
        ("CPU ÷ libuv", lambda row: ratio_text(row.ratio("libuv", COSTS))),
        ("CPU ÷ libevent", lambda row: ratio_text(row.ratio("libevent", COSTS))),
        ("CPU ÷ Go", lambda row: ratio_text(row.ratio("Go", COSTS))),
    ]),
    ("Nodes", ("nodes",), [
        ("gyre", Row.rate),
        ("rate ÷ plain sockets", lambda row: ratio_text(row.first_ratio(LIMITS, rate_keys()))),
        ("CPU ÷ plain sockets", lambda row: ratio_text(row.first_ratio(LIMITS, COSTS))),
        ("CPU with a secret ÷ without", lambda row: ratio_text(inverse(row.ratio("with a secret", COSTS)))),
    ]),
    ("Streams", ("elements",), [
        ("gyre", Row.rate),
        ("rate ÷ by hand", lambda row: ratio_text(row.ratio("by hand", rate_keys()))),
        ("CPU ÷ by hand", lambda row: ratio_text(row.ratio("by hand", COSTS))),
    ]),
    ("Growth", ("growth",), [
        ("gyre", Row.rate),
        ("CPU ÷ base", lambda row: ratio_text(row.ratio("base", COSTS))),
    ]),
]


def table(headings, rows):
    """Lines of a table; a column without anything in it is left out."""
    kept = [i for i in range(len(headings)) if i == 0 or any(row[i] for row in rows)]
    return [f"| {' | '.join(cells[i] for i in kept)} |"
            for cells in [headings, ["---"] * len(headings), *rows]]


def tables_of_results(data):
    rows = [Row(result) for result in data["results"]]
    machine = data.get("machine", {})
    said = [machine.get("system"), machine.get("time"), machine.get("commit")]
    lines = []
    for title, questions, columns in TABLES:
        mine = [row for row in rows if row.question in questions]
        if mine:
            lines += [f"**{title}**", ""]
            lines += table([title.lower(), *(heading for heading, _ in columns)],
                           [[row.name, *(show(row) for _, show in columns)] for row in mine])
            lines.append("")
    command = machine.get("command", "scripts/bench --json FILE")
    where = ", ".join(text for text in said if text)
    return [*lines, f"Measured by `{command}`: {where}."]


def tables_of_instructions(data):
    static = data.get("static", {})
    rows = [[name, f"{count:,.0f}", f"{static[name]:,.0f}" if name in static else ""]
            for name, count in data["figures"].items()]
    headings = ["a message", "instructions, libgyre.so", "libgyre.a"]
    return ["**Instructions**", "", *table(headings, rows), "",
            f"Counted by `scripts/bench --instructions` with {data['compiler']}; system calls are not in it."]


def results_of(path):
    """The results in a file of --json."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["results"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path} is no file that scripts/bench --json has written: {error!r}") from None


def text_of(paths):
    """The tables of all @paths, as markdown."""
    parts = []
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            lines = tables_of_results(data) if "results" in data else tables_of_instructions(data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchError(f"{path} is no file that scripts/bench has written: {error!r}") from None
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def replace(path, text):
    """Puts the tables between the two marks of the page @path."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchError(f"{path} lacks the lines {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
