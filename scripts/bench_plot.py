"""A picture of what scripts/bench has measured, for scripts/bench --plot: SVG that a page can show.

Each case is a group of bars, one for each variant that was measured by the case's first metric. A bar is
as long as the median, the thin line across its end goes from the least to the greatest run, and beside it
stand the median and gyre's ratio to the variant. A group has a scale of its own, from 0.
"""

from xml.sax.saxutils import escape

from benchlib import GYRE, BenchError, number

WIDTH = 760
LEFT = 130  # of the bars; the names of variants are right of it
BAR = 330  # the longest
ROW = 18
THICK = 11
TITLE = 26
GAP = 12
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .case { font-weight: 600; }
  .name { text-anchor: end; }
  .gyre { fill: #1f6feb; }
  .other { fill: #8c959f; }
  .spread { stroke: #24292f; stroke-width: 1; }
  .paper { fill: #ffffff; }
"""


def first_metric(result):
    """The key of the metric that is drawn: the first one that gyre was measured by."""
    return next(iter(result.get("summaries", {}).get(GYRE, {})), None)


def rows_of(result):
    """(name, summary, ratio of gyre's median to it or None) for each variant of a case."""
    key = first_metric(result)
    found = [(name, summary[key]) for name, summary in result["summaries"].items() if key in summary]
    mine = result["summaries"][GYRE][key]["median"]
    return [(name, row, mine / row["median"] if name != GYRE and row["median"] else None)
            for name, row in found]


def bar(name, row, ratio, most, top):
    """The elements of one row."""
    def at(value):
        return LEFT + 8 + (BAR * value / most if most > 0 else 0)

    middle = top + ROW / 2
    said = number(row["median"]) + ("" if ratio is None else f"   gyre/it {ratio:.2f}")
    kind = "gyre" if name == GYRE else "other"
    return [
        f'<text class="name" x="{LEFT}" y="{middle + 4:.1f}">{escape(name)}</text>',
        f'<rect class="{kind}" x="{at(0):.1f}" y="{middle - THICK / 2:.1f}" '
        f'width="{at(row["median"]) - at(0):.1f}" height="{THICK}"/>',
        f'<line class="spread" x1="{at(row["min"]):.1f}" x2="{at(row["max"]):.1f}" y1="{middle:.1f}" '
        f'y2="{middle:.1f}"/>',
        f'<text x="{LEFT + 16 + BAR}" y="{middle + 4:.1f}">{escape(said)}</text>',
    ]


def group(result, top):
    """The elements of a case, and where the next one begins."""
    rows = rows_of(result)
    most = max(row["max"] for _, row, _ in rows)
    title = f"{result['question']}: {result['case']} ({first_metric(result).replace('_', ' ')})"
    parts = [f'<text class="case" x="8" y="{top + 16}">{escape(title)}</text>']
    top += TITLE
    for name, row, ratio in rows:
        parts += bar(name, row, ratio, most, top)
        top += ROW
    return parts, top + GAP


def picture(results):
    """The SVG of all cases that gyre was measured in, as text."""
    parts = []
    top = GAP
    for result in results:
        if first_metric(result) is not None:
            more, top = group(result, top)
            parts += more
    if not parts:
        raise BenchError("nothing was measured that could be drawn")
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" '
            f'viewBox="0 0 {WIDTH} {top}" role="img">')
    return "\n".join([head, f"<style>{STYLE}</style>",
                      f'<rect class="paper" width="{WIDTH}" height="{top}"/>', *parts, "</svg>", ""])
