# SPDX-License-Identifier: BSD-3-Clause
"""Comparison of methods: results of `valet-bench exchange` for several methods and patterns.

Reads every exchange*.json of the directory:
`valet-bench exchange --method stream,phased,cyclic --pattern ring,transpose --json DIRECTORY/exchange.json`.
"""

from .common import LIMIT, METHOD_COLOURS, OUT_OF_PLACE, plt, read_cases, save

SPARE_COLOURS = ("tab:cyan", "tab:pink", "black")


def colour_of(method, methods):
    return METHOD_COLOURS.get(method, SPARE_COLOURS[methods.index(method) % len(SPARE_COLOURS)])


def setting_of(case):
    return f"{case['pattern']}\n{case['ranks']} ranks, {case['block_bytes']:,} B"


def grouped(cases):
    """Methods, settings, and the last case of each pair of them."""
    methods = list(dict.fromkeys(case["method"] for case in cases))
    settings = list(dict.fromkeys(setting_of(case) for case in cases))
    table = {(case["method"], setting_of(case)): case for case in cases}
    return methods, settings, table


def bars(axis, cases, value, text, **looks):
    """A group of bars per setting, one bar per method, labelled with its value. Returns their positions."""
    methods, settings, table = grouped(cases)
    width = 0.8 / len(methods)
    places = {}
    for m, method in enumerate(methods):
        at = [s + (m - (len(methods) - 1) / 2) * width
              for s, setting in enumerate(settings) if (method, setting) in table]
        shown = [table[method, setting] for setting in settings if (method, setting) in table]
        drawn = axis.bar(at, [value(case) for case in shown], 0.92 * width,
                         color=colour_of(method, methods), label=method.upper())
        axis.bar_label(drawn, [text(value(case)) for case in shown], fontsize=7.5, padding=2, **looks)
        places.update({(method, setting_of(case)): (x, width, case) for x, case in zip(at, shown)})
    axis.set_xticks(range(len(settings)), settings)
    axis.set_xlim(-0.6, len(settings) - 0.4)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    return places


def figure_of(cases, title):
    _, settings, _ = grouped(cases)
    figure, axis = plt.subplots(figsize=(max(7.0, 2.4 * len(settings) + 2.5), 5))
    figure.suptitle(title, fontsize=12)
    return figure, axis


def draw_methods(directory):
    """Time of each method over MPI_Alltoallv into a second buffer."""
    cases = read_cases(directory, "exchange")
    figure, axis = figure_of(cases, "Methods of migration, plan included")
    bars(axis, cases, lambda case: case["ratio_warm"], lambda value: f"{value:.2f}")
    axis.axhline(1, color=OUT_OF_PLACE, linestyle="--", label="MPI_Alltoallv, second buffer at hand")
    axis.set_ylabel("time over MPI_Alltoallv")
    axis.set_ylim(0, 1.12 * max(1, *(case["ratio_warm"] for case in cases)))
    axis.legend(fontsize=8.5, frameon=False, ncol=2)
    figure.tight_layout()
    save(figure, directory / "methods.png")


def draw_memory(directory):
    """Peak extra memory of a rank, compared with its bound and with MPI_Alltoallv."""
    cases = read_cases(directory, "exchange")
    figure, axis = figure_of(cases, "Extra memory of a rank while blocks migrate")
    places = bars(axis, cases, lambda case: case["peak_extra_bytes"] / 2**20,
                  lambda value: f"{value:.1f}", label_type="center", color="white")
    for k, (x, width, case) in enumerate(places.values()):
        for key, colour, text in (("extra_bytes_bound", LIMIT, "promised at most"),
                                  ("memory", "black", "budget")):
            axis.hlines(case[key] / 2**20, x - width / 2, x + width / 2, color=colour, linewidth=2,
                        linestyle="-" if key == "extra_bytes_bound" else ":",
                        label=text if k == 0 else None)
    out_of_place = max((case["blocks"] - case["free"]) * case["block_bytes"] / 2**20 for case in cases)
    axis.set_ylabel("extra memory of a rank [MiB]")
    axis.set_ylim(0, 1.3 * max(case["extra_bytes_bound"] for case in cases) / 2**20)
    axis.set_title(f"a second buffer for MPI_Alltoallv would take up to {out_of_place:,.0f} MiB",
                   fontsize=10, color=OUT_OF_PLACE)
    axis.legend(fontsize=8.5, frameon=False, ncol=3, loc="upper center")
    figure.tight_layout()
    save(figure, directory / "memory_of_methods.png")
