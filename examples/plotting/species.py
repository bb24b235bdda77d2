# SPDX-License-Identifier: BSD-3-Clause
"""The species example: the lengths of the cells' lists, and memory over time for three ways to move them."""

import sys

from matplotlib import patheffects
from matplotlib.collections import LineCollection

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, ZOLTAN_MIGRATE, plt, read, save

# The directories written by examples/species/run.sh; the first run is in the directory itself.
WAYS = {".": ("Valet, in place", VALET),
        "packed": ("packed into a second arena, MPI_Alltoallv", OUT_OF_PLACE),
        "zoltan": ("Zoltan_Migrate", ZOLTAN_MIGRATE)}
RECORD_BYTES = 64


def boundaries(ranks):
    """The edges between cells of different ranks; the chamber is periodic in its angle."""
    lines = []
    for row, line in enumerate(ranks):
        for column, rank in enumerate(line):
            if line[column - 1] != rank:
                lines.append([(column, row), (column, row + 1)])
            if row > 0 and ranks[row - 1][column] != rank:
                lines.append([(column, row), (column + 1, row)])
    return lines


def middle(points, around):
    """The middle of some cells; the chamber is periodic with `around` columns."""
    columns = sorted({p["column"] for p in points})
    # Start after the widest gap.
    gaps = [((b - a) % around, b) for a, b in zip(columns[-1:] + columns, columns)]
    first = max(gaps)[1]
    unrolled = [(p["column"] - first) % around for p in points]
    return (first + sum(unrolled) / len(points) + 0.5) % around, sum(p["row"] + 0.5 for p in points) / len(points)


def draw_step(axis, cells, largest):
    """One step: the lengths of the lists as colours, the borders between ranks as lines."""
    columns = 1 + max(c["column"] for c in cells)
    rows = 1 + max(c["row"] for c in cells)
    species = [[0] * columns for _ in range(rows)]
    ranks = [[0] * columns for _ in range(rows)]
    parts = {}
    for cell in cells:
        species[cell["row"]][cell["column"]] = cell["species"]
        ranks[cell["row"]][cell["column"]] = cell["rank"]
        parts.setdefault(cell["rank"], []).append(cell)
    image = axis.imshow(species, cmap="inferno", vmin=0, vmax=largest, aspect="auto", origin="lower",
                        interpolation="nearest", extent=(0, columns, 0, rows))
    axis.add_collection(LineCollection(boundaries(ranks), colors="white", linewidths=1.6))
    for rank, points in sorted(parts.items()):
        total = sum(p["species"] for p in points)
        text = f"rank {rank}\n{len(points):,} cells\n{total * RECORD_BYTES / MEGABYTE:.1f} MB"
        axis.text(*middle(points, columns), text, color="white", ha="center", va="center", fontsize=9,
                  path_effects=[patheffects.withStroke(linewidth=3, foreground="black")])
    axis.set_xticks([columns * k / 8 for k in range(9)], [f"{45 * k}" for k in range(9)])
    axis.set_yticks([rows * k / 4 for k in range(5)], [f"{25 * k}" for k in range(5)])
    axis.set_ylabel("height [%]")
    return image


def draw_lengths(directory):
    """The lists' lengths over the chamber at the first, the middle and the last step."""
    cells = read(directory / "lengths.csv")
    steps = sorted({c["step"] for c in cells})
    largest = max(c["species"] for c in cells)
    figure, axes = plt.subplots(len(steps), 1, figsize=(11, 1.3 + 2.1 * len(steps)), sharex=True, squeeze=False)
    figure.subplots_adjust(left=0.065, right=0.9, top=0.88, bottom=0.075, hspace=0.22)
    for axis, step in zip(axes[:, 0], steps):
        image = draw_step(axis, [c for c in cells if c["step"] == step], largest)
        axis.set_title(f"step {step}", fontsize=11, loc="left")
    axes[-1, 0].set_xlabel("angle around the chamber [degrees]")
    bar = figure.add_axes((0.92, 0.2, 0.018, 0.55))
    figure.colorbar(image, cax=bar, label="species in a cell [records of 64 bytes]")
    figure.suptitle("A detonation in an annular chamber: length of each cell's species list,\n"
                    "and the partition in which Zoltan balances these lengths", fontsize=12)
    save(figure, directory / "lengths.png")


