# SPDX-License-Identifier: BSD-3-Clause
"""The AMR example: who holds which patches, and memory over time against the limit."""

import sys

from matplotlib.collections import PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, plt, rank_colours, read, save
from .timeline import draw_migration, shade, shade_entry, spans_of


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
        shade_entry("migrate"),
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


def draw_memory(directory):
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


def draw(directory):
    draw_front(directory)
    draw_memory(directory)
