# SPDX-License-Identifier: BSD-3-Clause
"""The particle example: who owns which particles, and memory over time."""

import sys

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, plt, rank_colours, read, save
from .timeline import PHASES, draw_migration, shade, spans_of, within


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


def draw(directory):
    draw_owners(directory)
    draw_memory(directory)
