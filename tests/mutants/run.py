#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applies one-line mutants to the sources, one at a time, and runs the tests that concern each: a
mutant that no test notices is a rule that no test holds. A folder's mutants stand in <folder>.txt
beside this file; README.txt says how.

Works on a copy of the sources in build/mutate, and remembers there what was decided: started again
it goes on. A mutant that died is not run again while its entry and its file stay as they are, one
that survived not while all sources do; remove build/mutate to begin anew. Ends with 0 only if 95 %
of the mutants die and each of the others is explained."""

import argparse
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is written beside the sources
import lists  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutate"
COPY = WORK / "sources"
BUILD = WORK / "build"
STATE = WORK / "decided.json"
MUTANT_SECONDS = 120  # for the build and all tests of a mutant
SHARE_TO_DIE = 0.95


def source_files():
    """What the build needs, and nothing that a build wrote."""
    for top in sorted(ROOT.iterdir()):
        if top.name.startswith(("build", ".")):
            continue
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def write_if_other(path, content):
    """Keeps the time of a file that stays as it is, so that nothing is built again for it."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def synchronize():
    """Makes the copy like the sources; returns what tells these sources from others."""
    wanted = list(source_files())
    digest = hashlib.sha256()
    for path in wanted:
        content = (ROOT / path).read_bytes()
        write_if_other(COPY / path, content)
        os.chmod(COPY / path, (ROOT / path).stat().st_mode)
        if not path.match("tests/mutants/*"):
            digest.update(str(path).encode() + b"\0" + content)
    for path in [path for path in COPY.rglob("*") if path.is_file()]:
        if path.relative_to(COPY) not in set(wanted):
            path.unlink()
    return digest.hexdigest()


