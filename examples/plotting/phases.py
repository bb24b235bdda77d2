# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of Pinar and Hendrickson, section 7, in the form of their Figures 10 to 14.

Reads every phases*.json of the directory: `mpirun -n 4 valet-bench phases --json
DIRECTORY/phases_4.json`. Times are those of instances executed on the MPI ranks; phases and messages are
computed for the paper's numbers of processors.
"""

import json
import statistics

from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from .common import OUT_OF_PLACE, VALET, plt, read_cases, save

COLOURS = {"first_fit": "tab:red", "max_first": "tab:pink", "random": "tab:blue",
           "fortune_wheel": "tab:cyan", "min_max": "tab:purple", "continuous": "tab:gray"}
PARKING = {"": ("never", "tab:red", "o"), "-parking1": ("every phase", "tab:blue", "s"),
           "-parking2": ("every 2nd", "tab:cyan", "^"), "-parking3": ("every 3rd", "tab:purple", "D")}
TIGHT = "memory: 1/{} of what one phase needs"


def words(name):
    return name.replace("_", " ")


def only(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def values(rows, key):
    """All values of a key, in ascending order."""
    return sorted({row[key] for row in rows})


def methods_of(rows):
    return [method for method in dict.fromkeys(row["method"] for row in rows)
            if method not in ("stream", "alltoallv")]


def mean(rows, key):
    return statistics.fmean(row[key] for row in rows)


def plain_numbers(axis, values_of_axis):
    """Plain numbers on a logarithmic axis."""
    values_of_axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    values_of_axis.set_major_formatter(FormatStrFormatter("%g"))
    values_of_axis.set_minor_locator(NullLocator())
    axis.grid(alpha=0.3)


def memory_axis(axis, parts):
    axis.set_xscale("log", base=2)
    axis.set_xticks(parts, ["1"] + [f"1/{part}" for part in parts[1:]] if parts[0] == 1
                    else [f"1/{part}" for part in parts])
    axis.minorticks_off()
    axis.set_xlabel("memory of a processor, as a part of what one phase needs")


def time_over_phases(axis, cases):
    """The time of each instance, relative to its time with ample memory."""
    for method in methods_of(cases):
        points = []
        for remap in values(cases, "remap"):
            for number in values(cases, "instance"):
                some = only(cases, method=method, remap=remap, instance=number)
                if some:
                    whole = min(some, key=lambda case: case["part"])
                    points += [(case["phases"], case["seconds_median"] / whole["seconds_median"])
                               for case in some]
        axis.plot(*zip(*sorted(points)), "o", markersize=5, alpha=0.8, color=COLOURS[method],
                  label=words(method))
    most = max(case["phases"] for case in cases)
    axis.plot([1, most], [1, most], color="0.6", linewidth=1, label="in proportion")
    axis.set(xscale="log", yscale="log", xlabel="phases", ylabel="time over that with ample memory",
             title=f"Figure 10: time over phases, {cases[0]['ranks']} ranks")
    plain_numbers(axis, axis.xaxis)
    plain_numbers(axis, axis.yaxis)


def centralized(axis, cases):
    """Gather, solve, scatter and the rest, as fractions of the centralized total."""
    names = [method for method in methods_of(cases) if "centralized" not in method]
    for place, name in enumerate(names):
        alone = only(cases, method=name)
        rooted = only(cases, method=name + "-centralized-parking1")
        total = mean(rooted, "seconds_median")
        bottom = 0
        for key, colour in (("gather", "tab:pink"), ("solve", "tab:red"), ("scatter", "gold")):
            height = mean(rooted, "seconds_" + key) / total
            axis.bar(place + 0.2, height, 0.36, bottom=bottom, color=colour,
                     label=key if place == 0 else None)
            bottom += height
        axis.bar(place + 0.2, max(0, 1 - bottom), 0.36, bottom=bottom, color="lightgrey",
                 label="exchange, centralized with parking" if place == 0 else None)
        axis.bar(place - 0.2, mean(alone, "seconds_median") / total, 0.36, color=VALET,
                 label="distributed without parking" if place == 0 else None)
        for side, some in ((-0.2, alone), (0.2, rooted)):
            axis.text(place + side, 0.03, f"{mean(some, 'phases'):.1f}", ha="center", fontsize=8)
    axis.set_xticks(range(len(names)), [words(name) for name in names], rotation=15)
    axis.set(ylabel="time over centralized", ylim=(0, 1.4 * axis.get_ylim()[1]),
             title=f"Figure 11: centralized and distributed, {cases[0]['ranks']} ranks\n"
                   "(numbers: mean phases)")


def bars_by_parts(axis, rows, key, title, spread=None):
    """A group of bars per number of processors, for the least memory."""
    part = values(rows, "part")[-1]
    groups = values(rows, "parts")
    methods = methods_of(rows)
    width = 0.8 / len(methods)
    for place, method in enumerate(methods):
        some = [only(rows, method=method, parts=parts, part=part)[0] for parts in groups]
        at = [group + (place - (len(methods) - 1) / 2) * width for group in range(len(groups))]
        axis.bar(at, [row[key] for row in some], width, color=COLOURS[method], label=words(method),
                 yerr=[row[spread] for row in some] if spread else None, capsize=2,
                 error_kw={"elinewidth": 1})
    if spread:
        for group, parts in enumerate(groups):
            row = only(rows, parts=parts, part=part)[0]
            for bound, style, label in (("lower", "-", "ceil(T/M)"), ("upper", "--", "ceil(2T/M)+1, with parking")):
                axis.hlines(row[bound], group - 0.45, group + 0.45, color="black", linewidth=1.2,
                            linestyle=style, label=label if group == 0 else None)
    axis.set_xticks(range(len(groups)), [f"{parts} processors" for parts in groups])
    axis.set(ylabel=words(key), ylim=(0, 1.4 * axis.get_ylim()[1]), title=f"{title}\n({TIGHT.format(part)})")


def bounds(axis, rows):
    parts = values(rows, "part")
    some = [only(rows, part=part)[0] for part in parts]
    axis.fill_between(parts, [row["lower"] for row in some], [row["upper"] for row in some],
                      color="0.92", label="ceil(T/M) to ceil(2T/M)+1")


def phases_over_memory(axis, rows, curves, title):
    """A curve of phases per (method, label, colour, marker), for the largest number of processors."""
    parts = values(rows, "parts")[-1]
    rows = only(rows, parts=parts)
    bounds(axis, rows)
    for method, label, colour, marker in curves:
        some = sorted(only(rows, method=method), key=lambda row: row["part"])
        axis.errorbar([row["part"] for row in some], [row["phases"] for row in some],
                      yerr=[row["phases_deviation"] for row in some], color=colour, marker=marker,
                      markersize=5, capsize=2, label=label)
    memory_axis(axis, values(rows, "part"))
    axis.set_yscale("log")
    plain_numbers(axis, axis.yaxis)
    axis.set(ylabel="phases",
             title=f"{title}, {parts} processors\n"
                   f"(mean and deviation of instances: {rows[0]['instances']})")


def heuristics_over_memory(axis, rows):
    curves = [(method, words(method), COLOURS[method], "o") for method in methods_of(rows)]
    phases_over_memory(axis, rows, curves, "Figure 12: phases over memory")


def parking_over_memory(axis, rows):
    curves = [("fortune_wheel" + suffix, *look) for suffix, look in PARKING.items()]
    phases_over_memory(axis, rows, curves, "Figure 13: parking, fortune wheel")


def parking_bars(axis, rows):
    """Phases with parking over phases without, per number of processors."""
    part = values(rows, "part")[-1]
    groups = [(heuristic, parts) for heuristic in ("fortune_wheel", "first_fit")
              for parts in values(rows, "parts")]
    for group, (heuristic, parts) in enumerate(groups):
        some = only(rows, parts=parts, part=part)
        never = only(some, method=heuristic)[0]["phases"]
        for place, (suffix, (name, colour, _)) in enumerate(PARKING.items()):
            row = only(some, method=heuristic + suffix)[0]
            at = group + (place - 1.5) * 0.2
            axis.bar(at, row["phases"] / never, 0.2, color=colour, label=name if group == 0 else None)
            if suffix == "-parking1":
                axis.text(at, row["phases"] / never + 0.02, f"+{100 * (row['volume'] - 1):.0f}%",
                          ha="center", fontsize=7)
    axis.axhline(1, color="0.4", linewidth=0.8)
    axis.set_xticks(range(len(groups)), [f"{words(heuristic)}, {parts}" for heuristic, parts in groups],
                    fontsize=8, rotation=15)
    axis.set(ylabel="phases over those without parking", ylim=(0, 1.45),
             title=f"Figure 13: phases with parking, and volume it adds\n({TIGHT.format(part)})")


def parking_times(axis, cases):
    for suffix, (name, colour, marker) in list(PARKING.items())[1:]:
        points = []
        for part in values(cases, "part"):
            ratios = []
            for case in only(cases, method="fortune_wheel" + suffix, part=part):
                without = only(cases, method="fortune_wheel", part=part, remap=case["remap"],
                               instance=case["instance"])[0]
                ratios.append(case["seconds_median"] / without["seconds_median"])
            points.append((part, statistics.geometric_mean(ratios)))
        axis.plot(*zip(*points), color=colour, marker=marker, markersize=5, label=name)
    axis.axhline(1, color=OUT_OF_PLACE, linestyle=":", label="without parking")
    memory_axis(axis, values(cases, "part"))
    axis.set(ylabel="time over that without parking", ylim=(0, 1.3 * axis.get_ylim()[1]),
             title=f"Figure 14: parking, time, {cases[0]['ranks']} ranks")


def draw_figures(cases, schedules, path):
    """Those of Figures 10 to 14 for which there are executed instances, on the most ranks, or computed schedules."""
    if not cases and not schedules:
        return
    ranks = values(cases, "ranks")[-1] if cases else 0
    cases = only(cases, ranks=ranks)
    # Instances with an entirely new partition are the hard ones.
    kinds = values(schedules, "remap")
    hard = only(schedules, remap=kinds[-1]) if kinds else []
    counted = {number: only(hard, experiment=number) for number in (3, 4)}
    carried_out = {number: only(cases, experiment=number) for number in (1, 2, 3, 4)}
    panels = [(carried_out[1], time_over_phases),
              (carried_out[2], centralized),
              (counted[3], lambda axis, rows: bars_by_parts(
                  axis, rows, "phases", "Figure 12a: phases", "phases_deviation")),
              (counted[3], lambda axis, rows: bars_by_parts(
                  axis, rows, "messages", "Figure 12b: messages per communicating pair")),
              (counted[3], heuristics_over_memory),
              (counted[4], parking_over_memory),
              (counted[4], parking_bars),
              (carried_out[4], parking_times)]
    panels = [(rows, panel) for rows, panel in panels if rows]
    columns = (len(panels) + 1) // 2
    figure, axes = plt.subplots(2, columns, figsize=(5.75 * columns, 11), squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, (rows, panel) in zip(axes.flat, panels):
        panel(axis, rows)
        axis.title.set_fontsize(11)
        axis.grid(alpha=0.3, axis="y")
        axis.set_axisbelow(True)
        axis.legend(fontsize=8)
    figure.tight_layout()
    save(figure, path)


def draw(directory):
    schedules = []
    for path in sorted(directory.glob("phases*.json")):
        schedules = json.loads(path.read_text(encoding="utf-8"))["schedules"] or schedules
    draw_figures(read_cases(directory, "phases"), schedules, directory / "phases.png")
