#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the models of the credit transport, of pulls and of CYCLIC with Spin, and that each rule of
the proofs is needed: every mutant of a model, which breaks one rule, has to fail."""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY_MB = 1700  # of states; the search fails when they are more
LIMIT_S = 900  # of one search

DEFAULTS = {
    "ordered": dict(P=3, MOST=1, TOTAL=12, MESSAGE=1, SENDS=0, GRAIN=1, ROOM=1, SHIFT=0, DIRECT=0,
                    PULLED=0, RUNS=1),
    "slots": dict(P=3, MOST=1, TOTAL=12, MESSAGE=1, SENDS=0, BUFFERS=1, DIRECT=0),
    "cyclic": dict(P=3, MOST=1, TOTAL=6, WINDOW=1),
}

# Model, and how it differs from the above. The first four take seconds: --quick.
QUICK = 4
CASES = [
    ("ordered", dict()),
    ("slots", dict(TOTAL=4)),
    ("cyclic", dict()),
    ("ordered", dict(PULLED=1, RUNS=2)),
    ("ordered", dict(ANY_HOLES=1)),
    ("ordered", dict(MOST=2)),
    ("ordered", dict(MOST=2, SENDS=1, TOTAL=6)),
    ("ordered", dict(MOST=2, SENDS=2, TOTAL=6)),
    ("ordered", dict(MOST=2, DIRECT=1, SHIFT=1, TOTAL=6)),
    ("ordered", dict(MOST=2, GRAIN=2, MESSAGE=2, ROOM=2, TOTAL=8)),
    ("ordered", dict(MOST=3, GRAIN=2, MESSAGE=2, TOTAL=6)),
    ("ordered", dict(MOST=3, GRAIN=2, MESSAGE=2, SENDS=2, TOTAL=6)),
    ("ordered", dict(P=4, TOTAL=4)),
    ("ordered", dict(P=4, SENDS=1, TOTAL=4)),
    ("ordered", dict(PULLED=1, ANY_HOLES=1)),
    ("ordered", dict(PULLED=1, MOST=2, RUNS=2, TOTAL=6)),
    ("ordered", dict(PULLED=1, MOST=3, GRAIN=2, MESSAGE=2, TOTAL=6)),
    ("ordered", dict(PULLED=1, MOST=2, SHIFT=1, TOTAL=6)),
    ("ordered", dict(PULLED=1, P=4, TOTAL=4)),
    ("ordered", dict(PULLED=2, SENDS=1, RUNS=2)),
    ("ordered", dict(PULLED=2, ANY_HOLES=1)),
    ("ordered", dict(PULLED=2, MOST=2, DIRECT=1, SHIFT=1, TOTAL=5)),
    ("slots", dict()),
    ("slots", dict(ANY_SLOTS=1, DIRECT=1)),
    ("slots", dict(ANY_SLOTS=1, SENDS=1)),
    ("slots", dict(BUFFERS=2, SENDS=2, TOTAL=5)),
    ("slots", dict(MOST=2, MESSAGE=2, SENDS=1, TOTAL=4)),
    ("slots", dict(MOST=2, BUFFERS=2, TOTAL=4)),
    ("slots", dict(P=4, TOTAL=4)),
    ("cyclic", dict(MOST=2, TOTAL=5)),
    ("cyclic", dict(MOST=3, TOTAL=6, WINDOW=2)),
    ("cyclic", dict(P=4, MOST=2, TOTAL=4)),
]

# Rule that is broken, model, and where that shows.
MUTANTS = [
    ("a receive is posted before its credit", "CREDIT_BEFORE_RECEIVE", "ordered", dict()),
    ("two credits of a pair at most", "CREDITS_WITHOUT_LIMIT", "ordered", dict(MOST=3, ROOM=3)),
    ("slots are free once their message has left", "SLOT_FREE_WHILE_SENT", "slots",
     dict(ANY_SLOTS=1)),
    ("one send buffer never waits for a credit", "ALL_BUFFERS_WAIT", "ordered", dict(SENDS=1)),
    ("room for one more than has to wait", "ROOM=0", "ordered", dict()),
    ("imports come in the order of their grains", "IMPORTS_FARTHEST_FIRST", "ordered", dict()),
    ("holes are taken in the order of grains", "HOLES_FARTHEST_FIRST", "ordered", dict()),
    ("room is reserved by the credit", "ROOM_IS_NOT_RESERVED", "ordered", dict(MOST=2, ROOM=2)),
    ("a source is told of blocks that are copied", "TOLD_BEFORE_COPIED", "ordered",
     dict(PULLED=1)),
    ("blocks are pulled into holes that are left", "PULLS_INTO_SLOTS_NOT_LEFT", "ordered",
     dict(PULLED=1)),
    ("blocks that wait come before those to pull", "PULLS_OVERTAKE_WAITING_BLOCKS", "ordered",
     dict(PULLED=1)),
    ("blocks whose holes are not left go aside", "PULLS_NEVER_ASIDE", "ordered", dict(PULLED=1)),
    ("room for one more than has to wait", "ROOM=0", "ordered", dict(PULLED=1)),
    ("a source waits until all has been taken", "ENDS_BEFORE_ALL_IS_TAKEN", "ordered",
     dict(PULLED=1, RUNS=2)),
    ("nothing is pulled before all ranks agree", "STARTS_WITHOUT_AGREEMENT", "ordered",
     dict(PULLED=1, RUNS=2)),
    ("what is taken counts all executions", "COUNTS_ONE_EXECUTION", "ordered",
     dict(PULLED=1, RUNS=2)),
    ("a place more than is needed at the end", "NO_SCRATCH", "slots", dict(DIRECT=1)),
    ("blocks in the last buffer are misplaced", "NEVER_MISPLACES", "slots", dict()),
    ("a single block of scratch only receives", "STAGES_IN_THE_SCRATCH", "slots", dict()),
    ("one send buffer never waits for a credit", "ALL_BUFFERS_WAIT", "slots", dict(SENDS=1)),
    ("credits wait only for messages on the way", "CREDITS_WAIT_FOR_SLOTS", "slots",
     dict(MOST=3, BUFFERS=2, TOTAL=6)),
    ("buffers are reserved by the credit", "BUFFER_IS_NOT_RESERVED", "slots", dict(BUFFERS=2)),
    ("no credit crosses the sender's messages", "CREDITS_CROSS_MESSAGES", "slots",
     dict(MOST=3, MESSAGE=2, SENDS=2, BUFFERS=1)),
    ("all credits are taken, of ranks ahead too", "CREDITS_AHEAD_TAKE_ALL_ROOM", "cyclic",
     dict(MOST=2, TOTAL=5)),
    ("a place more than is needed at the end", "NO_SCRATCH", "cyclic", dict()),
]


def flags(model, options, mutant=None):
    chosen = dict(DEFAULTS[model], **options)
    if mutant:
        name, _, value = mutant.partition("=")
        chosen[name] = value or 1
    return [f"-D{name}={value}" for name, value in chosen.items()]


def search(arguments, model, defines):
    """Verdict, states and seconds of one search: ok, error or incomplete."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:

        def run(*command):
            result = subprocess.run(command, cwd=folder, text=True, timeout=LIMIT_S,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return result.returncode, result.stdout

        preprocess = f"-P{arguments.compiler} -E -x c"
        code, said = run(arguments.spin, preprocess, "-a", *defines,
                         os.path.join(HERE, model + ".pml"))
        if code == 0 and "rror" not in said:
            code, said = run(arguments.compiler, "-O1", "-w", "-DSAFETY", "-DHC4",
                             f"-DMEMLIM={MEMORY_MB}", "-DVECTORSZ=4096", "-o", "pan", "pan.c")
        if code != 0:
            sys.exit(f"The model {model} with {' '.join(defines)} cannot be built:\n{said}")
        try:
            _, said = run("./pan", "-m20000", "-w22")
        except subprocess.TimeoutExpired:
            return f"incomplete: out of time, {LIMIT_S} s", 0, time.monotonic() - began
    states = re.search(r"(\d+) states, stored", said)
    error = re.search(r"pan:1: (.*?)(?: \(at depth| *$)", said, re.MULTILINE)
    errors = re.search(r"errors: (\d+)", said)
    if not states or not errors:
        verdict = "incomplete: " + said.strip().splitlines()[-1]
    elif errors[1] != "0" and error and "too small" not in error[1]:
        verdict = error[1]
    elif "not completed" in said or "too small" in said or errors[1] != "0":
        verdict = "incomplete: out of memory or depth"
    else:
        verdict = "ok"
    return verdict, int(states[1]) if states else 0, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three ranks, one block: seconds")
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--compiler", default="cc", help="a C compiler")
    arguments = parser.parse_args()
    for tool in (arguments.spin, arguments.compiler):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not found: install the packages spin and gcc, or name them with "
                     "--spin and --compiler.")

    jobs = [(f"{model}: " + " ".join(flag[2:] for flag in flags(model, options)), model,
             flags(model, options), False)
            for model, options in (CASES[:QUICK] if arguments.quick else CASES)]
    jobs += [(f"{model} without: {rule}", model, flags(model, options, mutant), True)
             for rule, mutant, model, options in ([] if arguments.quick else MUTANTS)]
    failed = 0
    print(f"{'states':>10} {'seconds':>8}  {'result':<9} model")
    for done, (name, model, defines, is_mutant) in enumerate(jobs):
        if sys.stderr.isatty():
            print(f"\r[{'#' * done}{'.' * (len(jobs) - done)}] ", end="", file=sys.stderr,
                  flush=True)
        verdict, states, seconds = search(arguments, model, defines)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if is_mutant:
            caught = verdict != "ok" and not verdict.startswith("incomplete")
            result = "caught" if caught else "SURVIVES"
            failed += not caught
            name += f" ({verdict.replace('assertion violated', 'violates')})"
        else:
            result = "ok" if verdict == "ok" else "FAILS"
            failed += verdict != "ok"
            name += "" if verdict == "ok" else f" ({verdict})"
        print(f"{states:>10} {seconds:>8.1f}  {result:<9} {name}", flush=True)
    print(f"{len(jobs) - failed} of {len(jobs)} as they should be; "
          f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB at most")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