def stop(process):
    """mpirun ends its ranks when it is asked to; what is left of the session is killed."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == process.pid:
                os.kill(int(entry.name), signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def run(command, seconds, environment=None, cwd=None):
    """Returns the exit status, None where the time did not suffice, and the output."""
    with open(WORK / "output.txt", "w+b") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=cwd,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, **(environment or {})})
        try:
            status = process.wait(max(0, seconds))
        except subprocess.TimeoutExpired:
            status = None
        except BaseException:
            stop(process)
            raise
        if status is None:
            stop(process)
        output.seek(0)
        return status, output.read().decode(errors="replace")


def fail(text):
    sys.exit(f"run.py: {text}")


def configure():
    WORK.mkdir(parents=True, exist_ok=True)
    status, output = run(["cmake", "--preset", "mutate", "-B", str(BUILD)], 600, cwd=COPY)
    if status != 0:
        fail(f"the copy in {COPY} cannot be configured:\n{output}")


def build(tests, seconds):
    targets = sorted({"test_" + lists.program_of(test) for test in tests})
    return run(["ninja", "-C", str(BUILD), "-j", str(os.cpu_count()), *targets], seconds)


def registered_tests():
    """Command and environment of every test, by name. After the build: before it, some commands
    are not known."""
    answer = json.loads(subprocess.check_output(["ctest", "--show-only=json-v1"], cwd=BUILD,
                                                stderr=subprocess.DEVNULL))
    tests = {}
    for test in answer["tests"]:
        properties = {each["name"]: each["value"] for each in test["properties"]}
        environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []) if each)
        if "command" in test:
            tests[test["name"]] = (test["command"], environment)
    return tests


class Folder:
    """The mutants of a list, and the tests that decide on them."""

    def __init__(self, name, mutants):
        self.name, self.mutants = name, mutants
        self.seconds = {}  # that a test takes on the sources as they are

    def prepare(self):
        """Builds the copy as it is; its tests have to pass, and say how long they may take."""
        tests = sorted({test for mutant in self.mutants for test in mutant.tests})
        print(f"{self.name}: building {len(tests)} tests of the sources as they are", flush=True)
        status, output = build(tests, 3600)
        if status != 0:
            fail(f"the sources as they are cannot be built:\n{output[-4000:]}")
        self.registered = registered_tests()
        for test in tests:
            if lists.name_of(test) not in self.registered:
                fail(f"{self.name}.txt names the test '{test}', which this build does not have")
            start = time.monotonic()
            if self.run_test(test, MUTANT_SECONDS) != 0:
                fail(f"{test} fails on the sources as they are; its output is in "
                     f"{WORK / 'output.txt'}")
            if "Running 0 tests" in (WORK / "output.txt").read_text(errors="replace"):
                fail(f"{self.name}.txt: the filter of {test} fits no test")
            self.seconds[test] = time.monotonic() - start

    def run_test(self, test, seconds):
        command, environment = self.registered[lists.name_of(test)]
        if lists.filter_of(test):
            command = [*command, f"--gtest_filter={lists.filter_of(test)}"]
        # With several ranks one that leaves early would let the others wait.
        alone = {} if "_np" in test else {"GTEST_FAIL_FAST": "1"}
        return run(command, seconds, {**environment, **alone}, BUILD)[0]

    def decide(self, mutant):
        """Returns the verdict and what led to it."""
        path = COPY / mutant.file
        original = path.read_bytes()
        deadline = time.monotonic() + MUTANT_SECONDS
        try:
            path.write_text(mutant.applied_to(original.decode()))
            for test in mutant.tests:  # what the first ones notice needs no other program
                verdict = self.look_at(test, deadline - time.monotonic())
                if verdict:
                    return verdict
            return "survived", ""
        finally:
            path.write_bytes(original)

    def look_at(self, test, seconds):
        """What one test makes of the mutant at hand; nothing where it does not notice."""
        start = time.monotonic()
        status, output = build([test], seconds)
        if status is None:
            return "faulty", f"{test} is not built in the {MUTANT_SECONDS} s of a mutant"
        if status != 0:
            first = re.search(r"^.*error: .*$", output, re.MULTILINE)
            return "faulty", "does not compile: " + (first.group(0) if first else output[-300:])
        # A rank that waits for ever is as good as an error, but a busy machine is none.
        patience = (30 if "_np" in test else 15) + 10 * self.seconds[test]
        left = seconds - (time.monotonic() - start)
        status = self.run_test(test, max(10, min(patience, left)))
        if status == 0:
            return None
        return "killed", test + (" (time limit)" if status is None else "")


class Decisions:
    """What earlier runs found out, in a file."""

    def __init__(self, sources):
        self.sources = sources
        self.known = json.loads(STATE.read_text()) if STATE.exists() else {}

    def key(self, mutant):
        content = (COPY / mutant.file).read_bytes()
        return hashlib.sha256(content + repr(mutant.identity()).encode()).hexdigest()

    def get(self, mutant):
        found = self.known.get(self.key(mutant))
        if found and (found["verdict"] == "killed" or found["sources"] == self.sources):
            return found["verdict"], found["why"]
        return None

    def put(self, mutant, verdict, why):
        if verdict == "faulty":  # perhaps the machine was busy
            return
        self.known[self.key(mutant)] = {"verdict": verdict, "why": why, "sources": self.sources,
                                        "mutant": str(mutant)}
        temporary = STATE.with_suffix(".new")
        temporary.write_text(json.dumps(self.known, indent=1))
        temporary.replace(STATE)


class Progress:
    """A line that rewrites itself on a terminal; one for each mutant elsewhere."""

    def __init__(self, name, total):
        self.name, self.total, self.done = name, total, 0
        self.start = time.monotonic()
        self.terminal = sys.stdout.isatty()

    def show(self, text):
        self.done += 1
        left = (time.monotonic() - self.start) / self.done * (self.total - self.done)
        line = f"{self.name} {self.done}/{self.total}, {left / 60:.0f} min left: {text}"
        print("\r\033[K" + line[:100] if self.terminal else line,
              end="" if self.terminal and self.done < self.total else "\n", flush=True)


def run_folder(name, mutants, decisions):
    """Returns the verdict on every mutant."""
    verdicts = {mutant: decisions.get(mutant) for mutant in mutants}
    open_ones = [mutant for mutant in mutants if verdicts[mutant] is None]
    if open_ones:
        folder = Folder(name, open_ones)
        folder.prepare()
        progress = Progress(name, len(open_ones))
        for mutant in open_ones:
            verdicts[mutant] = folder.decide(mutant)
            decisions.put(mutant, *verdicts[mutant])
            progress.show(f"{' '.join(verdicts[mutant])}: {mutant}")
    return verdicts


def print_survivor(mutant, verdict, why):
    """Of one that did not die, or should not have; returns what it counts as."""
    if verdict == "killed":
        if mutant.explanation:
            print(f"{mutant}\n    dies ({why}), though the list calls it equivalent")
        return "faulty" if mutant.explanation else "killed"
    if verdict == "faulty":
        print(f"{mutant}\n    FAULTY: {why}")
        return "faulty"
    print(f"{mutant}\n    " + (f"explained: {mutant.explanation}" if mutant.explanation else
                               f"SURVIVED: {' '.join(mutant.tests)}"))
    return "explained" if mutant.explanation else "survived"


def report(verdicts):
    """Prints the mutants that did not die and the table; returns whether all is well."""
    kinds = ["killed", "explained", "survived", "faulty"]
    rows = []
    for name, of_folder in verdicts.items():
        counted = [print_survivor(mutant, *of_folder[mutant]) for mutant in of_folder]
        rows.append((name, [counted.count(kind) for kind in kinds]))
    if len(rows) > 1:
        rows.append(("all", [sum(column) for column in zip(*(counts for _, counts in rows))]))
    print(f"{'':14}{'mutants':>9}" + "".join(f"{kind:>11}" for kind in kinds))
    for name, counts in rows:
        print(f"{name:14}{sum(counts):9}" + "".join(f"{count:11}" for count in counts) +
              f"{counts[0] / sum(counts):9.1%}")
    killed, explained, survived, faulty = rows[-1][1]
    share = killed / (killed + explained + survived + faulty)
    return share >= SHARE_TO_DIE and survived == 0 and faulty == 0


def check(folders):
    """Whether every entry still fits its source, and every test exists."""
    errors = lists.misfits(ROOT, folders)
    count = sum(len(mutants) for mutants in folders.values())
    if count < lists.LEAST and len(folders) == len(lists.NAMES):
        errors.append(f"the lists have {count} mutants; at least {lists.LEAST} are wanted")
    print("\n".join(errors) or f"{count} mutants fit the sources")
    return not errors


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", choices=lists.NAMES, help="only its mutants")
    parser.add_argument("--check", action="store_true",
                        help="only check that every mutant still fits the sources")
    arguments = parser.parse_args()
    names = [arguments.folder] if arguments.folder else lists.NAMES
    folders = {name: lists.read(name) for name in names}
    if arguments.check:
        return 0 if check(folders) else 1
    errors = lists.misfits(ROOT, folders)
    if errors:
        fail("\n".join(errors))
    decisions = Decisions(synchronize())
    configure()
    verdicts = {name: run_folder(name, mutants, decisions) for name, mutants in folders.items()}
    return 0 if report(verdicts) else 1


if __name__ == "__main__":
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked_to_stop, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        fail("stopped; started again it goes on")
