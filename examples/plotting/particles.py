# SPDX-License-Identifier: BSD-3-Clause
"""The particle example: the owners of the particles, and memory over time."""

import sys

from matplotlib.lines import Line2D

from .common import LIMIT, MEGABYTE, VALET, ZOLTAN_MIGRATE, page_figure, rank_colours, read, save


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


def telling(directory):
    """The rebalance that gained much balance by moving much; not the first one, which sorts the particles."""
    rebalances = read(directory / "rebalances.csv")
    return max(rebalances[1:] or rebalances,
               key=lambda row: (row["imbalance_before"] - row["imbalance_after"]) * row["moved_bytes"])


def draw_owners(directory):
    """The owners of the particles before and after a rebalance."""
    shown = telling(directory)
    points = [row for row in read(directory / "owners.csv") if row["rebalance"] == shown["rebalance"]]
    ranks = 1 + max(max(row["owner_before"], row["owner_after"]) for row in points)
    colours = rank_colours(ranks)
    seen, along, visible = best_view(points, ranks)

    figure = page_figure(5)
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, when in zip(axes, ("before", "after")):
        owner = f"owner_{when}"
        axis.scatter([row[seen[0]] for row in visible], [row[seen[1]] for row in visible], s=5,
                     linewidths=0, c=[colours[row[owner]] for row in visible])
        axis.set_title(f"{when}: {shown[f'imbalance_{when}']:.3f} times the mean work on a rank")
        axis.set_xlabel(f"{seen[0]} [box lengths]")
        axis.set_aspect("equal")
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
    axes[0].set_ylabel(f"{seen[1]} [box lengths]")
    if ranks <= 12:
        axes[0].legend(handles=[Line2D([], [], marker="o", linestyle="", color=colours[r],
                                      label=f"rank {r}") for r in range(ranks)],
                      loc="upper left", ncol=2)
    what = "" if len(visible) == len(points) else " in a slice of the box"
    figure.suptitle(f"{shown['moved_bytes'] / MEGABYTE:.1f} MB of particles move in step {shown['step']}\n"
                    f"(a sample of {len(visible):,}{what}, seen along {along})")
    save(figure, directory / "owners.png")


# What the rebalance is made of, in the directories of examples/particles/run.sh; the first run is in the directory
# itself. The colour is that of the migration.
WAYS = {"packed": ("stock Zoltan", "partition", "migration: Zoltan_Migrate", ZOLTAN_MIGRATE),
        "every_particle": ("Valet migrates", "partition", "migration: Valet instead", VALET),
        ".": ("Valet's\nRebalancer", "partition: in cells of particles", "migration: Valet", VALET)}


def grown(samples, rank, step):
    """By how much the data of a rank grew at most, in MB: while it partitioned, and while it migrated."""
    inside = [s for s in samples if s["rank"] == rank and s["step"] == step and s["phase"] != "simulate"]
    return [max(s["data_bytes"] - inside[0]["data_bytes"] for s in inside if s["phase"] == phase) / MEGABYTE
            for phase in ("partition", "migrate")]


def draw_run(axis, samples, migrations, rank):
    """The data of one rank over the run, and the limit of each rebalance."""
    seconds, data = [s["seconds"] for s in samples], [s["data_bytes"] / MEGABYTE for s in samples]
    axis.fill_between(seconds, data, color=VALET, alpha=0.25, linewidth=0)
    axis.plot(seconds, data, color=VALET, linewidth=1.2)
    for migration in migrations:
        before = next(s["data_bytes"] for s in samples if s["step"] == migration["step"] and s["phase"] != "simulate")
        if migration["headroom_bytes"]:
            axis.plot(migration["start_seconds"], (before + migration["headroom_bytes"]) / MEGABYTE, "_",
                      color=LIMIT, markersize=9, markeredgewidth=2)
    axis.text(0.5, 0.45, "particles and the\nrest of the program", ha="center", transform=axis.transAxes)
    axis.text(0.5, 0.97, "limit of the system", ha="center", transform=axis.transAxes)
    axis.set(xlim=(0, samples[-1]["seconds"]), xlabel="time since the start [s]", ylabel="data of the process [MB]")
    axis.set_ylim(0, 1.3 * max(data))
    axis.set_title(f"Valet, rank {rank}: far below the limit", loc="left")


def draw_ways(axis, directory, migration):
    """The same rebalance in all ways that were measured."""
    for place, (name, (_, *texts, colour)) in enumerate(WAYS.items()):
        sizes = grown(read(directory / name / "memory.csv"), migration["rank"], migration["step"])
        for at, size, shade, text in zip((place - 0.19, place + 0.19), sizes, ("0.75", colour), texts):
            axis.barh(at, size, 0.36, color=shade)
            axis.text(size + 0.8, at, f"{size:.1f}  {text}", va="center", zorder=3,
                      bbox={"color": "white", "pad": 0.5})
    if migration["headroom_bytes"]:
        headroom = migration["headroom_bytes"] / MEGABYTE
        axis.axvline(headroom, color=LIMIT, linestyle="--", linewidth=1.5)
        axis.text(headroom + 0.8, -0.52, f"limit of the system: {headroom:.1f}")
    axis.set_yticks(range(len(WAYS)), [label for label, *_ in WAYS.values()])
    axis.set_ylim(2.45, -0.75)
    axis.set_xlim(0, 1.7 * axis.get_xlim()[1])
    axis.set_xlabel("growth of the data of the process [MB]")
    axis.set_title(f"Step {migration['step']}: what partition and migration take", loc="left")


def draw_memory(directory):
    """Memory over time against the limit, and the memory of the other ways."""
    samples = read(directory / "memory.csv")
    migrations = read(directory / "migrations.csv")
    step = telling(directory)["step"]
    migration = max((m for m in migrations if m["step"] == step), key=lambda row: row["out_of_place_bytes"])
    own = [s for s in samples if s["rank"] == migration["rank"]]
    if not any(s["data_bytes"] for s in own):
        sys.exit("plot.py: memory.csv has no sizes; this system has no /proc")
    figure = page_figure(3.3)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
    draw_run(left, own, [m for m in migrations if m["rank"] == migration["rank"]], migration["rank"])
    draw_ways(right, directory, migration)
    save(figure, directory / "memory.png")


def draw(directory):
    draw_owners(directory)
    draw_memory(directory)
