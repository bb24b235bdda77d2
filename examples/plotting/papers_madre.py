# SPDX-License-Identifier: BSD-3-Clause
"""Figure 5 of S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine", section 4, with
ample scratch and with one block as in MADRE; and the stages by which the paper explains its times, computed
for its numbers of processes. The pictures include numbers from the text; the paper has no numbers for its curves.
"""

import json

from .common import METHOD_COLOURS, OUT_OF_PLACE, plt, save

SERIES = {"stream": ("STREAM", METHOD_COLOURS["stream"], "o"),
          "direct": ("DIRECT", METHOD_COLOURS["direct"], "v"),
          "cyclic-ascending": ("CYCLIC, ascending (MADRE's)", METHOD_COLOURS["cyclic-ascending"], "s"),
          "cyclic-rotated": ("CYCLIC, rotated", METHOD_COLOURS["cyclic-rotated"], "^"),
          "phased": ("PHASED, first fit, parking (MADRE's)", METHOD_COLOURS["phased"], "D"),
          "alltoallv": ("MPI_Alltoallv, second buffer", OUT_OF_PLACE, "x")}
# Section 4. Experiments 1 and 2, except parking in the first, which exceeded the time limit; experiment 5 on
# 1,024 processes with parking.
RING_SECONDS = (2.5, 5.5)
LIMIT_SECONDS = 30 * 60
TRANSPOSE_SECONDS = (1024, 28)
TRANSPOSE_STAGES = 4
PAPER = "0.45"
# Experiments of a panel with their lines, x axis, title.
PANELS = [({1: "-", 2: "--"}, "ranks", "(a) Everything to the next\n(dashed: a fifth free)"),
          ({3: "-"}, "free", "(b) Decreasing free memory"),
          ({4: "-"}, "ranks", "(c) All free slots on one process"),
          ({5: "-"}, "ranks", "(d) Transpose, a fifth free")]


def experiments_of(row):
    """The experiments of which a simulated run is a point."""
    if row["pattern"] == "ring":
        return {0: [1, 3], row["slots"] // 5: [2, 3]}.get(row["free"], [3])
    return {"one-free": [4], "transpose": [5]}.get(row["pattern"], [])


def simulated_cases(directory):
    """The cases of the simulation driver of tests/scale, with the keys of valet-bench."""
    rows = []
    for path in sorted(directory.glob("simulated*.json")):
        rows += json.loads(path.read_text(encoding="utf-8"))["cases"]
    cases = []
    for row in rows:
        for experiment in experiments_of(row):
            cases.append({"experiment": experiment, "method": row["method"], "ranks": row["ranks"],
                          "free": row["free"], "blocks": row["slots"], "block_bytes": row["block_bytes"],
                          "memory": row.get("budget_bytes"), "platform": row["platform"],
                          "seconds_median": row["seconds"] + row.get("plan_seconds", 0)})
    return cases


def best_peers(cases):
    """The fastest of several algorithms of MPI_Alltoallv; other cases unchanged."""
    best = {}
    for case in cases:
        key = tuple(case.get(name) for name in ("experiment", "method", "ranks", "free", "memory", "platform"))
        if key not in best or case["seconds_median"] < best[key]["seconds_median"]:
            best[key] = case
    return list(best.values())


def of_documents(documents):
    """The cases, each with the number of cores that it had."""
    return [dict(case, cores=document.get("cores", case["ranks"]))
            for document in documents.values() for case in document["cases"]]


def lines_of(axis, cases, over, line):
    """A line per method; points are hollow if simulated or if ranks shared cores."""
    for method, (_, colour, marker) in SERIES.items():
        for platform in sorted({case.get("platform", "") for case in cases}):
            some = sorted((case[over], case["seconds_median"], case["ranks"] <= case.get("cores", 0))
                          for case in cases if case["method"] == method and case.get("platform", "") == platform)
            axis.plot([x for x, _, _ in some], [seconds for _, seconds, _ in some], line, color=colour,
                      linewidth=0.9 if platform else 1.5, alpha=0.8)
            for x, seconds, alone in some:
                axis.plot(x, seconds, marker=marker, markersize=5, color=colour,
                          markerfacecolor=colour if alone or marker == "x" else "white")


def print_the_paper(axis, experiments):
    if 1 in experiments:
        axis.axhspan(*RING_SECONDS, color=PAPER, alpha=0.25, linewidth=0)
        axis.axhline(LIMIT_SECONDS, color=PAPER, linestyle=":")
        axis.text(0.98, LIMIT_SECONDS * 0.8, "the paper, 2 to 1,024 nodes: the grey band,\nwith nothing free parking "
                  "takes more than 30 min", fontsize=8, ha="right", va="top", color="0.3",
                  transform=axis.get_yaxis_transform())
    if 5 in experiments:
        axis.plot(*TRANSPOSE_SECONDS, "*", color=PAPER, markersize=13)
        axis.annotate("the paper, parking:\n28 s on 1,024 nodes;\ncycles not beyond 128\nin 30 min", TRANSPOSE_SECONDS,
                      xytext=(-8, -4), textcoords="offset points", fontsize=8, ha="right", va="top", color="0.3")


def rank_axis(axis, ranks, label):
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [str(count) for count in ranks], fontsize=8)
    axis.set_xlabel(label)


