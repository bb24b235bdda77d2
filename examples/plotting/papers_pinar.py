# SPDX-License-Identifier: BSD-3-Clause
"""Figures 10 to 14 of A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
15(7), 2004, section 7, and the numbers in its text next to ours.
"""

import statistics

from .common import OUT_OF_PLACE, VALET, plt, save
from .phases import draw_figures, only, values

# Additional volume in percent, for 32, 64 and 128 processors: Experiments 3 and 4.
PRINTED = {"continuous": {32: 52, 64: 46, 128: 44}, "parking": {32: 1, 64: 3, 128: 3}}
METHODS = {"continuous": ("continuous",), "parking": ("fortune_wheel-parking1", "first_fit-parking1")}
TITLES = {"continuous": "continuous relaxation (Experiment 3)", "parking": "parking at every phase (Experiment 4)"}
KINDS = {"diffuse": ("adjusted, as in the paper", VALET), "scratch": ("made anew", "tab:cyan")}


def cases_of(documents):
    return [case for document in documents.values() for case in document["cases"]]


def schedules_of(documents):
    """The schedules computed for the paper's processors. Files of executed instances contain a few others."""
    counted = [row for name, document in documents.items() if "counted" in name for row in document["schedules"]]
    return counted or [row for document in documents.values() for row in document["schedules"]]


def extra_volume(schedules, what, remap, parts):
    """Percentage: the mean over all amounts of memory that need more than one phase."""
    extra = [100 * (row["volume"] - 1) for row in only(schedules, remap=remap, parts=parts)
             if row["method"] in METHODS[what] and row["lower"] > 1]
    return statistics.fmean(extra) if extra else None


def phases_over_never(schedules, remap, parts):
    """Phases with parking in every phase over phases without, for the least memory."""
    rows = only(schedules, remap=remap, parts=parts, experiment=4, part=values(schedules, "part")[-1])
    phases = {row["method"]: row["phases"] for row in rows}
    return phases["fortune_wheel-parking1"] / phases["fortune_wheel"] if phases else None


def volumes(axis, schedules, what):
    parts = values(schedules, "parts")
    kinds = [kind for kind in KINDS if kind in values(schedules, "remap")]
    series = [("the paper's text", OUT_OF_PLACE, [PRINTED[what].get(count) for count in parts])]
    series += [("here, partitions " + KINDS[kind][0], KINDS[kind][1],
                [extra_volume(schedules, what, kind, count) for count in parts]) for kind in kinds]
    width = 0.8 / len(series)
    for place, (label, colour, heights) in enumerate(series):
        for group, height in enumerate(heights):
            at = group + (place - (len(series) - 1) / 2) * width
            axis.bar(at, height or 0, width, color=colour, label=label if group == 0 else None)
            axis.text(at, height or 0, "-" if height is None else f"{height:.1f}", ha="center", va="bottom",
                      fontsize=9)
    axis.set_xticks(range(len(parts)), [f"{count} processors" for count in parts])
    axis.set(ylabel="volume beyond what has to move [%]", ylim=(0, 1.3 * axis.get_ylim()[1]))
    axis.set_title(f"Additional volume, {TITLES[what]}", fontsize=11)
    axis.grid(alpha=0.3, axis="y")
    axis.set_axisbelow(True)
    axis.legend(fontsize=9)


def draw(directory, documents):
    schedules = schedules_of(documents)
    draw_figures(cases_of(documents), schedules, directory / "papers_pinar.png")
    if not only(schedules, experiment=3) or not only(schedules, experiment=4):
        return
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    for axis, what in zip(axes, PRINTED):
        volumes(axis, schedules, what)
    figure.tight_layout()
    save(figure, directory / "papers_pinar_volume.png")


def tables(documents):
    schedules = schedules_of(documents)
    kinds = [kind for kind in KINDS if kind in values(schedules, "remap")]
    lines = ["## Pinar and Hendrickson, section 7", "",
             "| printed in the text | processors | the paper | "
             + " | ".join(f"here, partitions {KINDS[kind][0]}" for kind in kinds) + " |",
             "|---|---|---|" + "---|" * len(kinds)]

    def row(title, parts, there, here):
        cells = ["-" if value is None else f"{value:.3g}" for value in here]
        lines.append(f"| {title} | {parts} | {there} | " + " | ".join(cells) + " |")

    for parts in values(schedules, "parts"):
        for what, printed in PRINTED.items():
            row(f"additional volume of {TITLES[what]}, %", parts, printed.get(parts, "-"),
                [extra_volume(schedules, what, kind, parts) for kind in kinds])
        if only(schedules, experiment=4):
            row("phases with parking over phases without, least memory", parts, "0.5 in many cases",
                [phases_over_never(schedules, kind, parts) for kind in kinds])
    return lines + [""]