def own_samples(directory, rank):
    return [s for s in read(directory / "memory.csv") if s["rank"] == rank]


def steps_of(samples):
    """The time of each sample in steps of its run; a step begins with its partition."""
    begins = {}
    for sample in samples:
        if sample["phase"] != "simulate":
            begins.setdefault(sample["step"], sample["seconds"])
    end = samples[-1]["seconds"]

    def place(sample):
        start = begins.get(sample["step"], 0)
        length = begins.get(sample["step"] + 1, end) - start
        return sample["step"] + min(max((sample["seconds"] - start) / max(length, 1e-9), 0), 1)

    return [place(sample) for sample in samples]


def draw_runs(axis, runs, limit):
    """The data of one rank over the whole run, in steps, because the runs take different times."""
    for name, samples in runs.items():
        label, colour = WAYS[name]
        axis.plot(steps_of(samples), [s["data_bytes"] / MEGABYTE for s in samples], color=colour,
                  linewidth=1.2, label=label)
    if limit:
        axis.axhline(limit / MEGABYTE, color=LIMIT, linestyle="--", linewidth=1.5,
                     label=f"limit: {limit / MEGABYTE:.1f} MB")
    axis.set_ylim(0, 1.32 * axis.get_ylim()[1])  # room for the legend
    axis.set_xlim(0, max(steps_of(next(iter(runs.values())))))
    axis.set_xlabel("time [steps]")
    axis.set_ylabel("private data of the process [MB]")
    axis.legend(loc="upper right", fontsize=9, framealpha=0.95)


def draw_largest(axis, runs, step, headroom):
    """Growth of the data of the rank during partition and migration of one step, for all ways."""
    for name, samples in runs.items():
        inside = [s for s in samples if s["step"] == step and s["phase"] != "simulate"]
        if not inside:
            continue
        label, colour = WAYS[name]
        start, base = inside[0]["seconds"], inside[0]["data_bytes"]
        grown = [(s["data_bytes"] - base) / MEGABYTE for s in inside]
        axis.plot([1e3 * (s["seconds"] - start) for s in inside], grown, color=colour, linewidth=1.5,
                  marker=".", markersize=3, label=f"{label}: {max(grown):.1f} MB")
    if headroom:
        axis.axhline(headroom / MEGABYTE, color=LIMIT, linestyle="--", linewidth=1.5,
                     label=f"left by the limit: {headroom / MEGABYTE:.1f} MB")
    axis.set_xlim(left=0)
    axis.set_ylim(0, 1.32 * axis.get_ylim()[1])
    axis.set_xlabel("time since the partition began [ms]")
    axis.set_ylabel("growth of private data [MB]")
    axis.legend(loc="upper right", fontsize=9, framealpha=0.95)


def draw_memory(directory):
    """Memory over time for the three ways, with the limit that one of them keeps."""
    migrations = read(directory / "migrations.csv")
    largest = max(migrations, key=lambda row: row["sent_bytes"])
    rank, step, limit = largest["rank"], largest["step"], largest["limit_bytes"]
    runs = {name: own_samples(directory / name, rank)
            for name in WAYS if (directory / name / "memory.csv").exists()}
    if not any(s["data_bytes"] for s in runs["."]):
        sys.exit("plot.py: memory.csv has no sizes; this system has no /proc")
    before = next(s["data_bytes"] for s in runs["."] if s["step"] == step and s["phase"] != "simulate")
    figure, axes = plt.subplots(1, 2, figsize=(15, 6))
    figure.subplots_adjust(left=0.05, right=0.985, top=0.88, bottom=0.1, wspace=0.13)
    draw_runs(axes[0], runs, limit)
    axes[0].set_title(f"Rank {rank} over the whole run", fontsize=11)
    draw_largest(axes[1], runs, step, limit - before if limit else 0)
    axes[1].set_title(f"Step {step}: {largest['sent_bytes'] / MEGABYTE:.1f} MB of lists leave the rank",
                      fontsize=11)
    figure.suptitle("Memory of one rank while cells with lists of different lengths are partitioned and moved",
                    fontsize=13)
    save(figure, directory / "species.png")


def draw(directory):
    draw_lengths(directory)
    draw_memory(directory)