def panel(axis, cases, experiments, over, title):
    shown = [case for case in cases if case["experiment"] in experiments]
    if over == "free":
        amounts = {case["ranks"]: {one["free"] for one in shown if one["ranks"] == case["ranks"]} for case in shown}
        most = max((ranks for ranks, free in amounts.items() if len(free) > 1), default=0)
        shown = [case for case in shown if case["ranks"] == most]
        title += f"\n{most} ranks"
        axis.invert_xaxis()
        axis.set_xlabel("free slots of a rank")
    if not shown:
        axis.set_visible(False)
        return
    axis.set_yscale("log")
    for experiment, line in experiments.items():
        lines_of(axis, [case for case in shown if case["experiment"] == experiment], over, line)
    print_the_paper(axis, experiments)
    if over == "ranks":
        ranks = {case["ranks"] for case in shown} | ({1024} if 5 in experiments else set())
        most = max(ranks, default=2)
        axis.set_xlim(1.8, 1.1 * max(most, 4))
        rank_axis(axis, [2**k for k in range(1, 11) if 2**k <= most], "ranks")
    axis.set_title(title, fontsize=11)
    axis.grid(alpha=0.3)


def draw_figure_5(cases, path):
    """A row of panels per amount of scratch."""
    memories = sorted({case["memory"] for case in cases if case["memory"]})
    figure, axes = plt.subplots(len(memories), 4, figsize=(19, 4.6 * len(memories) + 1), squeeze=False, sharey=True)
    for row, memory in zip(axes, memories):
        some = [case for case in cases if case["memory"] in (memory, None)]
        for axis, (experiments, over, title) in zip(row, PANELS):
            panel(axis, some, experiments, over, title)
        scratch = memory // some[0]["block_bytes"]
        row[0].set_ylabel(f"scratch: {'one block, as in MADRE' if scratch == 1 else f'{memory / 2**20:.3g} MiB'}\n\n"
                          "time of the redistribution [s]")
    methods = {case["method"] for case in cases}
    handles = [plt.Line2D([], [], color=colour, marker=marker, label=name)
               for method, (name, colour, marker) in SERIES.items() if method in methods]
    handles.append(plt.Line2D([], [], color="0.3", marker="o", linestyle="", markerfacecolor="white",
                              label="hollow: ranks that share cores"
                              + (", or simulated" if any("platform" in case for case in cases) else "")))
    figure.legend(handles=handles, loc="lower center", ncol=4, fontsize=9, frameon=False)
    one = cases[0]
    figure.suptitle(f"MADRE, Figure 5: {one['blocks']:,} slots of {one['block_bytes']:,} bytes in each process",
                    fontsize=12)
    figure.tight_layout(rect=(0, 0.6 / figure.get_figheight(), 1, 1))
    save(figure, path)


