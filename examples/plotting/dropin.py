# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in example: one mesh, migrated three ways."""

from statistics import median

from .common import MEGABYTE, VALET, VALET_VARIANT, ZOLTAN_MIGRATE, page_figure, read, save

DROPIN = {"stock": ("stock Zoltan_Migrate", ZOLTAN_MIGRATE),
          "hold": ("Valet, HOLD: the same binary", VALET),
          "steps": ("Valet, STEPS: with a free callback", VALET_VARIANT)}
RUNS = range(1, 6)  # of examples/dropin/run.sh


def rounds_of(directory, label):
    """For each round: seconds of the slowest rank; bytes that all ranks needed on top of their data."""
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


def draw_bars(axis, runs, key, unit):
    """For each round the median of the runs as a bar with its value, and their range as a line."""
    width = 0.85 / len(DROPIN)
    for place, (label, (text, colour)) in enumerate(DROPIN.items()):
        for k, values in enumerate(zip(*([one[key] / unit for one in run] for run in runs[label]))):
            middle, at = median(values), k + (place - 1) * width
            axis.bar(at, middle, width, color=colour, label=text if k == 0 else None)
            axis.vlines(at + 0.38 * width, min(values), max(values), color="black", linewidth=1)
            axis.annotate(f"{middle:.0f}", (at, middle), xytext=(0, 1), textcoords="offset points", ha="center",
                          va="bottom", fontsize=8)
    axis.set(xticks=range(len(runs["stock"][0])), xlim=(-0.6, len(runs["stock"][0]) - 0.4))


def draw(directory):
    """Memory and time of the migrations of one mesh, three ways, in five runs each."""
    runs = {label: [rounds_of(directory, f"{label}_{run}") for run in RUNS] for label in DROPIN}
    figure = page_figure(5.2)
    memory, time = figure.subplots(2, 1, sharex=True)
    draw_bars(memory, runs, "extra", MEGABYTE)
    draw_bars(time, runs, "seconds", 1e-3)
    moved = [one["sent"] / MEGABYTE for one in runs["stock"][0]]
    memory.hlines(moved, [k - 0.45 for k in range(len(moved))], [k + 0.45 for k in range(len(moved))],
                  color="0.4", linewidth=1.2, linestyle=":", label="the cells that move, packed")
    memory.set_ylim(0, 1.3 * memory.get_ylim()[1])  # room for the legend
    memory.legend(loc="upper right", ncol=2, frameon=False)
    memory.set_title("Memory beside the mesh, all ranks [MB]", loc="left")
    time.set_title("Time of the migration, slowest rank [ms]", loc="left")
    time.set_xlabel(f"round; median of {len(RUNS)} runs, with their range")
    save(figure, directory / "dropin.png")
