#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the results of an example or a study: plot.py EXAMPLE DIRECTORY.

Reads the files that the example wrote into DIRECTORY and writes PNG pictures beside them. The study
layout_index reads what `valet-bench layout --study index --json DIRECTORY/layout_index.json` wrote.
"""

import argparse
import csv
import json
import os
import sys
from pathlib import Path

try:
    import matplotlib
except ImportError:
    # The distribution's matplotlib belongs to the distribution's Python, which may not be first in
    # the path.
    system_python = "/usr/bin/python3"
    if sys.executable != system_python and os.access(system_python, os.X_OK):
        os.execv(system_python, [system_python, *sys.argv])
    sys.exit("plot.py: matplotlib is missing; install python3-matplotlib")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
from matplotlib.collections import PatchCollection  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch, Rectangle  # noqa: E402

MEGABYTE = 1e6
VALET = "tab:blue"
LIMIT = "tab:green"
OUT_OF_PLACE = "tab:red"
PHASES = {"partition": ("0.85", "Zoltan partitions"), "migrate": ("tab:blue", "Valet migrates")}


def read(path):
    """Rows of a CSV file as dictionaries, numbers as numbers."""

    def value(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    with open(path, newline="", encoding="utf-8") as file:
        rows = [{name: value(text) for name, text in row.items()} for row in csv.DictReader(file)]
    if not rows:
        sys.exit(f"plot.py: {path} has no rows")
    return rows


def save(figure, path):
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def rank_colours(ranks):
    palette = plt.get_cmap("tab10" if ranks <= 10 else "turbo")
    return [palette(r if ranks <= 10 else r / (ranks - 1)) for r in range(ranks)]


def separation(points, axis):
    """How far apart the ranks' particles are along an axis, against their spread inside a rank."""
    by_rank = {}
    for row in points:
        by_rank.setdefault(row["owner_after"], []).append(row[axis])
    total = sum(row[axis] for row in points) / len(points)
    between = within_ranks = 0.0
    for values in by_rank.values():
        mean = sum(values) / len(values)
        between += len(values) * (mean - total) ** 2
        within_ranks += sum((value - mean) ** 2 for value in values)
    return between / max(within_ranks, 1e-12)


