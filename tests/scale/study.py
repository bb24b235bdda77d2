#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scale study: compares migrations on simulated machines with the best MPI_Alltoallv and checks limits.

    study.py [--build DIRECTORY] [--results DIRECTORY] [--machine KIND] [--ranks N,N] [--jobs N] [--markdown]
             [--full]

Without --full, runs the quick set: ring, transpose, random and 4 neighbours on 8 to 64 ranks. Times are
simulated and the same in every run, so limits on them are exact. The exit status is 1 if a block is lost,
if memory grows with the number of ranks, or if a ratio exceeds its limit.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys

from simulate import ALGORITHMS, ROOT, simulate

SPARSE = ("ring", "neighbours")  # the number of peers of a rank does not depend on the number of ranks
DENSE = ("transpose", "random")
QUICK_RANKS = (8, 32, 64)
FULL_RANKS = {"dense": (8, 32, 64, 128, 256), "sparse": (8, 32, 64, 128, 256, 512, 1024)}
# Upper limits of execution time over the best MPI_Alltoallv.
RATIO_LIMITS = {
    "fattree": {"ring": 1.3, "transpose": 1.3, "random": 1.3, "neighbours": 0.5},
    "torus": {"ring": 1.1, "transpose": 1.3, "random": 1.3, "neighbours": 0.75},
}

# MADRE, section 4: pattern, free slots out of 25.
MADRE = {1: ("ring", 0), 2: ("ring", 5), 3: ("ring", 13), 4: ("one-free", 25), 5: ("transpose", 5)}
MADRE_METHODS = "stream,phased,cyclic-ascending,cyclic-rotated,direct"
MADRE_RANKS = (8, 32, 64)
MADRE_SLOTS = 400


def quick_jobs(machines, ranks):
    """One job per simulation: machine, ranks, algorithm, arguments of the driver, keys to add to its rows."""
    jobs = []
    for machine in machines:
        for count in ranks:
            jobs.append((machine, count, ALGORITHMS[0], ["--method", "stream"], {}))
            jobs += [(machine, count, name, ["--method", "alltoallv"], {}) for name in ALGORITHMS]
    return jobs


def madre_jobs(machines):
    jobs = []
    for machine in machines:
        for count in MADRE_RANKS:
            for number, (pattern, free) in MADRE.items():
                common = ["--pattern", pattern, "--slots", str(MADRE_SLOTS), "--block-bytes", "16000",
                          "--free", str(MADRE_SLOTS * free // 25 if pattern != "one-free" else 0),
                          "--to", "slots"]
                added = {"experiment": number}
                for method in MADRE_METHODS.split(","):
                    # CYCLIC's root is serial: on many ranks it takes longer than all other methods together.
                    if not (method.startswith("cyclic") and count > 32):
                        jobs.append((machine, count, ALGORITHMS[0], [*common, "--method", method], added))
                jobs += [(machine, count, name, [*common, "--method", "alltoallv"], added)
                         for name in ALGORITHMS]
    return jobs


def full_jobs(machines):
    jobs = []
    for machine in machines:
        for patterns, ranks in ((DENSE, FULL_RANKS["dense"]), (SPARSE, FULL_RANKS["sparse"])):
            for count in ranks:
                chosen = ["--pattern", ",".join(patterns)]
                jobs.append((machine, count, ALGORITHMS[0], [*chosen, "--method", "stream"], {}))
                jobs += [(machine, count, name, [*chosen, "--method", "alltoallv"], {})
                         for name in ALGORITHMS]
    return jobs + madre_jobs(machines)


def tell(done, total):
    if sys.stderr.isatty():
        print(f"\r{done} of {total} simulations", end="\n" if done == total else "", file=sys.stderr)


def run(jobs, build, workers):
    """The rows of all simulations in the order of the jobs, and messages about those that failed."""
    rows, failures, done = [], [], 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(simulate, build, machine, ranks, arguments, algorithm)
                   for machine, ranks, algorithm, arguments, _ in jobs]
        for _ in concurrent.futures.as_completed(futures):
            done += 1
            tell(done, len(jobs))
    for future, (*_, added) in zip(futures, jobs):
        try:
            rows += [{**row, **added} for row in future.result()]
        except RuntimeError as error:
            failures.append(str(error))
    return rows, failures


def key(row):
    return (row.get("experiment", 0), row["platform"], row["pattern"], row["free"], row["ranks"])


