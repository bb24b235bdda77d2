# SPDX-License-Identifier: BSD-3-Clause
"""Time of a migration over the bytes per rank: results of `valet-bench sizes`.

Reads every sizes*.json of the directory, one for each number of ranks:
`mpirun -n 2 valet-bench sizes --json DIRECTORY/sizes.json`.
"""

from .common import OUT_OF_PLACE, plt, read_cases, save

PEER = "alltoallv"
COLOURS = ("tab:blue", "tab:purple", "tab:cyan", "tab:olive")
MARKERS = ("o", "s", "^", "D")
RATIOS = (0.5, 1, 2, 5, 10)


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def series_of(cases, method, block_bytes, key):
    return sorted((case["bytes"], case[key]) for case in cases
                  if case["method"] == method and case["block_bytes"] == block_bytes)


def bytes_axis(axis, cases):
    sizes = sorted({case["bytes"] for case in cases})
    axis.set_xscale("log", base=2)
    shown = sizes[::2] if len(sizes) > 6 else sizes
    axis.set_xticks(shown, [size_text(size) for size in shown])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)


def draw_column(upper, lower, cases):
    """Times (above) and their ratio (below) of one pattern and number of ranks."""
    methods = [method for method in dict.fromkeys(case["method"] for case in cases) if method != PEER]
    blocks = sorted({case["block_bytes"] for case in cases})
    for b, block_bytes in enumerate(blocks):
        look = {"marker": MARKERS[b % len(MARKERS)], "markersize": 4.5}
        upper.plot(*zip(*series_of(cases, PEER, block_bytes, "seconds_median")), "--", color=OUT_OF_PLACE,
                   label=f"MPI_Alltoallv, second buffer, {size_text(block_bytes)} blocks", **look)
        for m, method in enumerate(methods):
            colour = COLOURS[m % len(COLOURS)]
            label = f"Valet, {method.upper()}, {size_text(block_bytes)} blocks"
            upper.plot(*zip(*series_of(cases, method, block_bytes, "seconds_median")), color=colour,
                       label=label, **look)
            lower.plot(*zip(*series_of(cases, method, block_bytes, "ratio_warm")), color=colour, label=label,
                       **look)
    lower.axhline(1, color=OUT_OF_PLACE, linestyle="--")
    upper.set(yscale="log", title=f"{cases[0]['pattern']}, {cases[0]['ranks']} ranks")
    lower.set(xlabel="bytes of a rank", yscale="log")
    lower.set_yticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
    for axis in (upper, lower):
        bytes_axis(axis, cases)
    upper.legend(fontsize=8)


def draw(directory):
    cases = read_cases(directory, "sizes")
    columns = list(dict.fromkeys((case["pattern"], case["ranks"]) for case in cases))
    figure, axes = plt.subplots(2, len(columns), figsize=(6.2 * len(columns), 8), squeeze=False,
                                sharex="col", sharey="row", height_ratios=(3, 2))
    for column, (pattern, ranks) in enumerate(columns):
        draw_column(axes[0][column], axes[1][column],
                    [case for case in cases if (case["pattern"], case["ranks"]) == (pattern, ranks)])
    axes[0][0].set_ylabel("time, plan included [s]")
    axes[1][0].set_ylabel("time over MPI_Alltoallv")
    figure.suptitle("Migrations of all sizes, no free slot", fontsize=12)
    figure.tight_layout()
    save(figure, directory / "sizes.png")
