"""What the tests of the short programs of apps/examples share."""
import glob
import os
import re
import subprocess
import traceback

from echo_support import BUILD, PATIENCE_S, expect, is_silent, without_stalls

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "apps", "examples")
LINES_MAX = 119
LIBRARY_SAYS = r"gyre: (?!error: actor \w+ \[)"  # and no actor of the program


def names():
    """All examples."""
    return sorted(os.path.basename(path).split(".")[0] for path in glob.glob(os.path.join(SOURCES, "*", "*.c*")))


def tested(module):
    """The names of the examples that a module has a test of."""
    return {name.removeprefix("test_") for name in module if name.startswith("test_")}


def program(name):
    return os.path.join(BUILD, "apps", "examples", f"gyre-example-{name}")


def run(name, *arguments, status=0, given=None):
    """Runs it to its end, and returns what it printed. Only a failure without output says why."""
    ran = subprocess.run([program(name), *arguments], input=given, capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    expect(ran.returncode == status, f"exit {ran.returncode}: {ran.stdout}{ran.stderr}")
    expect(is_silent(ran.stderr) == (status == 0 or ran.stdout != ""), f"it said: {ran.stderr!r}")
    said = "\n".join(without_stalls(ran.stderr))
    expect(not re.match(LIBRARY_SAYS, said), f"the library had to say: {said}")
    return ran.stdout


def check_same(name, folder):
    """A file that is copied onto itself, by another name, stays as it is."""
    path, link = os.path.join(folder, "same"), os.path.join(folder, "link")
    with open(path, "wb") as file:
        file.write(b"kept")
    os.link(path, link)
    run(name, path, link, status=1)
    with open(path, "rb") as file:
        expect(file.read() == b"kept", "it is cut")


# ---- all of them ----


def check_form(name):
    """It is short, and its comment begins with a line that scripts/run can print."""
    source = glob.glob(os.path.join(SOURCES, "*", f"{name}.c*"))[0]
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    expect(len(lines) <= LINES_MAX, f"{len(lines)} lines, at most {LINES_MAX}")
    expect(lines[0] == "/*" and re.fullmatch(r" \* [A-Z]\w*( \w+)?: .*\.", lines[1]) and lines[2] == " *",
           f"its first line is {lines[1]!r}")
    public = re.compile(r"#include (<gyre/gyre\.h>|<[a-z_/-]+\.h>)" if source.endswith(".c")
                        else r"#include <(gyre/gyre\.hpp|[a-z]+)>")
    expect(all(public.fullmatch(line) for line in lines if line.startswith("#include")),
           "it uses more than the public headers")


def outcome(name, module):
    """None, or why the test of @name has failed."""
    test = module.get(f"test_{name}")
    try:
        check_form(name)
        expect(test is not None, "it has no test")
        test()
    except SystemExit as failure:
        return "# SKIP" if failure.code == 77 else str(failure)
    except Exception:  # pylint: disable=broad-except
        return traceback.format_exc()
    return None


def report(examples, module):
    """Runs the test of each, which is in @module, and returns the status of the program."""
    failed = 0
    print("TAP version 13", flush=True)
    for number, name in enumerate(examples, 1):
        why = outcome(name, module)
        if why is None or why == "# SKIP":
            print(f"ok {number} - {name}{' # SKIP' if why else ''}", flush=True)
            continue
        failed += 1
        print(f"not ok {number} - {name}", flush=True)
        for line in why.splitlines():
            print(f"# {line}", flush=True)
    print(f"1..{len(examples)}")
    return 1 if failed or not examples else 0
