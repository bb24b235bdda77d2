# SPDX-License-Identifier: BSD-3-Clause
"""A trace of Valet (Options::trace) as a Gantt chart: a row per rank, a colour per kind of work.

Reads FILE, or every trace*.json of DIRECTORY, and writes a .png next to each trace.
"""

import json

from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .common import LIMIT, plt, rank_colours, save

# From the lowest layer to the highest: colour, legend text.
WORK = {"stage": ("0.94", None),
        "phase": ("0.88", "in a phase"),
        "swap": ("#8c6bb1", "swaps"),
        "wait": ("#c7c7c7", "waits in MPI"),
        "gather": ("#e6842a", "gathers into scratch"),
        "scatter": ("#2f7ebc", "scatters into slots"),
        "copy": ("#b5478e", "moves inside the rank")}
MESSAGES = {"send": ("#c0392b", "sends under way"), "receive": ("#2e9e5b", "receives under way")}
STAGES = {"plan": "#fff2cc", "exchange": "0.95", "local": "#f3e0ee", "verify": "#dceffa"}
WORK_STRIP = (0.38, 0.92)
MESSAGE_STRIPS = {"send": (0.22, 0.34), "receive": (0.06, 0.18)}
# Per rank: more of them would look like a black bar.
MOST_CREDITS = 1500
MOST_PHASES = 100


def events_of(trace, cat=None, **wanted):
    """The events whose fields have the given values; cat is one of the categories of an event."""
    return [event for event in trace["traceEvents"]
            if (cat is None or cat in event["cat"].split(","))
            and all(event.get(key) == value for key, value in wanted.items())]


def boxes(axis, events, row, strip, colour, layer, **looks):
    """One rectangle per event, in milliseconds; in one collection, because there are many."""
    low, high = (row + edge for edge in strip)
    corners = []
    for event in events:
        start, end = event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3
        corners.append([(start, low), (start, high), (end, high), (end, low)])
    axis.add_collection(PolyCollection(corners, facecolors=colour, linewidths=0, zorder=layer,
                                       rasterized=True, **looks))


def process_of(rank):
    """Process numbers start at 1."""
    return rank + 1


def few_starts(events, most):
    """The start times in milliseconds; none if there are too many to draw."""
    return [event["ts"] / 1e3 for event in events] if len(events) <= most else []


def credits_of(trace, rank):
    return few_starts(events_of(trace, ph="X", pid=process_of(rank), cat="credit"), MOST_CREDITS)


def phases_of(trace, rank):
    return few_starts(events_of(trace, ph="X", pid=process_of(rank), name="phase"), MOST_PHASES)


def draw_rank(axis, trace, rank, row):
    process = process_of(rank)
    stages = events_of(trace, ph="X", pid=process, cat="stage")
    for name in dict.fromkeys(event["name"] for event in stages):
        boxes(axis, [event for event in stages if event["name"] == name], row, (0.0, 0.93),
              STAGES.get(name, "0.95"), 0)
    for layer, (kind, (colour, _)) in enumerate(WORK.items()):
        if kind != "stage":
            boxes(axis, events_of(trace, ph="X", pid=process, cat=kind), row, WORK_STRIP, colour,
                  layer + 1)
    for kind, strip in MESSAGE_STRIPS.items():
        # The colour is stronger while several are under way.
        boxes(axis, events_of(trace, ph="X", pid=process, cat=kind), row, strip, MESSAGES[kind][0], 2,
              alpha=0.45)
    credits = credits_of(trace, rank)
    axis.plot(credits, [row + 0.36] * len(credits), "|", color="black", markersize=3, markeredgewidth=0.5,
              zorder=9)
    axis.vlines(phases_of(trace, rank), row, row + 0.92, color="black", linewidth=0.5, zorder=8)


def legend(axis, trace, ranks):
    """Legend entries for exactly what is drawn."""
    present = {cat for event in trace["traceEvents"] for cat in event["cat"].split(",")}
    names = {event["name"] for event in events_of(trace, ph="X", cat="stage")}
    entries = [Patch(facecolor=colour, edgecolor="0.6", linewidth=0.5, label=f"stage: {name}")
               for name, colour in STAGES.items() if name in names]
    entries += [Patch(color=colour, label=text)
                for kinds in (WORK, MESSAGES) for kind, (colour, text) in kinds.items()
                if text and kind in present]
    if any(phases_of(trace, rank) for rank in ranks):
        entries.append(Line2D([], [], marker="|", markersize=11, linestyle="", color="black",
                              markeredgewidth=0.5, label="a phase begins"))
    if any(credits_of(trace, rank) for rank in ranks):
        entries.append(Line2D([], [], marker="|", markersize=4, linestyle="", color="black", label="credits"))
    lines = 1 + (len(entries) - 1) // 7
    axis.legend(handles=entries, loc="lower center", bbox_to_anchor=(0.5, 1.02),
                ncol=-(-len(entries) // lines), fontsize=8, frameon=False, handlelength=1.2,
                columnspacing=1.4)


def draw_gantt(axis, trace, ranks):
    for row, rank in enumerate(ranks):
        draw_rank(axis, trace, rank, len(ranks) - 1 - row)
    axis.set_ylim(-0.05, len(ranks) + 0.12)
    axis.set_yticks([len(ranks) - 0.5 - row for row in range(len(ranks))],
                    [f"rank {rank}" for rank in ranks])
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    legend(axis, trace, ranks)


def draw_scratch(axis, trace, ranks, duration):
    """Scratch in use over time, compared with the budgets of the ranks."""
    colours = rank_colours(max(ranks) + 1)
    for rank in ranks:
        points = sorted((event["ts"] / 1e3, event["args"]["bytes"] / 2**20)
                        for event in events_of(trace, ph="C", pid=process_of(rank)))
        if points:
            times, used = zip(*points)
            axis.step([*times, duration / 1e3], [*used, used[-1]], where="post",
                      color=colours[rank], linewidth=1, alpha=0.85,
                      label=f"rank {rank}" if len(ranks) <= 8 else None)
    budgets = [event["args"]["budget_bytes"] for event in events_of(trace, name="process_name")]
    axis.axhline(min(budgets) / 2**20, color=LIMIT, linestyle="--", linewidth=1.5, label="budget")
    axis.set_ylim(0, 1.12 * max(min(budgets) / 2**20, axis.get_ylim()[1] / 1.05))
    axis.set_ylabel("scratch in use [MiB]")
    axis.set_xlabel("time since the migration began [ms]")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncol=9, frameon=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def draw_file(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    about = trace["otherData"]
    ranks = range(about["ranks"])
    duration = max(event["ts"] + event.get("dur", 0) for event in trace["traceEvents"] if "ts" in event)
    height = max(1.8, 0.62 * len(ranks))
    figure, axes = plt.subplots(2, 1, figsize=(13, height + 3.4), sharex=True,
                                gridspec_kw={"height_ratios": [height, 1.9]})
    draw_gantt(axes[0], trace, ranks)
    draw_scratch(axes[1], trace, ranks, duration)
    axes[1].set_xlim(0, duration / 1e3)
    figure.suptitle(f"What {about['ranks']} ranks do while blocks of {about['block_bytes']:,} bytes "
                    f"migrate by {about['method'].upper()}", fontsize=12)
    figure.tight_layout()
    save(figure, path.with_suffix(".png"))


def draw(path):
    files = sorted(path.glob("trace*.json")) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(2, "missing", str(path / "trace.json"))
    for one in files:
        draw_file(one)
