# SPDX-License-Identifier: BSD-3-Clause
"""The index study of `valet-bench layout`: time to find the intersections of two layouts."""

import json

from .common import VALET, plt, save

ALGORITHMS = {"classical": ("tab:red", "s", "CLASSICAL"),
              "scalapack": ("tab:purple", "D", "ScaLAPACK"),
              "falls": ("tab:pink", "^", "FALLS"),
              "aspen": (VALET, "o", "ASPEN"),
              "one_peer": ("tab:green", "v", "ASPEN, one peer")}


def grid_ranks(grid):
    """Number of ranks of a grid such as 4x4."""
    ranks = 1
    for part in grid.split("x"):
        ranks *= int(part)
    return ranks


def draw_study(cases, title, label, path):
    """Time over the remote grid: a panel per block size and a line per algorithm."""
    blocks = list(dict.fromkeys(case["block"] for case in cases))
    grids = sorted({case["remote_grid"] for case in cases}, key=grid_ranks)
    figure, axes = plt.subplots(1, len(blocks), figsize=(3.6 * len(blocks) + 1, 4.6), sharey=True,
                                squeeze=False)
    for axis, block in zip(axes[0], blocks):
        for algorithm, (colour, marker, name) in ALGORITHMS.items():
            points = sorted((grids.index(case["remote_grid"]), 1e6 * case["seconds_median"])
                            for case in cases
                            if case["block"] == block and case["algorithm"] == algorithm)
            if points:
                axis.plot(*zip(*points), color=colour, marker=marker, label=name)
        axis.set_title(f"blocks {block}", fontsize=11)
        axis.set_xlabel(label)
        axis.set_xticks(range(len(grids)), grids)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("time for a whole redistribution [µs]")
    axes[0][0].legend(loc="best", fontsize=9)
    figure.suptitle(title, fontsize=12)
    figure.tight_layout()
    save(figure, path)


def draw(directory):
    """The index study in the form of Figures 3 and 4 of the ASPEN paper."""
    with open(directory / "layout_index.json", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    square = [case for case in cases if case["local_grid"] == case["remote_grid"]]
    if square:
        draw_study(square, "Finding a whole redistribution between two grids that grow together",
                   "both grids", directory / "layout_figure3.png")
    largest = max((case["local_grid"] for case in cases), key=grid_ranks)
    fixed = [case for case in cases if case["local_grid"] == largest]
    draw_study(fixed, f"Finding a whole redistribution from a grid of {largest}", "remote grid",
               directory / "layout_figure4.png")
