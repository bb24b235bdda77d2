# SPDX-License-Identifier: BSD-3-Clause
"""The AMR example: the owners of the patches, and memory over time against the limit."""

import sys

from matplotlib.collections import PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, page_figure, plt, rank_colours, read, save
from .timeline import draw_migration, shade, shade_entry, spans_of


def draw_leaves(axis, leaves, rank_column, colours):
    """The leaves cut by a plane, in the colours of their ranks; paler without the front."""
    for front in (0, 1):
        shown = [leaf for leaf in leaves if leaf["front"] == front]
        axis.add_collection(PatchCollection(
            [Rectangle((leaf["u"], leaf["v"]), leaf["length"], leaf["length"]) for leaf in shown],
            facecolors=[colours[leaf[rank_column]] for leaf in shown], edgecolors="white",
            linewidths=0.4, alpha=1 if front else 0.45))
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
    axis.set_xlabel("strong colour: the front is in the patch")


def draw_shares(axis, shares, most, colours):
    """The work of each rank over the mean."""
    bars = axis.barh(range(len(shares)), shares, color=colours[:len(shares)])
    axis.bar_label(bars, fmt="%.2f", label_type="center")
    axis.axvline(1, color="black", linewidth=1, linestyle=":")
    axis.set(xlim=(0, 1.15 * most), xticks=[0, 1], yticks=range(len(shares)), xlabel="work over the mean")
    axis.set_yticklabels([f"rank {r}" for r in range(len(shares))])
    axis.invert_yaxis()


def draw_extra_memory(axis, migrations):
    """Extra memory of the rank with the most: in place, and with packed buffers, against the limit."""
    worst = max(migrations, key=lambda row: row["out_of_place_bytes"])
    ways = {"Valet,\nmeasured": (worst["extra_bytes"] / MEGABYTE, VALET),
            "buffers for\nwhat leaves\nand arrives": (worst["out_of_place_bytes"] / MEGABYTE, OUT_OF_PLACE)}
    bars = axis.bar(list(ways), [size for size, _ in ways.values()], width=0.65, color=[c for _, c in ways.values()])
    axis.bar_label(bars, fmt="%.1f", padding=1)
    if worst["headroom_bytes"]:
        headroom = worst["headroom_bytes"] / MEGABYTE
        axis.axhline(headroom, color=LIMIT, linestyle="--", linewidth=1.5)
        axis.annotate(f"the system's\nlimit: {headroom:.1f}", (-0.45, headroom), color=LIMIT, va="bottom",
                      xytext=(0, 3), textcoords="offset points")
    axis.set_xlim(-0.5, 1.5)
    axis.set_title(f"memory beside the\npatches, rank {worst['rank']} [MB]")


def draw_front(directory):
    """The owners of the patches before and after the migration that moved most, the work of the ranks, and memory."""
    shown = max(read(directory / "regrids.csv"), key=lambda row: row["moved_bytes"])
    leaves = [row for row in read(directory / "leaves.csv") if row["regrid"] == shown["regrid"]]
    migrations = sorted((row for row in read(directory / "migrations.csv") if row["regrid"] == shown["regrid"]),
                        key=lambda row: row["rank"])
    colours = rank_colours(len(migrations))
    figure = page_figure(4.8)
    grid = figure.add_gridspec(2, 3, width_ratios=[3, 3, 1.75], height_ratios=[3, 1])
    most = max(row["share_without"] for row in migrations)
    for column, (when, shares, title) in enumerate((
            ("before", [row["share_without"] for row in migrations], "If nothing moves: {:.2f} times the mean work"),
            ("after", [row["share_with"] for row in migrations],
             f"After {shown['moved_bytes'] / MEGABYTE:.0f} MB of patches moved: {{:.2f}} times"))):
        axis = figure.add_subplot(grid[0, column])
        draw_leaves(axis, leaves, f"rank_{when}", colours)
        axis.set_title(title.format(max(shares)))
        draw_shares(figure.add_subplot(grid[1, column]), shares, most, colours)
    draw_extra_memory(figure.add_subplot(grid[:, 2]), migrations)
    figure.suptitle(f"Patches move between {len(migrations)} ranks inside the memory that they occupy")
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
    highest = max(m["resident_bytes"] + m["out_of_place_bytes"] for m in migrations) / MEGABYTE
    axis.set_ylim(0, 1.05 * highest)
    axis.set_xlim(0, samples[-1]["seconds"])
    axis.set_xlabel("time since the start [s]")
    axis.set_ylabel("resident memory [MB]")
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
