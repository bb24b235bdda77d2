# SPDX-License-Identifier: BSD-3-Clause
"""Migrations on simulated machines over the number of ranks: results of `tests/scale/run.sh`.

Reads every scale*.json of the directory.
"""

from matplotlib.ticker import LogLocator, NullLocator

from .common import LIMIT, METHOD_COLOURS, OUT_OF_PLACE, plt, read_cases, save

MACHINES = {"fattree": "fat tree, 12.5 GB/s, 1 us a link",
            "torus": "torus, 175 MB/s, 3 us a link",
            "nodes": "fat tree, 32 ranks a node"}
COLOURS = {"ring": "tab:blue", "transpose": "tab:purple", "random": "tab:cyan", "neighbours": "tab:olive"}
RATIOS = (0.25, 0.5, 1, 2, 4)


def place(case):
    return (case.get("experiment", 0), case["platform"], case["pattern"], case["free"], case["ranks"])


def with_ratios(cases):
    """Time of the methods over that of the best MPI_Alltoallv of the same migration."""
    best = {}
    for case in cases:
        if case["method"] == "alltoallv":
            best[place(case)] = min(best.get(place(case), float("inf")), case["seconds"])
    return [{**case, "ratio": case["seconds"] / best[place(case)]} for case in cases
            if case["method"] != "alltoallv" and "seconds" in case and place(case) in best]


def ranks_axis(axis, cases):
    ranks = sorted({case["ranks"] for case in cases})
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [str(count) for count in ranks])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    axis.set_xlabel("ranks")


def draw_machine(upper, lower, cases):
    for pattern, colour in COLOURS.items():
        rows = sorted((case for case in cases if case["pattern"] == pattern), key=lambda case: case["ranks"])
        ranks = [case["ranks"] for case in rows]
        upper.plot(ranks, [case["ratio"] for case in rows], "o-", color=colour, label=pattern)
        lower.plot(ranks, [1e6 * case["plan_seconds"] for case in rows], "o-", color=colour, label=pattern)
    scale = sorted({case["ranks"]: 1e6 * case["collectives_seconds"] for case in cases}.items())
    lower.plot(*zip(*scale), "--", color=LIMIT, label="two reductions and a barrier")
    upper.axhline(1, color=OUT_OF_PLACE, linestyle="--", label="the best MPI_Alltoallv")
    upper.set(yscale="log", title=MACHINES[cases[0]["platform"]])
    upper.set_yticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
    lower.set(yscale="log")
    lower.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    lower.yaxis.set_major_formatter("{x:g}")
    lower.yaxis.set_minor_locator(NullLocator())
    lower.grid(alpha=0.3)
    for axis in (upper, lower):
        ranks_axis(axis, cases)
        axis.legend(fontsize=8)


def draw_patterns(cases, path):
    machines = [machine for machine in MACHINES if any(case["platform"] == machine for case in cases)]
    figure, axes = plt.subplots(2, len(machines), figsize=(6.2 * len(machines), 8), squeeze=False)
    for column, machine in enumerate(machines):
        draw_machine(axes[0][column], axes[1][column],
                     [case for case in cases if case["platform"] == machine])
    axes[0][0].set_ylabel("execution over MPI_Alltoallv")
    axes[1][0].set_ylabel("planning [us]")
    figure.suptitle("STREAM on simulated machines, no free slot", fontsize=12)
    figure.tight_layout()
    save(figure, path)


def draw_experiments(cases, path):
    machines = [machine for machine in MACHINES if any(case["platform"] == machine for case in cases)]
    numbers = sorted({case["experiment"] for case in cases})
    figure, axes = plt.subplots(len(machines), len(numbers), squeeze=False,
                                figsize=(3.4 * len(numbers), 3.6 * len(machines)))
    for row, machine in enumerate(machines):
        for column, number in enumerate(numbers):
            here = [case for case in cases if (case["platform"], case["experiment"]) == (machine, number)]
            axis = axes[row][column]
            for method, colour in METHOD_COLOURS.items():
                points = sorted((case["ranks"], case["ratio"]) for case in here if case["method"] == method)
                if points:
                    axis.plot(*zip(*points), "o-", color=colour, label=method)
            axis.axhline(1, color=OUT_OF_PLACE, linestyle="--")
            axis.set(yscale="log", title=f"{machine}, experiment {number}")
            ranks_axis(axis, here)
        axes[row][0].set_ylabel("execution over MPI_Alltoallv")
    axes[0][0].legend(fontsize=7)
    figure.suptitle("MADRE's experiments on simulated machines", fontsize=12)
    figure.tight_layout()
    save(figure, path)


def draw(directory):
    cases = with_ratios(read_cases(directory, "scale"))
    patterns = [case for case in cases if "experiment" not in case and case["method"] == "stream"]
    experiments = [case for case in cases if "experiment" in case]
    if patterns:
        draw_patterns(patterns, directory / "scale.png")
    if experiments:
        draw_experiments(experiments, directory / "scale_madre.png")
