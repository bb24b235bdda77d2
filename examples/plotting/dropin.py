# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in example: one mesh, migrated three ways."""

from .common import MEGABYTE, VALET, VALET_VARIANT, ZOLTAN_MIGRATE, plt, read, save

DROPIN = {"stock": ("stock Zoltan_Migrate", ZOLTAN_MIGRATE),
          "hold": ("Valet, HOLD: the same binary", VALET),
          "steps": ("Valet, STEPS: with a free callback", VALET_VARIANT)}


def dropin_rounds(directory, label):
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


def draw(directory):
    """Time and memory of the migrations of one mesh, three ways."""
    runs = {label: dropin_rounds(directory, label) for label in DROPIN}
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    width = 0.8 / len(runs)
    for place, (label, rounds) in enumerate(runs.items()):
        text, colour = DROPIN[label]
        at = [k + (place - 1) * width for k in range(len(rounds))]
        axes[0].bar(at, [one["extra"] / MEGABYTE for one in rounds], width, color=colour, label=text)
        axes[1].bar(at, [1e3 * one["seconds"] for one in rounds], width, color=colour, label=text)
    moved = [one["sent"] / MEGABYTE for one in runs["stock"]]
    axes[0].hlines(moved, [k - 0.45 for k in range(len(moved))], [k + 0.45 for k in range(len(moved))],
                   color="black", linewidth=1.5, label="size of the cells that moved, packed")
    axes[0].set_title("Memory (Valet keeps up to 4 MiB of scratch per rank after round 0)", fontsize=10)
    axes[1].set_title("Time", fontsize=10)
    axes[0].set_ylabel("peak memory beyond the mesh, all ranks [MB]")
    axes[1].set_ylabel("time of the migration, slowest rank [ms]")
    for axis in axes:
        axis.set_xlabel("round")
        axis.set_ylim(bottom=0)
        axis.set_xticks(range(len(moved)))
    axes[0].set_ylim(0, 1.35 * axes[0].get_ylim()[1])  # room for the legend
    axes[0].legend(fontsize=8.5, loc="upper right")
    figure.suptitle("Migration of an unstructured mesh in three ways")
    figure.tight_layout()
    save(figure, directory / "dropin.png")