def compare(rows):
    """The rows of the methods, each with its time over that of the best MPI_Alltoallv of the same migration."""
    best = {}
    for row in rows:
        if row["method"] == "alltoallv":
            best[key(row)] = min(best.get(key(row), float("inf")), row["seconds"])
    for row in rows:
        if row["method"] != "alltoallv" and "seconds" in row and key(row) in best:
            row["ratio"] = row["seconds"] / best[key(row)]
    return [row for row in rows if row["method"] != "alltoallv"]


def wrong(methods):
    """Messages about violated requirements."""
    for row in methods:
        what = f"{row['platform']}, {row['pattern']}, {row['ranks']} ranks, {row['method']}"
        if "refused" in row:
            continue
        if not row["verified"]:
            yield f"{what}: blocks are not where the map wants them"
        limit = RATIO_LIMITS.get(row["platform"], {}).get(row["pattern"])
        if limit and "experiment" not in row and row["method"] == "stream" and row["ratio"] > limit:
            yield f"{what}: {row['ratio']:.2f} times MPI_Alltoallv, more than {limit}"
    for pattern in SPARSE:
        for machine in dict.fromkeys(row["platform"] for row in methods):
            state = {row["ranks"]: row["peak_extra_bytes"] - row["budget_bytes"] for row in methods
                     if (row["platform"], row["pattern"], row["method"]) == (machine, pattern, "stream")
                     and "experiment" not in row}
            if len(set(state.values())) > 1:
                yield f"{machine}, {pattern}: the bytes beyond the budget change with the ranks: {state}"


def print_table(methods):
    print(f"{'machine':8} {'ranks':>5} {'pattern':10} {'method':16} {'plan':>10} {'execution':>10} {'over':>9}"
          f" {'state':>8}")
    for row in methods:
        name = f"{row['platform']:8} {row['ranks']:5} {row['pattern']:10} {row['method']:16}"
        if "refused" in row:
            print(f"{name} {row['refused']}")
            continue
        print(f"{name} {row['plan_seconds'] * 1e6:8.0f}us {row['seconds'] * 1e6:8.0f}us"
              f" {row.get('ratio', 0):9.2f} {row['peak_extra_bytes'] - row['budget_bytes']:8}")


def print_markdown(methods):
    """STREAM's ratios and planning times, as in the tables of src/docs/scale.md."""
    rows = {(row["platform"], row["pattern"], row["ranks"]): row for row in methods
            if row["method"] == "stream" and "experiment" not in row and "ratio" in row}
    ranks = sorted({key[2] for key in rows})
    for title, text in (("execution over the best `MPI_Alltoallv`", lambda row: f"{row['ratio']:.2f}"),
                        ("planning [us]", lambda row: f"{row['plan_seconds'] * 1e6:.0f}")):
        print(f"\n| {title} | " + " | ".join(str(count) for count in ranks) + " |")
        print("|---|" + "---|" * len(ranks))
        for machine, pattern in dict.fromkeys(key[:2] for key in rows):
            cells = (rows.get((machine, pattern, count)) for count in ranks)
            print(f"| {machine}: {pattern} | " + " | ".join(text(row) if row else "" for row in cells) + " |")


def version():
    text = (ROOT / "src/include/valet/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define VALET_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", text))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--results", type=pathlib.Path, help="directory for scale.json")
    parser.add_argument("--machine", choices=["fattree", "torus"], help="simulate only this machine")
    parser.add_argument("--ranks", help="numbers of ranks (default: 8,32,64)")
    parser.add_argument("--markdown", action="store_true", help="also print the tables of the documentation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="number of simultaneous simulations (default: number of cores)")
    parser.add_argument("--full", action="store_true",
                        help="run up to 256 ranks, or 1024 for sparse patterns, and MADRE's experiments; takes hours")
    return parser.parse_args()


def main():
    arguments = parse()
    machines = [arguments.machine] if arguments.machine else ["fattree", "torus"]
    ranks = [int(count) for count in arguments.ranks.split(",")] if arguments.ranks else QUICK_RANKS
    jobs = full_jobs(machines) if arguments.full else quick_jobs(machines, ranks)
    rows, mistakes = run(jobs, arguments.build, arguments.jobs)
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"version": version(), "cases": rows}, indent=1)
        (arguments.results / "scale.json").write_text(text + "\n", encoding="utf-8")
    methods = compare(rows)
    print_table(methods)
    if arguments.markdown:
        print_markdown(methods)
    mistakes += wrong(methods)
    for mistake in mistakes:
        print(f"wrong: {mistake}", file=sys.stderr)
    return 1 if mistakes or not methods else 0


if __name__ == "__main__":
    sys.exit(main())
