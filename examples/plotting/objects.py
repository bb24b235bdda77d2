# SPDX-License-Identifier: BSD-3-Clause
"""The objects example: memory of one rank while cells of a hash map move, packed and by migrate_objects."""

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET, page_figure, read, save

# The steps of the program; that which the limit refuses is not drawn.
WAYS = {2: ("packed into buffers, MPI_Alltoallv", OUT_OF_PLACE), 1: ("valet::migrate_objects", VALET)}


def draw(directory):
    """Growth of the data of the rank that grew most, over time, and what the limit allows."""
    headroom = read(directory / "limit.csv")[0]["headroom_bytes"]
    grown = {}
    for sample in read(directory / "memory.csv"):
        if sample["phase"] == "migrate" and sample["step"] in WAYS:
            grown.setdefault((sample["step"], sample["rank"]), []).append(sample)
    figure = page_figure(3)
    axis = figure.subplots()
    for step, (text, colour) in WAYS.items():
        runs = [samples for (of, _), samples in grown.items() if of == step]
        growth = [[(s["data_bytes"] - samples[0]["data_bytes"]) / MEGABYTE for s in samples] for samples in runs]
        samples, most = max(zip(runs, growth), key=lambda run: max(run[1]))
        axis.plot([1e3 * (s["seconds"] - samples[0]["seconds"]) for s in samples], most, color=colour,
                  linewidth=1.5, marker=".", markersize=3, label=f"{text}: {max(most):.1f} MB")
    if headroom:
        axis.axhline(headroom / MEGABYTE, color=LIMIT, linestyle="--", linewidth=1.5,
                     label=f"limit of the system: {headroom / MEGABYTE:.1f} MB")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("time since the cells began to move [ms]")
    axis.set_ylabel("growth of a rank's data [MB]")
    axis.set_title("Cells of a hash map, each with a vector of particles, move to other ranks", loc="left")
    axis.legend(frameon=False)
    save(figure, directory / "objects.png")
