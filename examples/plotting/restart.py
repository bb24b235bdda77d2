# SPDX-License-Identifier: BSD-3-Clause
"""The restart example: memory of the fullest rank while it reads the state, in two ways, on other numbers of ranks."""

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, page_figure, read, save

# The directories that examples/restart/run.sh writes, for each number of ranks.
WAYS = {"packed": ("buffers, MPI_Alltoallv", OUT_OF_PLACE),
        "in_place": ("valet::Junction", VALET)}


def fullest(directory):
    """Of the rank that took most: milliseconds, growth since the start in MB, and its row of restart.csv."""
    ranks = {}
    for sample in read(directory / "memory.csv"):
        ranks.setdefault(sample["rank"], []).append(sample)
    samples = max(ranks.values(), key=lambda own: max(s["data_bytes"] for s in own) - own[0]["data_bytes"])
    begin = next(s for s in samples if s["phase"] == "migrate")
    samples = [s for s in samples if s["seconds"] >= begin["seconds"]]
    row = next(r for r in read(directory / "restart.csv") if r["rank"] == begin["rank"])
    return ([1e3 * (s["seconds"] - begin["seconds"]) for s in samples],
            [(s["data_bytes"] - begin["data_bytes"]) / MEGABYTE for s in samples],
            row["particle_bytes"] / MEGABYTE, (row["limit_bytes"] - begin["data_bytes"]) / MEGABYTE)


def draw_ranks(axis, directory, ranks):
    for way, (label, colour) in WAYS.items():
        times, grown, particles, limit = fullest(directory / f"{way}_{ranks}")
        axis.plot(times, grown, color=colour, linewidth=1.8, drawstyle="steps-post", label=label)
        # Above its own line, or where the lines are close to each other, below them all.
        most = max(grown)
        place, offset = (times[grown.index(most)], most), 5
        if way == "in_place":
            place, offset = (0.55 * times[-1], particles), -16
        axis.annotate(f"{most:.0f} MB", place, xytext=(0, offset), color=colour, textcoords="offset points")
    axis.axhline(limit, color=LIMIT, linestyle="--", linewidth=1.5, label="limit of the system")
    axis.axhline(particles, color="0.4", linestyle=":", linewidth=1.5, label="particles of the rank")
    axis.set_title(f"{ranks} ranks: {particles:.0f} MB of particles each")
    axis.set_xlabel("time since opening [ms]")
    axis.set_xlim(left=0)


def draw(directory):
    """A panel for each number of ranks."""
    figure = page_figure(3.6)
    axes = figure.subplots(1, 3, sharey=True)
    for axis, ranks in zip(axes, (3, 5, 2)):
        draw_ranks(axis, directory, ranks)
    axes[0].set_ylim(0, 1.1 * axes[0].get_ylim()[1])
    axes[0].set_ylabel("growth of the fullest rank's data [MB]")
    figure.suptitle("Particles written on 4 ranks, read on 3, 5 and 2; ten time steps follow")
    axes[1].legend(loc="upper left", frameon=False, fontsize=8)
    save(figure, directory / "restart.png")
