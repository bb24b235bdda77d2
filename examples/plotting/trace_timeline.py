# SPDX-License-Identifier: BSD-3-Clause
"""A trace of Valet (Options::trace) as a Gantt chart: a row per rank, colours per kind of work.

Reads FILE, or every trace*.json of DIRECTORY; the picture lies beside the trace, as .png.
"""

import json

from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .common import LIMIT, plt, rank_colours, save

# From the lowest layer to the highest: colour, text of the legend.
WORK = {"stage": ("0.94", None),
        "phase": ("0.88", "phase"),
        "swap": ("#8c6bb1", "swaps"),
        "wait": ("#c7c7c7", "waits in MPI"),
        "gather": ("#e6842a", "gathers into scratch"),
        "scatter": ("#2f7ebc", "scatters into slots"),
        "copy": ("#b5478e", "moves inside the rank")}
MESSAGES = {"send": ("#c0392b", "sends under way"), "receive": ("#2e9e5b", "receives under way")}
STAGES = {"plan": "#fff2cc", "exchange": "0.95", "local": "#f3e0ee", "verify": "#dceffa"}
WORK_STRIP = (0.38, 0.92)
MESSAGE_STRIPS = {"send": (0.22, 0.34), "receive": (0.06, 0.18)}
MOST_CREDITS = 1500


def events_of(trace, cat=None, **wanted):
    """Those whose fields are as wanted; cat is one of an event's categories."""
    return [event for event in trace["traceEvents"]
            if (cat is None or cat in event["cat"].split(","))
            and all(event.get(key) == value for key, value in wanted.items())]


def boxes(axis, events, row, strip, colour, layer, **looks):
    """One rectangle per event, in milliseconds; as one collection, for there are many."""
    low, high = (row + edge for edge in strip)
    corners = []
    for event in events:
        start, end = event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3
        corners.append([(start, low), (start, high), (end, high), (end, low)])
    axis.add_collection(PolyCollection(corners, facecolors=colour, linewidths=0, zorder=layer,
                                       rasterized=True, **looks))


def label_stages(axis, events, row, duration):
    """The names of stages that are wide enough to be read."""
    for event in events:
        if event["dur"] > 0.12 * duration:
            axis.text((event["ts"] + event["dur"] / 2) / 1e3, row + 0.93, event["name"], fontsize=7,
                      ha="center", va="bottom", color="0.35")


def process_of(rank):
    """Processes count from 1."""
    return rank + 1


def draw_rank(axis, trace, rank, row, duration):
    process = process_of(rank)
    stages = events_of(trace, ph="X", pid=process, cat="stage")
    for name in dict.fromkeys(event["name"] for event in stages):
        boxes(axis, [event for event in stages if event["name"] == name], row, (0.0, 0.93),
              STAGES.get(name, "0.95"), 0)
    label_stages(axis, stages, row, duration)
    for layer, (kind, (colour, _)) in enumerate(WORK.items()):
        if kind != "stage":
            boxes(axis, events_of(trace, ph="X", pid=process, cat=kind), row, WORK_STRIP, colour,
                  layer + 1)
    for kind, strip in MESSAGE_STRIPS.items():
        # Where several are under way the colour is stronger.
        boxes(axis, events_of(trace, ph="X", pid=process, cat=kind), row, strip, MESSAGES[kind][0], 2,
              alpha=0.45)
    credits = events_of(trace, ph="X", pid=process, cat="credit")
    if len(credits) <= MOST_CREDITS:
        axis.plot([event["ts"] / 1e3 for event in credits], [row + 0.36] * len(credits), "|",
                  color="black", markersize=3, markeredgewidth=0.5, zorder=9)
    starts = [event["ts"] / 1e3 for event in events_of(trace, ph="X", pid=process, name="phase")]
    if len(starts) <= 100:
        axis.vlines(starts, row, row + 0.92, color="black", linewidth=0.5, zorder=8)


def legend(axis, trace):
    present = {cat for event in trace["traceEvents"] for cat in event["cat"].split(",")}
    entries = [Patch(color=colour, label=text)
               for kinds in (WORK, MESSAGES) for kind, (colour, text) in kinds.items()
               if text and kind in present]
    if "credit" in present:
        entries.append(Line2D([], [], marker="|", linestyle="", color="black", label="credits"))
    axis.legend(handles=entries, loc="lower center", bbox_to_anchor=(0.5, 1.02), ncol=len(entries),
                fontsize=8, frameon=False, handlelength=1.2, columnspacing=1.4)


def draw_gantt(axis, trace, ranks, duration):
    for row, rank in enumerate(ranks):
        draw_rank(axis, trace, rank, len(ranks) - 1 - row, duration)
    axis.set_ylim(-0.05, len(ranks) + 0.12)
    axis.set_yticks([len(ranks) - 0.5 - row for row in range(len(ranks))],
                    [f"rank {rank}" for rank in ranks])
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    legend(axis, trace)


def draw_scratch(axis, trace, ranks, duration):
    """Scratch in use over time, against what the ranks may use."""
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
    draw_gantt(axes[0], trace, ranks, duration)
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
