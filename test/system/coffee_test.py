#!/usr/bin/env python3
"""The supervised machine of gyre-coffee: what breaks down starts anew, alone or with what is behind it, later each
time, and what breaks down too often takes its parent along."""
import os
import re
import subprocess
import sys

PROGRAM = os.path.join(os.environ["GYRE_BUILD"], "apps", "gyre-coffee")
HOT = "water/boiler is hot"
CLOSED = ["the machine is off", "closes; 0 have had no coffee"]


def run(*arguments):
    result = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, timeout=60, check=False)
    return result.returncode, result.stdout, result.stderr


def expect(condition, what):
    if not condition:
        sys.exit(f"coffee_test: {what}")


def log_of(*arguments, status=0):
    """The times in ms and the events of a run; those below the machine without its path."""
    ended, output, errors = run(*arguments)
    expect(ended == status and errors == "", f"{arguments}: status {ended}: {output}{errors}")
    times, events = [], []
    for line in output.splitlines():
        match = re.fullmatch(r" *(\d+) ms  shop-1/?(?:machine/|customer-\d+)?(\S*) +(\S.*)", line)
        expect(match, line)
        times.append(int(match.group(1)))
        events.append(f"{match.group(2)} {match.group(3)}".strip())
    expect(times == sorted(times), f"times go back: {times}")
    return times, events


def expect_log(wanted, *arguments, status=0):
    times, events = log_of(*arguments, status=status)
    expect(events == wanted, "\n".join([str(arguments), *events, "instead of", *wanted]))
    return times


def anew(*parts):
    return [f"{part} starts anew" for part in parts]


def broken(part, cup):
    return f"{part} breaks down at cup {cup}"


PUMP, BOILER, SPOUT = "water/pump", "water/boiler", "water/spout"


def test_nothing_breaks_down_by_itself():
    expect_log([HOT, *[f"drinks cup {cup}" for cup in range(1, 21)], *CLOSED], "20")


def test_one_for_one_the_grinder_starts_anew_alone():
    times = expect_log([HOT, "drinks cup 1", broken("grinder", 2), *anew("grinder"), broken("grinder", 2),
                        *anew("grinder"), "drinks cup 2", *CLOSED],
                       "2", "grinder@2", "grinder@2")
    expect(times[3] - times[2] >= 19 and times[5] - times[4] >= 39, f"too soon: {times}")


def test_rest_for_one_what_is_behind_starts_anew_too():
    expect_log([HOT, "drinks cup 1", broken(SPOUT, 2), *anew(SPOUT), "drinks cup 2",
                *CLOSED], "2", "spout@2")
    expect_log([HOT, "drinks cup 1", broken(BOILER, 2), *anew(BOILER, SPOUT), HOT, "drinks cup 2",
                *CLOSED], "2", "boiler@2")
    times = expect_log([HOT, "drinks cup 1", broken(PUMP, 2), *anew(PUMP, BOILER, SPOUT), HOT, "drinks cup 2",
                        broken(PUMP, 3), *anew(PUMP, BOILER, SPOUT), HOT, "drinks cup 3",
                        *CLOSED], "3", "pump@2", "pump@3")
    expect(times[3] - times[2] >= 9 and times[9] - times[8] >= 19, f"too soon: {times}")


def test_one_failure_too_many_is_the_parents():
    expect_log([broken(PUMP, 1), *anew(PUMP, BOILER, SPOUT), broken(PUMP, 1), *anew(PUMP, BOILER, SPOUT),
                broken(PUMP, 1), "water has failed, and gets new parts", HOT, "drinks cup 1",
                "drinks cup 2", *CLOSED], "2", *["pump@1"] * 3)


def test_a_machine_that_fails_too_often_is_stopped():
    """Who waits for it goes without coffee, in any order."""
    _, events = log_of("3", *["grinder@2"] * 3, status=1)
    first = [HOT, "drinks cup 1", broken("grinder", 2), *anew("grinder"), broken("grinder", 2), *anew("grinder"),
             broken("grinder", 2)]
    expect(events[:len(first)] == first, events)
    expect(sorted(events[len(first):-1]) == ["goes without cup 2", "goes without cup 3",
                                             "the machine is beyond repair"], events)
    expect(events[-1] == "closes; 2 have had no coffee", events)


def test_by_chance_all_cups_are_accounted_for():
    for arguments in ((), ("40", "chance")):
        status, output, errors = run(*arguments)
        cups = sorted(int(cup) for cup in re.findall(r"(?:drinks|goes without) cup (\d+)\n", output))
        expect(cups == list(range(1, len(cups) + 1)) and len(cups) == int(arguments[0] if arguments else 12), output)
        without = int(re.search(r"closes; (\d+) have had no coffee\n$", output).group(1))
        expect(status == (without > 0) and errors == "", f"status {status}: {output}{errors}")
        expect(output.count("goes without") == without, output)


def test_a_wrong_argument_is_refused():
    for arguments in (("none",), ("0",), ("1001",), ("1", "2"), ("1", "pump"), ("1", "pump@2"), ("1", "pump@0"),
                      ("1", "pump@1", "chance"), ("1", "pump@-1"), ("2", *["pump@1"] * 101)):
        status, output, errors = run(*arguments)
        expect(status == 1 and output == "" and errors.startswith("usage:"), f"{arguments}: {status} {output}{errors}")


if __name__ == "__main__":
    test_nothing_breaks_down_by_itself()
    test_one_for_one_the_grinder_starts_anew_alone()
    test_rest_for_one_what_is_behind_starts_anew_too()
    test_one_failure_too_many_is_the_parents()
    test_a_machine_that_fails_too_often_is_stopped()
    test_by_chance_all_cups_are_accounted_for()
    test_a_wrong_argument_is_refused()
