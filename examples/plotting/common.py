# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the plots: reading results, writing pictures, colours."""

import csv
import json
import sys

import matplotlib.pyplot as plt

MEGABYTE = 1e6
PAGE_INCHES = 8.4  # at 100 dots an inch the width in which README is shown
# The same thing has the same colour in all pictures, and no rank has one of these.
VALET = "tab:blue"
VALET_VARIANT = "tab:cyan"
ZOLTAN_MIGRATE = "tab:orange"
OUT_OF_PLACE = "tab:red"
LIMIT = "black"
RANKS = ["#7b5ea7", "#e3c33f", "#5aa469", "#cf7bb0", "#8c6d5a", "#8f8f8f", "#a9c25d", "#3f7f7a"]
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


def page_figure(height):
    """A figure as wide as README and the guide show it, with print that can be read there."""
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "figure.titlesize": 11, "axes.spines.top": False,
                         "axes.spines.right": False})
    figure = plt.figure(figsize=(PAGE_INCHES, height), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)
    return figure


def save(figure, path):
    figure.savefig(path, dpi=100 if figure.get_figwidth() == PAGE_INCHES else 130)
    plt.close(figure)
    print(path)


def rank_colours(ranks):
    if ranks <= len(RANKS):
        return RANKS[:ranks]
    return [plt.get_cmap("turbo")(r / (ranks - 1)) for r in range(ranks)]
