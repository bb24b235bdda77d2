# SPDX-License-Identifier: BSD-3-Clause
"""MADRE's five experiments in the form of Figure 5 of its paper.

Reads every madre*.json of the directory, one for each number of ranks:
`mpirun -n 4 valet-bench madre --json DIRECTORY/madre_4.json`. The cost of parking with very little
memory has its own file: `mpirun -n 4 valet-bench madre --experiment 3 --memory 16000 --json
DIRECTORY/madre_4_one_block.json`.
"""

from .common import METHOD_COLOURS, OUT_OF_PLACE, plt, read_cases, save

SERIES = {"stream": ("STREAM", METHOD_COLOURS["stream"], "o"),
          "cyclic-ascending": ("CYCLIC, ascending", METHOD_COLOURS["cyclic-ascending"], "s"),
          "cyclic-rotated": ("CYCLIC, rotated", METHOD_COLOURS["cyclic-rotated"], "^"),
          "phased": ("PHASED, first fit, parking", METHOD_COLOURS["phased"], "D"),
          "alltoallv": ("MPI_Alltoallv, second buffer", OUT_OF_PLACE, "x")}


def draw_lines(axis, cases, over, line="-", note=""):
    """Time over a key of the cases: a line per method."""
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


def time_panel(axis, cases, numbers, over, title):
    shown = [case for case in cases if case["experiment"] in numbers]
    if over == "free":
        # The paper shows a single number of ranks.
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
    if not shown:
        return
    if over == "ranks":
        over_ranks(axis, shown)
    else:
        free_axis(axis)
    axis.legend(fontsize=8)


def free_axis(axis):
    axis.set_xlabel("free slots per rank")
    axis.invert_xaxis()


def parking_panel(axis, cases):
    """The cost of parking as free memory approaches zero, for each amount of scratch."""
    shown = [case for case in cases if case["experiment"] == 3 and case["method"] == "phased"]
    most = max((case["ranks"] for case in shown), default=0)
    memories = sorted({case["memory"] for case in shown}, reverse=True)
    for memory, line in zip(memories, ("-", "--", ":", "-.")):
        points = sorted((case["free"], case["phases"]) for case in shown
                        if case["ranks"] == most and case["memory"] == memory)
        blocks = memory // shown[0]["block_bytes"]
        axis.plot(*zip(*points), line, color=SERIES["phased"][1], marker="D", markersize=5,
                  label=f"scratch for {blocks} block{'s' if blocks > 1 else ''}")
    axis.set(yscale="log", ylabel="phases", title=f"(e) Phases of parking, {most} ranks")
    free_axis(axis)
    if memories:
        axis.legend(fontsize=8)


def ratio_panel(axis, cases):
    """All experiments over MPI_Alltoallv, for the least favourable amount of free memory."""
    most = max(case["ranks"] for case in cases)
    numbers = sorted({case["experiment"] for case in cases})
    methods = [method for method in SERIES if method != "alltoallv"
               and any(case["method"] == method for case in cases)]
    for place, method in enumerate(methods):
        ratios = [max((case["ratio_warm"] for case in cases if case["ranks"] == most
                       and case["experiment"] == number and case["method"] == method), default=0)
                  for number in numbers]
        at = [group + (place - (len(methods) - 1) / 2) * 0.2 for group in range(len(numbers))]
        axis.bar(at, ratios, 0.2, color=SERIES[method][1], label=SERIES[method][0])
    axis.axhline(1, color=OUT_OF_PLACE, linestyle=":")
    axis.set_xticks(range(len(numbers)), [f"experiment {number}" for number in numbers])
    axis.set(ylabel="time over MPI_Alltoallv, second buffer", title=f"(f) All experiments, {most} ranks")
    axis.legend(fontsize=8)


def draw(directory):
    cases = read_cases(directory, "madre")
    memory = max(case["memory"] for case in cases)
    ample = [case for case in cases if case["memory"] == memory]
    figure, axes = plt.subplots(2, 3, figsize=(19, 9.5))
    panels = [((1, 2), "ranks", "(a) Everything to the next rank"),
              ((3,), "free", "(b) Effect of decreasing free memory"),
              ((4,), "ranks", "(c) All free slots on one rank"),
              ((5,), "ranks", "(d) Transpose, a fifth of the slots free")]
    for axis, (numbers, over, title) in zip(axes.flat, panels):
        time_panel(axis, ample, numbers, over, title)
    parking_panel(axes.flat[4], cases)
    ratio_panel(axes.flat[5], ample)
    for axis in axes.flat:
        axis.grid(alpha=0.3, which="both")
        axis.set_axisbelow(True)
    one = ample[0]
    figure.suptitle(f"MADRE's experiments: {one['blocks']:,} slots of {one['block_bytes']:,} bytes per rank, "
                    f"{memory / 2**20:.3g} MiB of scratch", fontsize=12)
    figure.tight_layout()
    save(figure, directory / "madre.png")
