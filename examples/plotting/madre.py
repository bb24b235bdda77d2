# SPDX-License-Identifier: BSD-3-Clause
"""MADRE's five experiments as Figure 5 of its paper shows them.

Reads every madre*.json of the directory, one for each number of ranks:
`mpirun -n 4 valet-bench madre --json DIRECTORY/madre_4.json`.
"""

from .common import LIMIT, OUT_OF_PLACE, VALET, plt, read_cases, save

SERIES = {"stream": ("STREAM", VALET, "o"),
          "cyclic-ascending": ("CYCLIC, ascending", "tab:orange", "s"),
          "cyclic-rotated": ("CYCLIC, rotated", LIMIT, "^"),
          "phased": ("PHASED, first fit, parking", "tab:purple", "D"),
          "alltoallv": ("MPI_Alltoallv, second buffer", OUT_OF_PLACE, "x")}


def draw_lines(axis, cases, over, line="-", note=""):
    """Time over a key of the cases, a line for each method."""
    for method in dict.fromkeys(case["method"] for case in cases):
        name, colour, marker = SERIES.get(method, (method, None, "."))
        points = sorted((case[over], case["seconds_median"])
                        for case in cases if case["method"] == method)
        axis.plot(*zip(*points), line, color=colour, marker=marker, markersize=5, label=name + note)


def over_ranks(axis, cases):
    ranks = sorted({case["ranks"] for case in cases})
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [str(count) for count in ranks])
    axis.set_xlabel("ranks")


def draw(directory):
    cases = read_cases(directory, "madre")
    figure, axes = plt.subplots(2, 2, figsize=(13, 9.5))
    panels = [((1, 2), "ranks", "(a) Everything to the next rank"),
              ((3,), "free", "(b) Effect of decreasing free memory"),
              ((4,), "ranks", "(c) All free slots on one rank"),
              ((5,), "ranks", "(d) Transpose, a fifth of the slots free")]
    for axis, (numbers, over, title) in zip(axes.flat, panels):
        shown = [case for case in cases if case["experiment"] in numbers]
        if over == "free":
            # The paper fixes the number of ranks, to one of many.
            most = max((case["ranks"] for case in shown), default=0)
            shown = [case for case in shown if case["ranks"] == most]
            title += f", {most} ranks"
        for number, line in zip(numbers, ("-", "--")):
            some = [case for case in shown if case["experiment"] == number]
            note = {1: ", none free", 2: ", a fifth free"}.get(number, "")
            draw_lines(axis, some, over, line, note)
        axis.set_title(title, fontsize=11)
        axis.set_ylabel("time of the redistribution [s]")
        axis.set_yscale("log")
        axis.grid(alpha=0.3, which="both")
        if not shown:
            continue
        if over == "ranks":
            over_ranks(axis, shown)
        else:
            axis.set_xlabel("free slots per rank")
            axis.invert_xaxis()
        axis.legend(fontsize=8)
    one = cases[0]
    figure.suptitle(f"MADRE's experiments: {one['blocks']:,} slots of {one['block_bytes']:,} bytes per rank, "
                    f"{one['memory'] / 2**20:.3g} MiB of scratch", fontsize=12)
    figure.tight_layout()
    save(figure, directory / "madre.png")
