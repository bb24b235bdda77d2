# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the plots: reading results, writing pictures, colours."""

import csv
import json
import sys

import matplotlib.pyplot as plt

MEGABYTE = 1e6
# The same thing has the same colour in all pictures.
VALET = "tab:blue"
VALET_VARIANT = "tab:cyan"
ZOLTAN_MIGRATE = "tab:orange"
OUT_OF_PLACE = "tab:red"
LIMIT = "tab:green"
METHOD_COLOURS = {"stream": VALET, "direct": "tab:gray", "phased": "tab:purple", "cyclic": "tab:brown",
                  "cyclic-ascending": "tab:brown", "cyclic-rotated": "tab:olive"}


def read(path):
    """The rows of a CSV file as dictionaries, with numbers converted."""

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


def read_cases(directory, name):
    """The cases of all files name*.json of valet-bench, one file per number of ranks."""
    files = sorted(directory.glob(f"{name}*.json"))
    if not files:
        raise FileNotFoundError(2, "missing", str(directory / f"{name}.json"))
    cases = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            cases += json.load(file)["cases"]
    return cases


def save(figure, path):
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def rank_colours(ranks):
    palette = plt.get_cmap("tab10" if ranks <= 10 else "turbo")
    return [palette(r if ranks <= 10 else r / (ranks - 1)) for r in range(ranks)]
