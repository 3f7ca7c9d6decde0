"""A picture of what scripts/bench has measured, for scripts/bench --plot: SVG that a page can show.

Each case is a group of bars, one for each variant, by the metric that most others were measured by. A bar
is as long as the median, the thin line across its end goes from the least to the greatest run, and beside
it stand the median and gyre's ratio to the variant. A group has a scale of its own, from 0. Cases of one
question and metric stand below one heading; the headings stand in two columns where there are many cases.

Of kept figures (perf/figures.json) only ratios to others are known: their bars are gyre's by the ratio,
and have no spread. Rows that stand for several cases at once are left out.
"""

from xml.sax.saxutils import escape

from bench_servers import LIMIT_WHOLE
from bench_table import TITLES
from benchlib import GYRE, BenchError, number

WIDTH = 430  # of a column
LEFT = 88  # of the bars; the names of variants are left of it
BAR = 200  # the longest
SAID = 48  # of the median that stands beside it
ROW = 15
THICK = 10
HEAD = 24
NAME = 18
GAP = 8
COLUMN_CASES = 10  # from here on there are two columns
# The paper goes with the ink, so that both are readable on a page of either kind.
STYLE = """
  text { font: 11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .head { font-size: 13px; font-weight: 600; }
  .name { text-anchor: end; }
  .gyre { fill: #0969da; }
  .other { fill: #8c959f; }
  .spread { stroke: #1f2328; stroke-width: 1; }
  .paper { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .gyre { fill: #4493f8; }
    .other { fill: #6e7681; }
    .spread { stroke: #e6edf3; }
    .paper { fill: #0d1117; }
  }
"""


def others_of(result, key):
    """What is known of the others by a metric: their summaries, and gyre's ratios to them by name."""
    measured = {name: summary[key] for name, summary in result.get("summaries", {}).items()
                if name != GYRE and key in summary}
    kept = {name: ratios[key] for name, ratios in result.get("ratios", {}).items()
            if name != LIMIT_WHOLE and isinstance(ratios.get(key), (int, float))}
    return measured, kept


def metric_of(result):
    """The key of the metric that is drawn: of those that gyre has, the first one that most others have;
    None where there is none."""
    mine = result.get("summaries", {}).get(GYRE)
    if mine is None:
        return None
    keys = [key for key, row in mine.items() if isinstance(row["median"], (int, float))]
    keys += [key for ratios in result.get("ratios", {}).values() for key in ratios if key not in mine]
    return max(keys, key=lambda key: sum(map(len, others_of(result, key))), default=None)


def rows_of(result, key):
    """(name, summary, gyre's ratio to it or None) for each variant of a case. Where only ratios are known,
    gyre is 1."""
    mine = result["summaries"][GYRE].get(key, {"median": 1.0})
    measured, kept = others_of(result, key)
    rows = [(GYRE, mine, None)]
    rows += [(name, row, mine["median"] / row["median"] if row["median"] else None)
             for name, row in measured.items()]
    return rows + [(name, {"median": float(f"{mine['median'] / ratio:.2g}")}, ratio)
                   for name, ratio in kept.items() if ratio]


def heading_of(result, key):
    question = TITLES.get(result["question"], result["question"])
    if key in result["summaries"][GYRE]:
        return f"{question}, {key.replace('_', ' ')}"
    return f"{question}, {key.replace('_ns_', '_').replace('_', ' ').replace('cpu', 'CPU')}, gyre = 1"


def bar(name, row, ratio, most, left, top):
    """The elements of one row."""
    def at(value):
        return left + LEFT + 6 + (BAR * value / most if most > 0 else 0)

    middle = top + ROW / 2
    kind = "gyre" if name == GYRE else "other"
    parts = [
        f'<text class="name" x="{left + LEFT}" y="{middle + 4:.1f}">{escape(name)}</text>',
        f'<rect class="{kind}" x="{at(0):.1f}" y="{middle - THICK / 2:.1f}" '
        f'width="{at(row["median"]) - at(0):.1f}" height="{THICK}"/>',
        f'<text x="{left + LEFT + 14 + BAR}" y="{middle + 4:.1f}">{number(row["median"])}</text>',
    ]
    if ratio is not None:
        parts.append(f'<text x="{left + LEFT + 14 + BAR + SAID}" y="{middle + 4:.1f}">gyre/it {ratio:.2f}</text>')
    if "min" in row:
        parts.append(f'<line class="spread" x1="{at(row["min"]):.1f}" x2="{at(row["max"]):.1f}" '
                     f'y1="{middle:.1f}" y2="{middle:.1f}"/>')
    return parts


def group(result, key, left, top):
    """The elements of a case, and where the next one begins."""
    rows = rows_of(result, key)
    most = max(row.get("max", row["median"]) for _, row, _ in rows)
    parts = [f'<text x="{left + 8}" y="{top + 13}">{escape(result["case"])}</text>']
    top += NAME
    for name, row, ratio in rows:
        parts += bar(name, row, ratio, most, left, top)
        top += ROW
    return parts, top + GAP


def sections_of(results):
    """(heading, [(result, key), ...]) for all that can be drawn, in their order."""
    sections = []
    for result in results:
        key = metric_of(result)
        if key is None:
            continue
        heading = heading_of(result, key)
        if not sections or sections[-1][0] != heading:
            sections.append((heading, []))
        sections[-1][1].append((result, key))
    return sections


def draw_column(sections, left):
    """The elements of sections below each other, and the end of the last one."""
    parts = []
    top = GAP
    for heading, cases in sections:
        parts.append(f'<text class="head" x="{left + 8}" y="{top + 15}">{escape(heading)}</text>')
        top += HEAD
        for result, key in cases:
            more, top = group(result, key, left, top)
            parts += more
    return parts, top


def columns_of(sections):
    """The sections in one column, or in two that are as even as their order lets them be."""
    if sum(len(cases) for _, cases in sections) < COLUMN_CASES or len(sections) < 2:
        return [sections]
    return min(([sections[:i], sections[i:]] for i in range(1, len(sections))),
               key=lambda columns: max(draw_column(column, 0)[1] for column in columns))


def picture(results):
    """The SVG of all cases that gyre was measured in, as text."""
    sections = sections_of(results)
    if not sections:
        raise BenchError("nothing was measured that could be drawn")
    drawn = [draw_column(column, i * WIDTH) for i, column in enumerate(columns_of(sections))]
    width, height = WIDTH * len(drawn), max(top for _, top in drawn)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">')
    return "\n".join([head, "<title>gyre beside others, as scripts/bench has measured them</title>",
                      f"<style>{STYLE}</style>",
                      f'<rect class="paper" width="{width}" height="{height}"/>',
                      *[element for parts, _ in drawn for element in parts], "</svg>", ""])
