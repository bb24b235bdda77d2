# SPDX-License-Identifier: BSD-3-Clause
"""The particle example: memory over time, and what a rebalance takes in three ways."""

import sys

from .common import LIMIT, MEGABYTE, VALET, ZOLTAN_MIGRATE, page_figure, read, save


def telling(directory):
    """The rebalance that gained much balance by moving much; not the first one, which sorts the particles."""
    rebalances = read(directory / "rebalances.csv")
    return max(rebalances[1:] or rebalances,
               key=lambda row: (row["imbalance_before"] - row["imbalance_after"]) * row["moved_bytes"])


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


def draw(directory):
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
