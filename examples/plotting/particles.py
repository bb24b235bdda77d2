# SPDX-License-Identifier: BSD-3-Clause
"""The particle example: the owners of the particles, and memory over time."""

import sys

from matplotlib.lines import Line2D

from .common import (LIMIT, MEGABYTE, VALET, VALET_VARIANT, ZOLTAN_MIGRATE, plt, rank_colours, read,
                     save)
from .timeline import shade, shade_entry, spans_of


def separation(points, axis):
    """Distance between the particles of different ranks along an axis, relative to their spread within a rank."""
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
    """The two axes that show the parts best, and the particles to show: a slice if there are many ranks."""
    *seen, along = sorted("xyz", key=lambda axis: -separation(points, axis))
    if ranks > 4:
        points = sorted(points, key=lambda row: row[along])
        points = points[len(points) * 3 // 8:len(points) * 5 // 8]
    return sorted(seen), along, points


def draw_owners(directory):
    """The owners of the particles before and after the rebalance that moved most."""
    rebalances = read(directory / "rebalances.csv")
    # Not the first one, which distributes unsorted particles.
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
    what = "" if len(visible) == len(points) else " in a slice of the box"
    figure.suptitle(f"Owners of the particles before and after the largest rebalance, step {shown['step']}: "
                    f"{shown['moved_bytes'] / MEGABYTE:.1f} MB moved in place\n"
                    f"(a sample of {len(visible):,} particles{what}, seen along {along})", fontsize=12)
    save(figure, directory / "owners.png")


# The other ways that examples/particles/run.sh measures, and their labels and colours.
OTHER_WAYS = {"every_particle": ("Zoltan partitions every particle; moved in place", VALET_VARIANT),
              "packed": ("Zoltan partitions every particle; Zoltan_Migrate", ZOLTAN_MIGRATE)}


def rebalance_samples(samples, rank, step):
    """The samples of one rank in one rebalance."""
    return [s for s in samples if s["rank"] == rank and s["step"] == step and s["phase"] != "simulate"]


def draw_run(axis, samples, migrations, rank):
    """The data of one rank over the run, and the limit of each rebalance."""
    shade(axis, spans_of(samples))
    axis.plot([s["seconds"] for s in samples], [s["data_bytes"] / MEGABYTE for s in samples],
              color="black", linewidth=1)
    handles = [Line2D([], [], color="black", label="data of the process, measured"),
               shade_entry("partition"), shade_entry("migrate")]
    for migration in migrations:
        inside = rebalance_samples(samples, rank, migration["step"])
        if inside and migration["headroom_bytes"]:
            axis.plot(migration["start_seconds"],
                      (inside[0]["data_bytes"] + migration["headroom_bytes"]) / MEGABYTE, "_",
                      color=LIMIT, markersize=12, markeredgewidth=2)
    if any(m["headroom_bytes"] for m in migrations):
        handles.append(Line2D([], [], marker="_", linestyle="", color=LIMIT, markeredgewidth=2,
                              label="limit during the rebalance"))
    # The growth is small beside the data, so the axis does not begin at zero.
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.35 * (high - low), high + 0.05 * (high - low))  # room for the legend
    axis.set_xlim(0, samples[-1]["seconds"])
    axis.set_xlabel("time since the start [s]")
    axis.set_ylabel("private data [MB], not from zero")
    axis.set_title(f"Rank {rank} over the whole run", fontsize=11)
    axis.legend(handles=handles, loc="lower center", ncol=2, fontsize=8.5, framealpha=0.95)


def draw_rebalance(axis, samples, migration, colour, label):
    """Growth of the data of the rank during one rebalance."""
    inside = rebalance_samples(samples, migration["rank"], migration["step"])
    if not inside:
        return
    start, base = inside[0]["seconds"], inside[0]["data_bytes"]
    grown = [(s["data_bytes"] - base) / MEGABYTE for s in inside]
    axis.plot([1e3 * (s["seconds"] - start) for s in inside], grown, color=colour, linewidth=1.5,
              marker=".", markersize=3, label=f"{label}: {max(grown):.1f} MB")


def draw_ways(axis, directory, samples, migration):
    """The same rebalance in all ways that were measured."""
    draw_rebalance(axis, samples, migration, VALET, "Zoltan partitions cells; moved in place")
    for name, (label, colour) in OTHER_WAYS.items():
        if (directory / name / "memory.csv").exists():
            draw_rebalance(axis, read(directory / name / "memory.csv"), migration, colour, label)
    if migration["headroom_bytes"]:
        headroom = migration["headroom_bytes"] / MEGABYTE
        axis.axhline(headroom, color=LIMIT, linestyle="--", linewidth=1.5,
                     label=f"left by the limit: {headroom:.1f} MB")
    axis.set_xlim(left=0)
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])  # room for the legend
    axis.set_xlabel("time since the rebalance began [ms]")
    axis.set_ylabel("growth of private data [MB]")
    axis.set_title(f"Partition and migration of step {migration['step']}, rank {migration['rank']}",
                   fontsize=11)
    axis.legend(loc="upper right", fontsize=9, framealpha=0.95)


def draw_memory(directory):
    """Memory over time against the limit, and the memory of the other ways."""
    samples = read(directory / "memory.csv")
    migrations = read(directory / "migrations.csv")
    largest = max(migrations, key=lambda row: row["out_of_place_bytes"])
    rank = largest["rank"]
    own_samples = [s for s in samples if s["rank"] == rank]
    if not any(s["data_bytes"] for s in own_samples):
        sys.exit("plot.py: memory.csv has no sizes; this system has no /proc")
    figure, axes = plt.subplots(1, 2, figsize=(15, 6))
    figure.subplots_adjust(left=0.05, right=0.985, top=0.88, bottom=0.1, wspace=0.13)
    draw_run(axes[0], own_samples, [m for m in migrations if m["rank"] == rank], rank)
    draw_ways(axes[1], directory, own_samples, largest)
    figure.suptitle("Memory of one rank while particles are partitioned and moved", fontsize=13)
    save(figure, directory / "memory.png")


def draw(directory):
    draw_owners(directory)
    draw_memory(directory)
