# SPDX-License-Identifier: BSD-3-Clause
"""The block-cyclic example: the owners of the blocks before and after, and the volume exchanged."""

from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle

from .common import MEGABYTE, plt, rank_colours, read, save

TITLES = {"produced": "2 x 2 producers", "consumed": "1 x 3 consumers"}


def draw_layout(axis, blocks, colours, title):
    """Blocks of a matrix, row 0 at the top, in the colours of their ranks."""
    axis.add_collection(PatchCollection(
        [Rectangle((b["column"], b["row"]), b["columns"], b["rows"]) for b in blocks],
        facecolors=[colours[b["rank"]] for b in blocks], edgecolors="white", linewidths=0.6))
    axis.set_xlim(0, max(b["column"] + b["columns"] for b in blocks))
    axis.set_ylim(max(b["row"] + b["rows"] for b in blocks), 0)
    axis.set_aspect("equal")
    first = blocks[0]
    axis.set_title(f"{title}, blocks of {first['rows']} x {first['columns']}", fontsize=11)
    axis.set_xlabel("column")
    axis.set_ylabel("row")
    ranks = sorted({b["rank"] for b in blocks})
    axis.legend(handles=[Patch(color=colours[r], label=f"rank {r}") for r in ranks],
                loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=len(ranks), fontsize=9,
                frameon=False)


def draw_transfers(axis, transfers):
    """Megabytes from every producer to every consumer."""
    producers = sorted({t["from"] for t in transfers})
    consumers = sorted({t["to"] for t in transfers})
    megabytes = {(t["from"], t["to"]): t["bytes"] / MEGABYTE for t in transfers}
    image = [[megabytes[p, c] for c in consumers] for p in producers]
    axis.imshow(image, cmap="Blues", vmin=0)
    for y, row in enumerate(image):
        for x, value in enumerate(row):
            dark = value > 0.6 * max(map(max, image))
            axis.text(x, y, f"{value:.2f}", ha="center", va="center",
                      color="white" if dark else "black")
    axis.set_xticks(range(len(consumers)), consumers)
    axis.set_yticks(range(len(producers)), producers)
    axis.set_xlabel("to rank")
    axis.set_ylabel("from rank")
    axis.set_title("volume exchanged [MB]", fontsize=11)


def draw(directory):
    """Both layouts of the matrix and the transfers between them."""
    blocks = read(directory / "blocks.csv")
    colours = rank_colours(1 + max(block["rank"] for block in blocks))
    figure, axes = plt.subplots(1, 3, figsize=(14, 6.2), width_ratios=(1, 1, 0.75))
    for axis, (layout, title) in zip(axes, TITLES.items()):
        draw_layout(axis, [b for b in blocks if b["layout"] == layout], colours, title)
    draw_transfers(axes[2], read(directory / "transfers.csv"))
    figure.suptitle("A matrix passed from one process grid to another")
    figure.tight_layout()
    save(figure, directory / "block_cyclic.png")