def stages(axis, schedules, experiment, title):
    rows = [row for row in schedules if row["experiment"] == experiment]
    for method in ("phased", "cyclic-ascending", "cyclic-rotated"):
        name, colour, marker = SERIES[method]
        axis.plot(*zip(*sorted((row["processes"], row["phases"]) for row in rows if row["method"] == method)), "-",
                  color=colour, marker=marker, markersize=5, label=name)
    bounds = sorted({(row["processes"], row["lower"]) for row in rows})
    axis.plot(*zip(*bounds), ":", color="black", label="no fewer phases: ceil(T/M)")
    processes = [count for count, _ in bounds]
    if experiment == 5:
        axis.axhline(TRANSPOSE_STAGES, color=PAPER, linestyle="--", label="the paper, parking: 4")
        axis.plot(processes, [2 * count + 3 for count in processes], "-.", color=PAPER,
                  label="the paper, cycles: 2N+3")
    rank_axis(axis, processes, "processes")
    axis.set(yscale="log", ylabel="phases, or steps of the critical path")
    axis.set_title(title, fontsize=11)


def stages_over_free(axis, schedules):
    rows = [row for row in schedules if row["experiment"] == 3]
    processes = 128 if any(row["processes"] == 128 for row in rows) else max(row["processes"] for row in rows)
    rows = [row for row in rows if row["processes"] == processes]
    for method in ("phased", "cyclic-ascending"):
        name, colour, marker = SERIES[method]
        points = sorted((row["free"], row["phases"]) for row in rows if row["method"] == method)
        axis.plot(*zip(*points), "-", color=colour, marker=marker, markersize=5, label=name)
        for free, phases in points:
            if method == "phased":
                axis.annotate(f"{phases:,}", (free, phases), xytext=(-4, 5), textcoords="offset points", fontsize=8,
                              ha="right" if free == 0 else "center")
    axis.set(yscale="log", xlabel="free slots of a process", ylabel="phases, or steps of the critical path")
    axis.invert_xaxis()
    axis.set_title(f"Experiment 3: everything to the next, {processes} processes\n"
                   "(the paper: phases come near 25,000, one cycle for any free memory)", fontsize=10)


def draw_stages(schedules, path):
    figure, axes = plt.subplots(1, 3, figsize=(18, 5.4))
    stages_over_free(axes[0], schedules)
    stages(axes[1], schedules, 4, "Experiment 4: all free slots on one process")
    stages(axes[2], schedules, 5, "Experiment 5: transpose, a fifth free")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.suptitle(f"MADRE's experiments counted without data: {schedules[0]['blocks']:,} slots and one block of "
                    "scratch in each process", fontsize=12)
    figure.tight_layout()
    save(figure, path)


def schedules_of(documents):
    return [row for document in documents.values() for row in document.get("schedules", [])]


def draw(directory, documents):
    cases = best_peers(of_documents(documents) + simulated_cases(directory))
    if cases:
        draw_figure_5(cases, directory / "papers_madre.png")
    schedules = schedules_of(documents)
    if schedules:
        draw_stages(schedules, directory / "papers_madre_stages.png")


def tables(documents):
    cases = of_documents(documents)
    schedules = schedules_of(documents)
    lines = ["## MADRE, Figure 5", ""]
    for row in schedules:
        if row["experiment"] == 5 and row["processes"] == max(one["processes"] for one in schedules):
            lines.append(f"- experiment 5, {row['processes']} processes, {SERIES[row['method']][0]}: "
                         f"{row['phases']:,} phases or steps")
    lines += ["", "Seconds (over MPI_Alltoallv); printed in words: experiments 1 and 2 take 2.5 to 5.5 s on 2 to 1,024 "
              "nodes, experiment 5 28 s on 1,024 with parking.", ""]
    methods = [method for method in SERIES if any(case["method"] == method for case in cases)]
    lines += ["| experiment | ranks | free | scratch | " + " | ".join(SERIES[method][0] for method in methods) + " |",
              "|---" * (4 + len(methods)) + "|"]
    keys = sorted({(case["experiment"], case["ranks"], -case["free"], case["memory"]) for case in cases})
    for experiment, ranks, free, memory in keys:
        times = {case["method"]: f"{case['seconds_median']:.3g} ({case['ratio_warm']:.2g})" for case in cases
                 if (case["experiment"], case["ranks"], -case["free"], case["memory"]) == (experiment, ranks, free,
                                                                                          memory)}
        lines.append(f"| {experiment} | {ranks} | {-free} | {memory} | "
                     + " | ".join(times.get(method, "-") for method in methods) + " |")
    return lines + [""]
