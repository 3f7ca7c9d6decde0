"""What is to be reached, and whether it is: the table at the end of scripts/bench --gates."""

from benchlib import number


def rows_of(results):
    """(case, metric and target, value as text, state) for each target of the cases that were measured."""
    rows = []
    for result in results:
        for verdict in result["targets"]:
            value = "" if verdict["value"] is None else number(verdict["value"])
            rows.append((f"{result['question']}: {result['case']}",
                         f"{verdict['key'].replace('_', ' ')} {verdict['target']}", value, verdict["state"]))
    return rows


def rows_of_instructions(gates):
    return [(f"instructions: {name}", f"<= {bound}", number(cost), "met" if is_met else "MISSED")
            for name, cost, bound, is_met in gates]


def report(results, gates):
    """Prints the table, and returns the status to exit with: 1 unless every gate was measured and met."""
    rows = rows_of(results) + rows_of_instructions(gates)
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    print()
    for case, target, value, state in rows:
        print(f"{case:{widths[0]}}  {target:{widths[1]}}  {value:>{widths[2]}}  {state}")
    met = sum(row[3] == "met" for row in rows)
    print(f"{met} of {len(rows)} gates met")
    return 0 if met == len(rows) else 1
