#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the data points of the papers' figures and tables: papers.py DIRECTORY.

Each point is a run of valet-bench. Its JSON file in DIRECTORY also contains the command. Existing points are
kept, so an interrupted collection can be resumed; `python3 examples/plot.py papers DIRECTORY` plots those
that exist. Points that need more memory than the machine has are listed and skipped.
Needs only the standard library.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# MADRE, section 4; the paper used 2 to 1,024 nodes of a Blue Gene/L.
MADRE_SLOTS, MADRE_BLOCK = 25_000, 16_000
MADRE_PROCESSES = "2,4,8,16,32,64,128,256,512,1024"
# Pinar and Hendrickson, section 7: the matrix ocean has 143,437 rows and 819,186 nonzeros.
OCEAN_VERTICES, OCEAN_DEGREE = 143_437, 819_186 / 143_437
# Zhuang, Nakashima, Nagamochi, section 4: 2^24 elements of 16 bytes in each process.
ZHUANG_MEBIBYTES = 256


@dataclass
class Point:
    """A run of valet-bench, or of the simulation driver."""
    name: str  # of the file
    ranks: int
    arguments: str
    bytes_per_rank: int = 0
    simulated: bool = False


def madre_points(ranks, quick, repeat):
    """Figure 5 with ample scratch and with one block as in MADRE; experiment 3 on the largest number of ranks."""
    slots = 500 if quick else MADRE_SLOTS
    points = [Point("madre_counted", 1, f"madre --blocks {MADRE_SLOTS} --processes "
                    + ("8,32" if quick else MADRE_PROCESSES))]
    for count in ranks:
        for experiment in (1, 2, 4, 5) + ((3,) if count == max(ranks) else ()):
            for memory in ("4M", str(MADRE_BLOCK)):
                points.append(Point(f"madre_{experiment}_ranks{count}_memory{memory}", count,
                                    f"madre --experiment {experiment} --blocks {slots} --block-bytes {MADRE_BLOCK} "
                                    f"--memory {memory} --repeat {repeat}",
                                    # the blocks, packed blocks and a second buffer for MPI_Alltoallv
                                    3 * slots * MADRE_BLOCK))
    return points


