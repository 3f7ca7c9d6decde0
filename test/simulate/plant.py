#!/usr/bin/env python3
"""Plants faults in a copy of the library, and says after how many seeds the simulator finds each.

usage: plant.py [options] NAME...|all
       plant.py --check [--root ROOT]
       plant.py --list [--root ROOT]

The tree is copied into a folder of its own, where the program `simulate` is built: once as it is, and
then with one fault of faults.py after the other. All worlds are run with it, each as long, from one seed
after the other, until something is violated or the time is up. The program without the fault must run
that seed clean. What was decided in the run is then shrunk, as far as the world is still violated.

  -D OPTION=VALUE    is for meson setup; may be repeated
  --check            only looks whether the text of each fault stands once in its file
  --folder DIR       builds there, and keeps it for the next time
  --list             prints the names, and what is wrong
  --minutes M        of a processor, for the seeds of one fault (3)
  --root ROOT        the tree (that of this program)
  --seeds FROM[-TO]  are tried (1-1000000)
  --shrink S         for so many seconds at most; 0 to leave it (120)
  --world NAME       is the only one

Exits 0 if all faults were found, 1 if one was not, and 2 if something else is wrong.
"""
import argparse
import contextlib
import os
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ["buildtype=release", "assertions=full", "apps=false", "perf=false", "tests=enabled",
           "planted_delays=true"]
PROGRAM = os.path.join("test", "simulate")
VIOLATION = re.compile(r"^violation: (\S+) seed (\d+): (.*)$")
NAME = re.compile(r"^[a-z]+(-[a-z]+)*$")
FIELDS = ("file", "name", "new", "old", "says")
REMARKS_MAX = 6
BATCH_SECONDS = 5


def stop(text):
    print(f"plant: {text}", file=sys.stderr)
    sys.exit(2)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# ---- the list ----

def faults_of(root):
    return runpy.run_path(os.path.join(root, "test", "simulate", "faults.py"))["FAULTS"]


def problem_of(root, fault):
    """What is wrong with an entry of the list; None if nothing is."""
    if tuple(sorted(fault)) != FIELDS:
        return f"its fields are not {', '.join(FIELDS)}"
    if not NAME.match(fault["name"]):
        return "its name is not words with dashes"
    path = os.path.join(root, fault["file"])
    if not os.path.isfile(path):
        return f"{fault['file']} is not there"
    count = read(path).count(fault["old"])
    if count != 1:
        return f"its text stands {count} times in {fault['file']}, not once"
    return "it changes nothing" if fault["new"] == fault["old"] else None


def check(root):
    """Prints what is wrong with the list; whether nothing is."""
    faults = faults_of(root)
    names = [fault.get("name") for fault in faults]
    problems = [] if faults else ["it is empty"]
    problems += [f"{name}: there are two of this name" for name in dict.fromkeys(names) if names.count(name) > 1]
    for fault in faults:
        problem = problem_of(root, fault)
        if problem is not None:
            problems.append(f"{fault.get('name')}: {problem}")
    for problem in problems:
        print(f"test/simulate/faults.py: {problem}")
    return not problems


# ---- a copy of the tree ----

class Copy:
    """A copy of the tree with a build of it, in which one fault at a time is planted."""

    def __init__(self, root, folder, setup):
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(folder, "build")
        self.program = os.path.join(self.build, PROGRAM)
        self.clean = os.path.join(folder, "simulate-clean")
        self.shrink = os.path.join(self.tree, "apps", "sim_shrink.py")
        self.copy(root)
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            call(["meson", "setup", self.build, self.tree, *(f"-D{option}" for option in OPTIONS + setup)])
        self.compile()
        shutil.copy2(self.program, self.clean)

    def copy(self, root):
        """Writes what differs, so that of a folder that was kept only that is built anew."""
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                stdout=subprocess.PIPE, text=True, check=False)
        if listed.returncode != 0:
            stop(f"{root} is not a git tree")
        for name in filter(None, listed.stdout.split("\0")):
            source, target = os.path.join(root, name), os.path.join(self.tree, name)
            if os.path.isfile(source) and not is_same(source, target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)

    def compile(self):
        call(["ninja", "-j2", "-C", self.build, PROGRAM])

    def worlds(self, only):
        return call([self.clean, "--list"]).split() if only is None else [only]

    @contextlib.contextmanager
    def planted(self, fault):
        """With the fault, until the end of the block."""
        path = os.path.join(self.tree, fault["file"])
        before = read(path)
        if before.count(fault["old"]) != 1:
            stop(f"{fault['name']}: {problem_of(self.tree, fault)}")
        write(path, before.replace(fault["old"], fault["new"]))
        try:
            self.compile()
            yield
        finally:
            write(path, before)


def is_same(source, target):
    if not os.path.isfile(target):
        return False
    with open(source, "rb") as one, open(target, "rb") as other:
        return one.read() == other.read()


