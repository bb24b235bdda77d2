# SPDX-License-Identifier: BSD-3-Clause
"""The species example: the lengths of the cells' lists, and memory over time for three ways to move them."""

import sys

from matplotlib import patheffects
from matplotlib.collections import LineCollection

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, ZOLTAN_MIGRATE, page_figure, plt, read, save

# The directories written by examples/species/run.sh; the first run is in the directory itself.
WAYS = {".": ("Valet, in place", VALET),
        "packed": ("what leaves packed, MPI_Alltoallv", OUT_OF_PLACE),
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
    image = axis.imshow(species, cmap=plt.get_cmap("viridis", 10), vmin=0, vmax=largest, aspect="auto", origin="lower",
                        interpolation="nearest", extent=(0, columns, 0, rows))
    axis.add_collection(LineCollection(boundaries(ranks), colors="white", linewidths=1.6))
    for rank, points in sorted(parts.items()):
        axis.text(*middle(points, columns), f"rank {rank}\n{len(points):,} cells", color="white", ha="center",
                  va="center", fontsize=8, path_effects=[patheffects.withStroke(linewidth=2.5, foreground="black")])
    axis.set_xticks([columns * k / 8 for k in range(9)], [f"{45 * k}" for k in range(9)])
    axis.set_yticks([rows * k / 4 for k in range(5)], [f"{25 * k}" for k in range(5)])
    axis.set_ylabel("height [%]")
    return image


def draw_lengths(directory):
    """The lists' lengths over the chamber at the first, the middle and the last step."""
    cells = read(directory / "lengths.csv")
    steps = sorted({c["step"] for c in cells})
    largest = max(c["species"] for c in cells)
    figure = page_figure(0.8 + 1.4 * len(steps))
    axes = figure.subplots(len(steps), 1, sharex=True, squeeze=False)
    for axis, step in zip(axes[:, 0], steps):
        image = draw_step(axis, [c for c in cells if c["step"] == step], largest)
        most = max(sum(c["species"] for c in cells if c["step"] == step and c["rank"] == rank)
                   for rank in {c["rank"] for c in cells})
        axis.set_title(f"step {step}: at most {most * RECORD_BYTES / MEGABYTE:.1f} MB of lists on a rank", loc="left")
    axes[-1, 0].set_xlabel("angle around the chamber [degrees]")
    figure.colorbar(image, ax=axes, label="species in a cell", shrink=0.7, pad=0.01)
    save(figure, directory / "lengths.png")


def growth_of_steps(directory):
    """By step: MB by which partition and migration let the data of a rank grow, on the rank where they do most."""
    parts = {}
    for sample in read(directory / "memory.csv"):
        if sample["phase"] != "simulate":
            parts.setdefault((sample["step"], sample["rank"]), []).append(sample["data_bytes"])
    steps = {}
    for (step, _), data in sorted(parts.items()):
        steps[step] = max(steps.get(step, 0), (max(data) - data[0]) / MEGABYTE)
    return steps


def draw_memory(directory):
    """What partition and migration take for the three ways, against the limit that one of them keeps."""
    growth = {name: growth_of_steps(directory / name) for name in WAYS}
    if not any(growth["."].values()):
        sys.exit("plot.py: memory.csv has no sizes; this system has no /proc")
    moved = [row["moved_bytes"] / MEGABYTE for row in read(directory / "steps.csv")]
    figure = page_figure(3.3)
    first, others = figure.subplots(1, 2, width_ratios=[1, 2])
    first.bar([f"{name}\n{growth[way][0]:.1f}" for name, way in zip(("Valet", "packed", "Zoltan"), WAYS)],
              [growth[way][0] for way in WAYS], color=[colour for _, colour in WAYS.values()])
    first.set_ylabel("growth of a rank's data, at most [MB]")
    first.set_title(f"Step 0: {moved[0]:.0f} MB move", loc="left")
    # Two of the lines lie upon each other: the wide one is seen beside the dots.
    for (name, (label, colour)), style in zip(WAYS.items(), ({"linewidth": 1.5}, {"linewidth": 5, "alpha": 0.4},
                                                             {"linewidth": 0, "marker": ".", "markersize": 6})):
        steps = [step for step in growth[name] if step > 0]
        others.plot(steps, [growth[name][step] for step in steps], color=colour, label=label, **style)
    others.set(xlim=(0.5, max(growth["."]) + 0.5), xlabel="step")
    others.set_title(f"The others: {min(moved[1:]):.0f} to {max(moved[1:]):.0f} MB move", loc="left")
    first_move = read(directory / "migrations.csv")[0]
    begin = next(s for s in read(directory / "memory.csv")
                 if s["rank"] == first_move["rank"] and s["phase"] == "partition")
    headroom = (first_move["limit_bytes"] - begin["data_bytes"]) / MEGABYTE
    for axis in (first, others):
        axis.axhline(headroom, color=LIMIT, linestyle="--", linewidth=1.5, label=f"limit of the system: {headroom:.1f}")
    others.set_ylim(0, 1.3 * others.get_ylim()[1])  # room for the legend
    others.legend(loc="upper right", ncol=2, frameon=False)
    save(figure, directory / "species.png")


def draw(directory):
    draw_lengths(directory)
    draw_memory(directory)
