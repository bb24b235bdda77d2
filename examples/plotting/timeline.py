# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory over the time of a run with migrations, for the examples that log it."""

from matplotlib.patches import Patch

from .common import LIMIT, MEGABYTE, OUT_OF_PLACE, VALET

SHADES = {"partition": {"color": "0.85", "alpha": 0.6, "linewidth": 0, "label": "while Zoltan partitions"},
          "migrate": {"color": "tab:blue", "alpha": 0.35, "linewidth": 0, "label": "while Valet migrates"}}


def shade(axis, spans):
    for start, end, phase in spans:
        axis.axvspan(start, end, **SHADES[phase])


def shade_entry(phase):
    """The legend entry of a shade."""
    return Patch(**SHADES[phase])


def spans_of(samples):
    """The times at which one rank was not simulating: (start, end, phase)."""
    spans = []
    for sample in samples:
        if sample["phase"] == "simulate":
            continue
        if spans and spans[-1][2] == sample["phase"] and spans[-1][3] == sample["step"]:
            spans[-1][1] = sample["seconds"]
        else:
            spans.append([sample["seconds"], sample["seconds"], sample["phase"], sample["step"]])
    return [span[:3] for span in spans]


def within(samples, migration, margin=0.0):
    return [s for s in samples
            if migration["start_seconds"] - margin <= s["seconds"] <= migration["end_seconds"] + margin]


def draw_migration(axis, samples, migration):
    """The largest migration in detail."""
    inside = within(samples, migration)
    base = min((s["resident_bytes"] for s in inside), default=0)
    start = migration["start_seconds"]
    milliseconds = [1e3 * (s["seconds"] - start) for s in inside]
    axis.fill_between(milliseconds, [(s["resident_bytes"] - base) / MEGABYTE for s in inside],
                      color=VALET, alpha=0.35, linewidth=0)
    axis.plot(milliseconds, [(s["resident_bytes"] - base) / MEGABYTE for s in inside],
              color=VALET, marker=".", linewidth=1.2, label="growth of the process, measured")
    end = 1e3 * (migration["end_seconds"] - start)
    for need, colour, text in (
            (migration["out_of_place_bytes"], OUT_OF_PLACE,
             "out of place: packed send and receive buffers"),
            (migration["limit_bytes"], LIMIT, "Valet's bound: scratch and index arrays"),
            (migration["extra_bytes"], VALET, "allocated by Valet, its own count")):
        axis.axhline(need / MEGABYTE, color=colour, linestyle="--", linewidth=1.5,
                     label=f"{text}: {need / MEGABYTE:.1f} MB")
    axis.legend(loc="center", fontsize=9)
    axis.set_xlim(0, max(end, 1e-3))
    axis.set_ylim(0, 1.15 * max(migration["out_of_place_bytes"], migration["limit_bytes"], 1) / MEGABYTE)
    axis.set_xlabel("time since the migration began [ms]")
    axis.set_ylabel("memory beyond the particle arrays [MB]")
    axis.set_title(f"The largest migration: step {migration['step']}, rank {migration['rank']}",
                   fontsize=11)