def call(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        stop(f"{' '.join(command)} fails:\n{done.stdout[-4000:]}")
    return done.stdout


# ---- runs ----

def used_s():
    """The time of processors that programs which have ended took; so it matters not what else runs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class World:
    """A world, which of its seeds are next, and for how long it has been run."""

    def __init__(self, name, first):
        self.name = name
        self.next = first
        self.batch = 1
        self.seconds = 0.0

    def adapt(self, count, seconds):
        """Makes the next batch of seeds as large as takes a while."""
        self.seconds += seconds
        self.batch = max(1, min(4 * count, int(count * BATCH_SECONDS / max(seconds, 0.01))))


class Found:
    """A violation, with the first lines of what the program has said."""

    def __init__(self, line, remarks):
        self.world, seed, self.text = VIOLATION.match(line).groups()
        self.seed = int(seed)
        self.remarks = remarks


def end(process):
    """Together with the run that it may be at."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_seeds(program, world, first, last):
    """Runs a world from seeds, up to the first violation; None without one."""
    command = [program, "--world", world, "--seeds", f"{first}-{last}"]
    with tempfile.TemporaryFile("w+", errors="replace") as errors, \
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                             start_new_session=True) as process:
        try:
            for line in process.stdout:
                if VIOLATION.match(line):
                    errors.seek(0)
                    return Found(line, errors.read().splitlines()[:REMARKS_MAX])
            if process.wait() != 0:
                stop(f"{' '.join(command)} ends with status {process.returncode}")
        finally:
            end(process)
    return None


def find(copy, options):
    """The first violation that the library without the fault does not have, or None; the number of runs."""
    worlds = [World(name, options.first) for name in copy.worlds(options.world)]
    until_s = used_s() + 60 * options.minutes
    runs = 0
    while worlds and used_s() < until_s:
        world = min(worlds, key=lambda one: one.seconds)
        last = min(world.next + world.batch - 1, options.last)
        begin_s = used_s()
        found = run_seeds(copy.program, world.name, world.next, last)
        last = last if found is None else found.seed
        runs += last - world.next + 1
        world.adapt(last - world.next + 1, used_s() - begin_s)
        world.next = last + 1
        if found is not None:
            if run_seeds(copy.clean, found.world, found.seed, found.seed) is None:
                # Once more for what the program says of that run alone.
                return run_seeds(copy.program, found.world, found.seed, found.seed) or found, runs
            print(f"  without the fault too: {found.world} seed {found.seed}: {found.text}", flush=True)
        worlds = [one for one in worlds if one.next <= options.last]
    return None, runs


# ---- all faults ----

def shrink(copy, found, seconds):
    """Words for how many decisions the violation needs."""
    run = ["--world", found.world, "--seeds", str(found.seed)]
    with tempfile.TemporaryDirectory(prefix="gyre-plant.") as folder:
        path = os.path.join(folder, "decisions")
        shrunk = path + ".shrunk"
        subprocess.run([copy.program, *run, "--record", path], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        done = subprocess.run([sys.executable, copy.shrink, "--like", "violation: ", "--seconds", str(seconds),
                               path, copy.program, *run, "--replay", "{}"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        words = done.stdout.strip().removesuffix(": " + shrunk)
        if done.returncode == 0 and subprocess.run([copy.clean, *run, "--replay", shrunk],
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                   check=False).returncode != 0:
            words += "; without the fault too"
        return words


def try_fault(copy, fault, options):
    """Plants a fault and says what becomes of it; whether it was found."""
    print(f"{fault['name']}:", flush=True)
    with copy.planted(fault):
        begin_s = used_s()
        found, runs = find(copy, options)
        seconds = used_s() - begin_s
        if found is None:
            print(f"  not found in {runs} runs, {seconds:.0f} s", flush=True)
            return False
        print(f"  found in {runs} runs, {seconds:.0f} s: {found.world} seed {found.seed}: {found.text}",
              flush=True)
        for remark in found.remarks:
            print(f"    {remark}", flush=True)
        if options.shrink > 0:
            print(f"  {shrink(copy, found, options.shrink)}", flush=True)
    return True


def chosen(faults, names):
    if names == ["all"]:
        return faults
    known = {fault["name"]: fault for fault in faults}
    for name in names:
        if name not in known:
            stop(f"there is no fault {name}; see --list")
    return [known[name] for name in names]


def read_options():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ", 1)[1], add_help=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(HERE)))
    parser.add_argument("--seeds", default="1-1000000")
    parser.add_argument("-D", action="append", default=[], dest="setup")
    parser.add_argument("--shrink", type=int, default=120)
    parser.add_argument("--world")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    if not first.isdigit() or not (last or first).isdigit() or options.minutes <= 0:
        parser.error("bad --seeds or --minutes")
    options.first, options.last = int(first), int(last or first)
    if not options.check and not options.list and not options.names:
        parser.error("which faults?")
    return options


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # which leaves nothing behind
    options = read_options()
    root = os.path.abspath(options.root)
    if options.check:
        return 0 if check(root) else 1
    faults = faults_of(root)
    if options.list:
        for fault in faults:
            print(f"{fault['name']}: {fault['says']}")
        return 0
    faults = chosen(faults, options.names)
    with contextlib.ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="gyre-plant."))
        copy = Copy(root, os.path.abspath(folder), options.setup)
        found = sum(try_fault(copy, fault, options) for fault in faults)
    print(f"{found} of {len(faults)} faults found")
    return 0 if found == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
