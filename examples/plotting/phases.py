# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of Pinar and Hendrickson, section 7, as their Figures 10 to 14 show them.

Reads every phases*.json of the directory, one for each number of ranks:
`mpirun -n 4 valet-bench phases --json DIRECTORY/phases_4.json`.
"""

import statistics

from .common import OUT_OF_PLACE, VALET, plt, read_cases, save


def of(cases, experiment):
    return [case for case in cases if case["experiment"] == experiment]


def methods_of(cases):
    return [method for method in dict.fromkeys(case["method"] for case in cases)
            if method not in ("stream", "alltoallv")]


def means(cases, method, over, key):
    """The mean of a key at each value of another."""
    groups = {}
    for case in cases:
        if case["method"] == method:
            groups.setdefault(case[over], []).append(case[key])
    return zip(*sorted((value, statistics.fmean(group)) for value, group in groups.items()))


def time_over_phases(axis, cases):
    for method in methods_of(cases):
        points = sorted((case["phases"], case["ratio_warm"])
                        for case in cases if case["method"] == method)
        axis.plot(*zip(*points), ".", label=method)
    stream = statistics.fmean(case["ratio_warm"] for case in cases if case["method"] == "stream")
    axis.axhline(stream, color=VALET, label="STREAM, any memory")
    axis.axhline(1, color=OUT_OF_PLACE, linestyle=":", label="MPI_Alltoallv, second buffer")
    axis.set(xscale="log", yscale="log", xlabel="phases", ylabel="time over MPI_Alltoallv",
             title="Figure 10: time over phases")


def centralized(axis, cases):
    """Gather, solve, scatter and the rest, in parts of the centralized total."""
    names = [method for method in methods_of(cases) if "centralized" not in method]
    for place, name in enumerate(names):
        pair = [[case for case in cases if case["method"] == method]
                for method in (name, name + "-centralized-parking1")]
        total = statistics.fmean(case["seconds_median"] for case in pair[1])
        bottom = 0
        for key in ("gather", "solve", "scatter"):
            height = statistics.fmean(case["seconds_" + key] for case in pair[1]) / total
            axis.bar(place + 0.2, height, 0.35, bottom=bottom, label=key if place == 0 else None)
            bottom += height
        axis.bar(place + 0.2, max(0, 1 - bottom), 0.35, bottom=bottom, color="lightgrey",
                 label="exchange, centralized" if place == 0 else None)
        axis.bar(place - 0.2, statistics.fmean(c["seconds_median"] for c in pair[0]) / total, 0.35,
                 color=VALET, label="distributed, no parking" if place == 0 else None)
    axis.set_xticks(range(len(names)), names, rotation=15)
    axis.set(ylabel="time over centralized", title="Figure 11: centralized and distributed")


def lines(axis, cases, key, title):
    for method in methods_of(cases):
        axis.plot(*means(cases, method, "free", key), marker="o", markersize=4, label=method)
    axis.set(xscale="log", yscale="log", xlabel="memory of a rank [blocks]", ylabel=key,
             title=title)
    axis.invert_xaxis()


def draw(directory):
    cases = read_cases(directory, "phases")
    figure, axes = plt.subplots(2, 3, figsize=(17, 9.5))
    panels = [(1, time_over_phases),
              (2, centralized),
              (3, lambda axis, some: lines(axis, some, "phases", "Figure 12a: phases")),
              (3, lambda axis, some: lines(axis, some, "messages", "Figure 12b: messages")),
              (4, lambda axis, some: lines(axis, some, "phases", "Figure 13: parking, phases")),
              (4, lambda axis, some: lines(axis, some, "seconds_median",
                                           "Figure 14: parking, time"))]
    for axis, (experiment, panel) in zip(axes.flat, panels):
        shown = of(cases, experiment)
        if shown:
            panel(axis, shown)
            axis.legend(fontsize=7)
    save(figure, directory / "phases.png")