def best_view(points, ranks):
    """The two axes that show the parts best, and the particles to show: with many ranks a slice."""
    *seen, along = sorted("xyz", key=lambda axis: -separation(points, axis))
    if ranks > 4:
        points = sorted(points, key=lambda row: row[along])
        points = points[len(points) * 3 // 8:len(points) * 5 // 8]
    return sorted(seen), along, points


def draw_owners(directory):
    """Who owns which particles, before and after the rebalance that moved most."""
    rebalances = read(directory / "rebalances.csv")
    # The first one spreads particles that nobody had sorted yet: no picture of a load balancer.
    candidates = rebalances[1:] or rebalances
    shown = max(candidates, key=lambda row: row["moved_bytes"])
    points = [row for row in read(directory / "owners.csv") if row["rebalance"] == shown["rebalance"]]
    ranks = 1 + max(max(row["owner_before"], row["owner_after"]) for row in points)
    colours = rank_colours(ranks)
    seen, along, visible = best_view(points, ranks)

    figure, axes = plt.subplots(1, 2, figsize=(12, 7.2), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.86, bottom=0.13, wspace=0.05)
    for axis, when in zip(axes, ("before", "after")):
        owner = f"owner_{when}"
        axis.scatter([row[seen[0]] for row in visible], [row[seen[1]] for row in visible], s=5,
                     linewidths=0, c=[colours[row[owner]] for row in visible])
        axis.set_title(f"{when}: the busiest rank has {shown[f'imbalance_{when}']:.3f} "
                       "times the mean work", fontsize=11)
        axis.set_xlabel(f"{seen[0]} [box lengths]")
        axis.set_aspect("equal")
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
    axes[0].set_ylabel(f"{seen[1]} [box lengths]")
    if ranks <= 12:
        figure.legend(handles=[Line2D([], [], marker="o", linestyle="", color=colours[r],
                                      label=f"rank {r}") for r in range(ranks)],
                      title="owner", loc="lower center", ncol=ranks, frameon=False)
    what = "all sampled particles" if len(visible) == len(points) else "a slice of the box"
    figure.suptitle(f"Who owns which particles around the rebalance of step {shown['step']}: "
                    f"{shown['moved_bytes'] / MEGABYTE:.1f} MB moved in place\n"
                    f"{len(visible):,} particles, {what}, seen along {along}", fontsize=12)
    save(figure, directory / "owners.png")


def shade(axis, spans):
    for start, end, phase in spans:
        axis.axvspan(start, end, color=PHASES[phase][0], alpha=0.35 if phase == "migrate" else 0.6,
                     linewidth=0)


def spans_of(samples):
    """Where one rank was not simulating: (start, end, phase)."""
    spans = []
    for sample in samples:
        if sample["phase"] == "simulate":
            continue
        if spans and spans[-1][2] == sample["phase"] and spans[-1][3] == sample["step"]:
            spans[-1][1] = sample["seconds"]
        else:
            spans.append([sample["seconds"], sample["seconds"], sample["phase"], sample["step"]])
    return [span[:3] for span in spans]


def within(samples, migration, margin=0.0):
    return [s for s in samples
            if migration["start_seconds"] - margin <= s["seconds"] <= migration["end_seconds"] + margin]


def draw_run(axis, samples, migrations, rank):
    """Resident memory of one rank over the run, and where a second copy would have taken it."""
    shade(axis, spans_of(samples))
    axis.plot([s["seconds"] for s in samples],
              [s["resident_bytes"] / MEGABYTE for s in samples], color="black", linewidth=1)
    for migration in migrations:
        inside = within(samples, migration)
        if not inside:
            continue
        base = min(s["resident_bytes"] for s in inside)
        middle = (migration["start_seconds"] + migration["end_seconds"]) / 2
        for need, colour, marker in ((migration["limit_bytes"], LIMIT, "_"),
                                     (migration["out_of_place_bytes"], OUT_OF_PLACE, "v")):
            axis.plot(middle, (base + need) / MEGABYTE, marker, color=colour, markersize=8,
                      markeredgewidth=2)
    axis.set_ylim(bottom=0)
    axis.set_xlim(0, samples[-1]["seconds"])
    axis.set_xlabel("time since the start [s]")
    axis.set_ylabel("resident memory [MB]")
    axis.set_title(f"Rank {rank} over the whole run", fontsize=11)
    axis.legend(handles=[
        Line2D([], [], color="black", label="resident memory, measured"),
        Patch(color=PHASES["partition"][0], label="while Zoltan partitions (its own memory)"),
        Patch(color=PHASES["migrate"][0], alpha=0.35, label="while Valet migrates"),
        Line2D([], [], marker="_", linestyle="", color=LIMIT, markeredgewidth=2,
               label="what Valet promised not to pass"),
        Line2D([], [], marker="v", linestyle="", color=OUT_OF_PLACE,
               label="what an out-of-place exchange would reach"),
    ], loc="lower center", ncol=2, fontsize=8.5, framealpha=0.95)


def draw_migration(axis, samples, migration):
    """The largest migration under the magnifying glass."""
    inside = within(samples, migration)
    base = min((s["resident_bytes"] for s in inside), default=0)
    start = migration["start_seconds"]
    milliseconds = [1e3 * (s["seconds"] - start) for s in inside]
    axis.fill_between(milliseconds, [(s["resident_bytes"] - base) / MEGABYTE for s in inside],
                      color=VALET, alpha=0.35, linewidth=0)
    axis.plot(milliseconds, [(s["resident_bytes"] - base) / MEGABYTE for s in inside],
              color=VALET, marker=".", linewidth=1.2, label="growth of the process, measured")
    end = 1e3 * (migration["end_seconds"] - start)
    for need, colour, text in (
            (migration["out_of_place_bytes"], OUT_OF_PLACE,
             "out of place: packed send and receive buffers"),
            (migration["limit_bytes"], LIMIT, "Valet's promise: scratch and index arrays"),
            (migration["extra_bytes"], VALET, "Valet's own count of what it allocated")):
        axis.axhline(need / MEGABYTE, color=colour, linestyle="--", linewidth=1.5,
                     label=f"{text}, {need / MEGABYTE:.1f} MB")
    axis.legend(loc="center", fontsize=9)
    axis.set_xlim(0, max(end, 1e-3))
    axis.set_ylim(0, 1.15 * max(migration["out_of_place_bytes"], migration["limit_bytes"], 1) / MEGABYTE)
    axis.set_xlabel("time since the migration began [ms]")
    axis.set_ylabel("memory beyond the particle arrays [MB]")
    axis.set_title(f"The largest migration: step {migration['step']}, rank {migration['rank']}",
                   fontsize=11)


def draw_memory(directory):
    """Memory over time against the limit."""
    samples = read(directory / "memory.csv")
    migrations = read(directory / "migrations.csv")
    largest = max(migrations, key=lambda row: row["out_of_place_bytes"])
    rank = largest["rank"]
    own_samples = [s for s in samples if s["rank"] == rank]
    own_migrations = [m for m in migrations if m["rank"] == rank]
    if not any(s["resident_bytes"] for s in own_samples):
        sys.exit("plot.py: memory.csv has no resident sizes; this system has no /proc")
    figure, axes = plt.subplots(1, 2, figsize=(15, 6), gridspec_kw={"width_ratios": [3, 2]})
    figure.subplots_adjust(left=0.05, right=0.985, top=0.88, bottom=0.1, wspace=0.13)
    draw_run(axes[0], own_samples, own_migrations, rank)
    draw_migration(axes[1], own_samples, largest)
    figure.suptitle("Memory while particles migrate in place", fontsize=13)
    save(figure, directory / "memory.png")


def draw_particles(directory):
    draw_owners(directory)
    draw_memory(directory)


ALGORITHMS = {"classical": ("tab:red", "s", "CLASSICAL"), "falls": ("tab:orange", "^", "FALLS"),
              "aspen": (VALET, "o", "ASPEN")}


def grid_ranks(grid):
    """Ranks of a grid such as 4x4."""
    ranks = 1
    for part in grid.split("x"):
        ranks *= int(part)
    return ranks


def draw_study(cases, title, label, path):
    """Time over the remote grid, a panel per block size and a line per algorithm."""
    blocks = list(dict.fromkeys(case["block"] for case in cases))
    grids = sorted({case["remote_grid"] for case in cases}, key=grid_ranks)
    figure, axes = plt.subplots(1, len(blocks), figsize=(3.6 * len(blocks) + 1, 4.6), sharey=True,
                                squeeze=False)
    for axis, block in zip(axes[0], blocks):
        for algorithm, (colour, marker, name) in ALGORITHMS.items():
            points = sorted((grids.index(case["remote_grid"]), 1e6 * case["seconds_median"])
                            for case in cases
                            if case["block"] == block and case["algorithm"] == algorithm)
            if points:
                axis.plot(*zip(*points), color=colour, marker=marker, label=name)
        axis.set_title(f"blocks {block}", fontsize=11)
        axis.set_xlabel(label)
        axis.set_xticks(range(len(grids)), grids)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("time for a whole redistribution [µs]")
    axes[0][0].legend(loc="best", fontsize=9)
    figure.suptitle(title, fontsize=12)
    figure.tight_layout()
    save(figure, path)


def draw_layout_index(directory):
    """The index study as Figures 3 and 4 of the ASPEN paper show theirs."""
    with open(directory / "layout_index.json", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    square = [case for case in cases if case["local_grid"] == case["remote_grid"]]
    if square:
        draw_study(square, "Finding a whole redistribution between two grids that grow together",
                   "both grids", directory / "layout_figure3.png")
    largest = max((case["local_grid"] for case in cases), key=grid_ranks)
    fixed = [case for case in cases if case["local_grid"] == largest]
    draw_study(fixed, f"Finding a whole redistribution from a grid of {largest}", "remote grid",
               directory / "layout_figure4.png")


def draw_leaves(axis, leaves, rank_column, colours):
    """The leaves that a plane cuts, in the colour of a rank; those without the front paler."""
    for front in (0, 1):
        shown = [leaf for leaf in leaves if leaf["front"] == front]
        axis.add_collection(PatchCollection(
            [Rectangle((leaf["u"], leaf["v"]), leaf["length"], leaf["length"]) for leaf in shown],
            facecolors=[colours[leaf[rank_column]] for leaf in shown], edgecolors="white",
            linewidths=0.4, alpha=0.95 if front else 0.45))
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.set_aspect("equal")


def draw_front(directory):
    """Who holds which patches, before and after the migration that moved most."""
    regrids = read(directory / "regrids.csv")
    shown = max(regrids, key=lambda row: row["moved_bytes"])
    leaves = [row for row in read(directory / "leaves.csv") if row["regrid"] == shown["regrid"]]
    ranks = 1 + max(row["rank"] for row in read(directory / "migrations.csv"))
    colours = rank_colours(ranks)
    across = leaves[0]["axis"]
    along = [axis for axis in "xyz" if axis != across]
    figure, axes = plt.subplots(1, 2, figsize=(12, 7.2), sharey=True)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.86, bottom=0.13, wspace=0.05)
    for axis, when in zip(axes, ("before", "after")):
        draw_leaves(axis, leaves, f"rank_{when}", colours)
        axis.set_title(f"{when} the migration", fontsize=11)
        axis.set_xlabel(f"{along[0]} [edges of the cube]")
    axes[0].set_ylabel(f"{along[1]} [edges of the cube]")
    handles = [Patch(color=colours[r], label=f"rank {r}") for r in range(ranks)]
    handles.append(Patch(color="0.3", label="full colour: the front is in the patch"))
    figure.legend(handles=handles, loc="lower center", ncol=min(len(handles), 8), frameon=False)
    figure.suptitle(f"Who holds which of the {shown['patches']:,} patches at step {shown['step']}: "
                    f"{shown['moved_bytes'] / MEGABYTE:.1f} MB moved in place\n"
                    f"leaves of the octree in the plane {across} = {leaves[0]['plane']:.2f}", fontsize=12)
    save(figure, directory / "front.png")


def draw_limited_run(axis, samples, migrations, rank):
    """Resident memory of a rank near the limit, and where packed buffers would have taken it."""
    shade(axis, spans_of(samples))
    axis.plot([s["seconds"] for s in samples], [s["resident_bytes"] / MEGABYTE for s in samples],
              color="black", linewidth=1)
    for migration in migrations:
        before = migration["resident_bytes"]
        axis.plot(migration["end_seconds"], (before + migration["out_of_place_bytes"]) / MEGABYTE,
                  "v", color=OUT_OF_PLACE, markersize=7)
        axis.plot(migration["end_seconds"],
                  before * migration["resident_ratio"] / MEGABYTE, "_", color=VALET, markersize=9,
                  markeredgewidth=2)
    limits = [m["resident_bytes"] + m["headroom_bytes"] for m in migrations if m["headroom_bytes"]]
    handles = [
        Line2D([], [], color="black", label="resident memory, sampled"),
        Line2D([], [], marker="_", linestyle="", color=VALET, markeredgewidth=2,
               label="its peak in a migration, measured by the system"),
        Line2D([], [], marker="v", linestyle="", color=OUT_OF_PLACE,
               label="what packed buffers for it would reach"),
    ]
    if limits:
        limit = sorted(limits)[len(limits) // 2] / MEGABYTE
        axis.axhline(limit, color=LIMIT, linestyle="--", linewidth=1.5)
        handles.append(Line2D([], [], color=LIMIT, linestyle="--",
                              label="what the memory limit leaves"))
    steady = sorted(s["resident_bytes"] for s in samples)[len(samples) // 2] / MEGABYTE
    highest = max(m["resident_bytes"] + m["out_of_place_bytes"] for m in migrations) / MEGABYTE
    margin = max(highest - steady, 0.05 * steady)
    axis.set_ylim(steady - 1.2 * margin, highest + 0.15 * margin)
    axis.set_xlim(0, samples[-1]["seconds"])
    axis.set_xlabel("time since the start [s]")
    axis.set_ylabel("resident memory [MB] (not from 0)")
    axis.set_title(f"Rank {rank} over the whole run", fontsize=11)
    axis.legend(handles=handles, loc="lower right", fontsize=9, framealpha=0.95)


def draw_amr_memory(directory):
    """Memory over time against the limit."""
    samples = read(directory / "memory.csv")
    migrations = read(directory / "migrations.csv")
    largest = max(migrations, key=lambda row: row["out_of_place_bytes"])
    rank = largest["rank"]
    own_samples = [s for s in samples if s["rank"] == rank]
    if not any(s["resident_bytes"] for s in own_samples):
        sys.exit("plot.py: memory.csv has no resident sizes; this system has no /proc")
    figure, axes = plt.subplots(1, 2, figsize=(15, 6), gridspec_kw={"width_ratios": [3, 2]})
    figure.subplots_adjust(left=0.05, right=0.985, top=0.88, bottom=0.1, wspace=0.13)
    draw_limited_run(axes[0], own_samples, [m for m in migrations if m["rank"] == rank], rank)
    draw_migration(axes[1], own_samples, largest)
    if largest["headroom_bytes"]:
        headroom = largest["headroom_bytes"] / MEGABYTE
        axes[1].axhline(headroom, color="black", linestyle=":", linewidth=1.5,
                        label=f"what the memory limit leaves, {headroom:.1f} MB")
        axes[1].legend(loc="center", bbox_to_anchor=(0.5, 0.3), fontsize=9)
    axes[1].set_ylabel("memory beyond the patches [MB]")
    figure.suptitle("Memory while patches migrate in place", fontsize=13)
    save(figure, directory / "memory.png")


def draw_amr(directory):
    draw_front(directory)
    draw_amr_memory(directory)


DROPIN = {"stock": ("stock Zoltan_Migrate", OUT_OF_PLACE),
          "hold": ("Valet, HOLD: the same binary", VALET),
          "steps": ("Valet, STEPS: with a free callback", LIMIT)}


def dropin_rounds(directory, label):
    """Of each round: seconds of the slowest rank; bytes that all ranks needed on top of their data."""
    files = sorted(directory.glob(f"{label}.*.csv"))
    if not files:
        raise FileNotFoundError(2, "missing", str(directory / f"{label}.0.csv"))
    rounds = {}
    for row in (row for path in files for row in read(path)):
        own = max(row["resident_before"], row["resident_after"])
        extra = max(row["resident_before"] + row["peak_extra_bytes"] - own, 0)
        one = rounds.setdefault(row["round"], {"seconds": 0, "extra": 0, "sent": 0})
        one["seconds"] = max(one["seconds"], row["seconds"])
        one["extra"] += extra
        one["sent"] += row["sent_bytes"]
    return [rounds[k] for k in sorted(rounds)]


def draw_dropin(directory):
    """Time and memory of the migrations of one mesh, three ways."""
    runs = {label: dropin_rounds(directory, label) for label in DROPIN}
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    width = 0.8 / len(runs)
    for place, (label, rounds) in enumerate(runs.items()):
        text, colour = DROPIN[label]
        at = [k + (place - 1) * width for k in range(len(rounds))]
        axes[0].bar(at, [one["extra"] / MEGABYTE for one in rounds], width, color=colour, label=text)
        axes[1].bar(at, [1e3 * one["seconds"] for one in rounds], width, color=colour, label=text)
    moved = [one["sent"] / MEGABYTE for one in runs["stock"]]
    axes[0].plot(range(len(moved)), moved, "k_", markersize=30, label="packed cells that moved")
    axes[0].set_ylabel("peak memory beyond the mesh, all ranks [MB]")
    axes[1].set_ylabel("time of the migration, slowest rank [ms]")
    for axis in axes:
        axis.set_xlabel("round")
        axis.set_ylim(bottom=0)
        axis.set_xticks(range(len(moved)))
    axes[0].legend(fontsize=8.5)
    figure.suptitle("Migrating an unstructured mesh: one program, three ways")
    figure.tight_layout()
    save(figure, directory / "dropin.png")


EXAMPLES = {"amr": draw_amr,
            "dropin": draw_dropin,
            "layout_index": draw_layout_index,
            "particles": draw_particles}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=sorted(EXAMPLES))
    parser.add_argument("directory", type=Path, help="where the example wrote its files")
    arguments = parser.parse_args()
    try:
        EXAMPLES[arguments.example](arguments.directory)
    except FileNotFoundError as error:
        sys.exit(f"plot.py: {error.filename} is missing; run the example first")


if __name__ == "__main__":
    main()
