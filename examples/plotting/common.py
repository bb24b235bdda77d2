# SPDX-License-Identifier: BSD-3-Clause
"""What the drawings share: reading results, writing pictures, colours."""

import csv
import sys

import matplotlib.pyplot as plt

MEGABYTE = 1e6
VALET = "tab:blue"
LIMIT = "tab:green"
OUT_OF_PLACE = "tab:red"


def read(path):
    """Rows of a CSV file as dictionaries, numbers as numbers."""

    def value(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    with open(path, newline="", encoding="utf-8") as file:
        rows = [{name: value(text) for name, text in row.items()} for row in csv.DictReader(file)]
    if not rows:
        sys.exit(f"plot.py: {path} has no rows")
    return rows


def save(figure, path):
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def rank_colours(ranks):
    palette = plt.get_cmap("tab10" if ranks <= 10 else "turbo")
    return [palette(r if ranks <= 10 else r / (ranks - 1)) for r in range(ranks)]
