# SPDX-License-Identifier: BSD-3-Clause
"""The block-cyclic example: the owners of the blocks before and after, and what the move takes beside pdgemr2d."""

from statistics import median

from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from .common import MEGABYTE, OUT_OF_PLACE, VALET, VALET_VARIANT, page_figure, rank_colours, read, read_cases, save

TITLES = {"produced": "2 x 2 producers", "consumed": "1 x 3 consumers"}
WAYS = {"pdgemr2d": ("Sca-\nLAPACK", OUT_OF_PLACE), "redistribute": ("Valet,\ntwo\narrays", VALET_VARIANT),
        "redistribute_in_place": ("Valet,\nin\nplace", VALET)}


def draw_layout(axis, blocks, colours, title):
    """Blocks of a matrix, row 0 at the top, in the colours of their ranks."""
    axis.add_collection(PatchCollection(
        [Rectangle((b["column"], b["row"]), b["columns"], b["rows"]) for b in blocks],
        facecolors=[colours[b["rank"]] for b in blocks], edgecolors="white", linewidths=0.6))
    for rank in sorted({b["rank"] for b in blocks}):
        first = next(b for b in blocks if b["rank"] == rank)
        axis.text(first["column"] + first["columns"] / 2, first["row"] + first["rows"] / 2, rank, ha="center",
                  va="center", fontsize=7)
    columns, rows = (max(b[what] + b[what + "s"] for b in blocks) for what in ("column", "row"))
    axis.set(xlim=(0, columns), ylim=(rows, 0), xticks=[0, columns], yticks=[0, rows], aspect="equal")
    axis.set_title(f"{title}\nblocks of {blocks[0]['rows']} x {blocks[0]['columns']}")
    axis.set_xlabel("column")


def draw_bars(axis, cases, key, unit, digits, title):
    """For each way the median of the runs with their range."""
    for place, (method, (_, colour)) in enumerate(WAYS.items()):
        values = [case[key] / unit for case in cases if case["method"] == method]
        axis.bar(place, median(values), 0.65, color=colour)
        axis.vlines(place + 0.28, min(values), max(values), color="black", linewidth=1)
        axis.annotate(f"{median(values):.{digits}f}", (place, median(values)), xytext=(0, 1), ha="center", va="bottom",
                      textcoords="offset points")
    axis.set_xticks(range(len(WAYS)), [name for name, _ in WAYS.values()])
    axis.set_title(title)


def draw(directory):
    """Both layouts of the matrix, and memory and time of a move between them in three ways."""
    blocks = read(directory / "blocks.csv")
    cases = read_cases(directory, "peers")
    colours = rank_colours(1 + max(block["rank"] for block in blocks))
    figure = page_figure(3.1)
    axes = figure.subplots(1, 4, width_ratios=(1, 1, 1.15, 1.15))
    for axis, (layout, title) in zip(axes, TITLES.items()):
        draw_layout(axis, [b for b in blocks if b["layout"] == layout], colours, title)
    axes[0].set_ylabel("row")
    draw_bars(axes[2], cases, "peak_extra_bytes", MEGABYTE, 1, "the same of 4096 x 4096:\nextra memory [MB]")
    draw_bars(axes[3], cases, "seconds_median", 1e-3, 0, "\ntime on 4 ranks [ms]")
    save(figure, directory / "block_cyclic.png")