def simulated_points(ranks, quick):
    """Figure 5 on a torus with the links of MADRE's Blue Gene/L, with the sizes of the paper."""
    slots = 500 if quick else MADRE_SLOTS
    methods = "stream,phased,cyclic-ascending,alltoallv"
    points = []
    for count in ranks:
        for experiment, pattern, free in ((1, "ring", 0), (2, "ring", slots // 5), (4, "one-free", 0),
                                          (5, "transpose", slots // 5)):
            for memory in ("4M", str(MADRE_BLOCK)):
                points.append(Point(f"simulated_{experiment}_ranks{count}_memory{memory}", count,
                                    f"torus {count} --pattern {pattern} --slots {slots} --free {free} "
                                    f"--block-bytes {MADRE_BLOCK} --memory {memory} --to slots --method {methods}",
                                    # one page of each block is touched
                                    3 * slots * 4096, simulated=True))
    return points


def zhuang_points(ranks, quick, repeat):
    """Table 1: all cases, with the bytes per process of the paper or as many as fit."""
    points = []
    for count in ranks:
        room = 8 * ZHUANG_MEBIBYTES // count  # less beyond 8 ranks, to limit the total memory
        mebibytes = 1 if quick else min(ZHUANG_MEBIBYTES, max(1, room))
        for case in (1, 2, 3, 4) if count >= 4 else (1, 4):
            points.append(Point(f"zhuang_{case}_ranks{count}", count,
                                f"alltoall --case {case} --method stream,bitonic --bytes {mebibytes}M "
                                f"--repeat {repeat}", 3 * mebibytes * 2**20))
    return points


def pinar_points(ranks, quick, repeat):
    """Figures 12 to 14 computed for the paper's processors; Figures 10, 11 and 14 with data."""
    graph = "--vertices 3000" if quick else f"--vertices {OCEAN_VERTICES} --degree {OCEAN_DEGREE:.3f}"
    parts, instances, carried = ("16,32", 2, 1) if quick else ("32,64,128", 10, 3)
    # The paper adjusts partitions; new ones need more phases.
    counted = [Point(f"phases_counted_{remap}", min(2, max(ranks)),
                     f"phases --experiment 3,4 {graph} --parts {parts} --instances {instances} --remap {remap} "
                     "--carry-out 0") for remap in ("diffuse", "scratch")]
    return counted + [Point(f"phases_ranks{count}", count,
                           f"phases --experiment 1,2,4 {graph} --parts {max(count, 8)} --instances {carried} "
                           f"--carry-out {carried} --repeat {repeat}") for count in ranks]


def aspen_points(quick):
    """Figures 3 and 4."""
    grids = " --local-grid 2x2,8x8 --remote-grid 2x2,8x8" if quick else ""
    return [Point("layout_index", 1, f"layout --study index --repeat {3 if quick else 31}{grids}")]


def all_points(ranks, quick, repeat):
    return (aspen_points(quick) + madre_points(ranks, quick, repeat) + pinar_points(ranks, quick, repeat)
            + zhuang_points(ranks, quick, repeat))


def usual_launch():
    """mpirun, such that ranks may share cores."""
    options = subprocess.run([ROOT / "cmake/mpi_options.sh", "mpirun", "root", "oversubscribe", "yield"],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
    return ["env", *options.split(), "mpirun"]


def free_memory():
    """Bytes available to programs without swapping; infinite if the system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")


class Collection:
    """The points of a directory. Commands are relative to the root of the source tree."""

    def __init__(self, directory, launch, program, seconds):
        self.directory, self.launch, self.seconds = directory, launch, seconds
        self.program = program.relative_to(ROOT) if program.is_relative_to(ROOT) else program
        self.failed, self.left_out, self.kept, self.done = [], [], 0, 0
        # Without Zoltan there is no benchmark "phases".
        self.studies = set(subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.split())

    def command(self, point):
        if point.simulated:
            build = ["--build", str(self.program.parent.parent)] if self.program.is_absolute() else []
            return ["python3", "tests/scale/simulate.py", *build, *point.arguments.split()]
        return [*self.launch, "-n", str(point.ranks), str(self.program), *point.arguments.split()]

    def is_built(self, point):
        return point.simulated or point.arguments.split()[0] in self.studies

    def has(self, point):
        """Whether the same command has been run before."""
        try:
            document = json.loads((self.directory / f"{point.name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return document.get("command") == shlex.join(self.command(point))

    def take(self, point):
        if self.has(point):
            self.kept += 1
        elif point.ranks * point.bytes_per_rank > 0.9 * free_memory() or not self.is_built(point):
            self.left_out.append(point.name)
        elif self.measure(point):
            self.done += 1
        else:
            self.failed.append(point.name)

    def measure(self, point):
        """Runs a point and writes its file when it is complete."""
        with tempfile.TemporaryDirectory(dir=self.directory) as scratch:
            path = Path(scratch) / "point.json"
            file = [] if point.simulated else ["--json", str(path)]
            try:
                run = subprocess.run([*self.command(point), *file], capture_output=True, text=True, check=False,
                                     timeout=self.seconds, cwd=ROOT)
                text, code = run.stdout + run.stderr, run.returncode
                if code == 0 and point.simulated:
                    document = {"cases": [json.loads(line) for line in run.stdout.splitlines()]}
                else:
                    document = json.loads(path.read_text(encoding="utf-8")) if code == 0 else {}
            except subprocess.TimeoutExpired:
                text, code = f"stopped after {self.seconds} s", 1
            if code != 0:
                print(f"papers.py: {point.name} failed: {shlex.join(self.command(point))}\n{text}", file=sys.stderr)
                return False
            document = {"command": shlex.join(self.command(point)), "cores": os.cpu_count(), **document}
            path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            path.replace(self.directory / f"{point.name}.json")
        return True


def collect(collection, points):
    """Takes all points; shows the progress on a terminal."""
    start = time.monotonic()
    for number, point in enumerate(points):
        if sys.stderr.isatty():
            print(f"\r\033[K[{number}/{len(points)}] {time.monotonic() - start:.0f} s  {point.name}", end="",
                  file=sys.stderr, flush=True)
        collection.take(point)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{collection.done} points measured, {collection.kept} kept, {len(collection.failed)} failed, "
          f"{len(collection.left_out)} left out")
    if collection.left_out:
        print("too large for the memory, or not built: " + " ".join(collection.left_out))


def numbers(text):
    values = sorted({int(part) for part in text.split(",")})
    if not values or values[0] < 2:
        raise argparse.ArgumentTypeError("give numbers of ranks from 2 on, as in 2,4,8")
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="directory for the JSON file of each point; created if missing")
    parser.add_argument("--quick", action="store_true", help="small sizes; everything takes about two minutes")
    parser.add_argument("--ranks", type=numbers, help="numbers of ranks (default: 2,4,8; with --quick: 2,4)")
    parser.add_argument("--simulate", type=numbers, default=[], metavar="RANKS",
                        help="also simulate MADRE's Figure 5 on these numbers of ranks, as in 8,32,128; needs the "
                        "driver of tests/scale")
    parser.add_argument("--repeat", type=int,
                        help="measurements of each point with data, of which the median counts (default: 3; with --quick: 1)")
    parser.add_argument("--only", default="", help="only points whose names begin with this, such as madre_5")
    parser.add_argument("--list", action="store_true", help="print the commands without running them")
    parser.add_argument("--launch", help="launch command, to which -n N PROGRAM is appended (default: mpirun)")
    parser.add_argument("--program", type=Path, default=ROOT / "build/bin/valet-bench",
                        help="path of valet-bench (default: build/bin/valet-bench)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS",
                        help="time limit of a point (default: 1800, as in MADRE's paper)")
    arguments = parser.parse_args()
    ranks = arguments.ranks or ([2, 4] if arguments.quick else [2, 4, 8])
    repeat = arguments.repeat or (1 if arguments.quick else 3)
    points = [point for point in all_points(ranks, arguments.quick, repeat)
              + simulated_points(arguments.simulate, arguments.quick)
              if point.name.startswith(arguments.only)]
    launch = shlex.split(arguments.launch) if arguments.launch else usual_launch()
    collection = Collection(arguments.directory.resolve(), launch, arguments.program.resolve(), arguments.timeout)
    if arguments.list:
        for point in points:
            print(shlex.join(collection.command(point)))
        return 0
    if not arguments.program.exists():
        sys.exit(f"papers.py: {arguments.program} is missing; build it first, or name it with --program")
    arguments.directory.mkdir(parents=True, exist_ok=True)
    collect(collection, points)
    return 1 if collection.failed else 0


if __name__ == "__main__":
    sys.exit(main())
