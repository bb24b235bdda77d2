# SPDX-License-Identifier: BSD-3-Clause
"""The AMR example: the owners of the patches, and memory over time against the limit."""

import sys

from matplotlib.collections import PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, plt, rank_colours, read, save
from .timeline import draw_migration, shade, shade_entry, spans_of


def draw_leaves(axis, leaves, rank_column, colours):
    """The leaves cut by a plane, in the colours of their ranks; paler without the front."""
    for front in (0, 1):
        shown = [leaf for leaf in leaves if leaf["front"] == front]
        axis.add_collection(PatchCollection(
            [Rectangle((leaf["u"], leaf["v"]), leaf["length"], leaf["length"]) for leaf in shown],
            facecolors=[colours[leaf[rank_column]] for leaf in shown], edgecolors="white",
            linewidths=0.4, alpha=0.95 if front else 0.45))
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.set_aspect("equal")


def draw_extra_memory(axis, migrations):
    """Extra memory of the rank with the most: in place, and with packed buffers, against the limit."""
    worst = max(migrations, key=lambda row: row["out_of_place_bytes"])
    ways = [("in place,\nallocated", worst["extra_bytes"], VALET),
            ("packed\nbuffers,\ncomputed", worst["out_of_place_bytes"], OUT_OF_PLACE)]
    for position, (_, size, colour) in enumerate(ways):
        axis.bar(position, size / MEGABYTE, width=0.6, color=colour)
        axis.annotate(f"{size / MEGABYTE:.1f}", (position, size / MEGABYTE), ha="center", va="bottom",
                      xytext=(0, 2), textcoords="offset points")
    axis.set_xticks(range(len(ways)), [name for name, _, _ in ways])
    highest = max(size for _, size, _ in ways)
    if worst["headroom_bytes"]:
        headroom = worst["headroom_bytes"] / MEGABYTE
        highest = max(highest, worst["headroom_bytes"])
        axis.axhline(headroom, color=LIMIT, linestyle="--", linewidth=1.5)
        axis.annotate(f"left by the\nmemory limit: {headroom:.1f}", (-0.45, headroom), color=LIMIT,
                      va="bottom", xytext=(0, 3), textcoords="offset points")
    axis.set_xlim(-0.5, len(ways) - 0.5)
    axis.set_ylim(0, 1.12 * highest / MEGABYTE)
    axis.set_ylabel("extra memory [MB]")
    axis.set_title(f"memory of rank {worst['rank']}", fontsize=11)


def draw_front(directory):
    """The owners of the patches before and after the migration that moved most, and its memory."""
    regrids = read(directory / "regrids.csv")
    shown = max(regrids, key=lambda row: row["moved_bytes"])
    leaves = [row for row in read(directory / "leaves.csv") if row["regrid"] == shown["regrid"]]
    migrations = read(directory / "migrations.csv")
    ranks = 1 + max(row["rank"] for row in migrations)
    colours = rank_colours(ranks)
    across = leaves[0]["axis"]
    along = [axis for axis in "xyz" if axis != across]
    figure, axes = plt.subplots(1, 3, figsize=(15, 6.6), gridspec_kw={"width_ratios": [3, 3, 1.4]})
    figure.subplots_adjust(left=0.045, right=0.985, top=0.86, bottom=0.15, wspace=0.17)
    for axis, when in zip(axes, ("before", "after")):
        draw_leaves(axis, leaves, f"rank_{when}", colours)
        axis.set_title(f"{when} the migration", fontsize=11)
        axis.set_xlabel(along[0])
        axis.set_ylabel(along[1])
    draw_extra_memory(axes[2], [row for row in migrations if row["regrid"] == shown["regrid"]])
    handles = [Patch(color=colours[r], label=f"rank {r}") for r in range(ranks)]
    handles.append(Patch(color="0.3", label="saturated: the front is in the patch"))
    figure.legend(handles=handles, loc="lower center", ncol=min(len(handles), 8), frameon=False,
                  bbox_to_anchor=(0.42, 0.0))
    figure.suptitle(f"Step {shown['step']}: {shown['moved_bytes'] / MEGABYTE:.1f} MB of patches, of "
                    f"{shown['patches']:,} in all, move to another rank, in place\n"
                    f"(cut through the unit cube at {across} = {leaves[0]['plane']:.2f})", fontsize=12)
    save(figure, directory / "front.png")


def draw_limited_run(axis, samples, migrations, rank):
    """Resident memory of a rank near the limit, and what it would be with packed buffers."""
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
               label="its peak during a migration, measured by the system"),
        Line2D([], [], marker="v", linestyle="", color=OUT_OF_PLACE,
               label="the same with packed buffers instead"),
        shade_entry("migrate"),
    ]
    if limits:
        limit = sorted(limits)[len(limits) // 2] / MEGABYTE
        axis.axhline(limit, color=LIMIT, linestyle="--", linewidth=1.5)
        handles.append(Line2D([], [], color=LIMIT, linestyle="--",
                              label="memory limit"))
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
                        label=f"left by the memory limit: {headroom:.1f} MB")
        axes[1].legend(loc="center", bbox_to_anchor=(0.5, 0.3), fontsize=9)
    axes[1].set_ylabel("memory beyond the patches [MB]")
    figure.suptitle("Memory while patches migrate in place", fontsize=13)
    save(figure, directory / "memory.png")


def draw(directory):
    draw_front(directory)
    draw_memory(directory)
