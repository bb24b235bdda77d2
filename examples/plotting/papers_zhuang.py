# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of B. Zhuang, H. Nakashima, H. Nagamochi, "A Memory-Efficient Algorithm and Its Implementation of
Variable-Size All-to-All Communication", section 4, next to BITONIC and STREAM: seconds on 2^p processes with
256 MB each, for the paper's bitonic sort and for MPI_Alltoallv into a second buffer.
"""

import math

from .common import plt, save
from .phases import plain_numbers

CASES = (1, 2, 3, 4)
COLOURS = {1: "tab:blue", 2: "tab:pink", 3: "tab:green", 4: "tab:red"}
WORDS = {1: "1: even", 2: "2: three quarters of the pairs", 3: "3: half of the pairs", 4: "4: all to one"}
# Processes: seconds of the bitonic sort, then of MPI_Alltoallv, in cases 1 to 4.
TABLE_1 = {2: ((2.0, None, None, 1.1), (0.6, None, None, 0.8)),
           4: ((4.5, None, 5.1, 2.0), (1.0, None, 1.4, 0.8)),
           8: ((8.4, 10.2, 10.2, 4.1), (1.3, 1.4, 1.4, 1.0)),
           16: ((15.5, 19.6, 19.3, 10.7), (2.2, 2.4, 2.1, 1.7)),
           32: ((21.1, 29.1, 28.8, 15.1), (1.7, 2.2, 3.3, 1.7)),
           64: ((30.6, 44.0, 42.5, 26.9), (2.5, 2.8, 3.7, 1.6)),
           128: ((39.2, 57.5, 59.1, 39.7), (2.7, 3.2, 3.8, 1.4)),
           256: ((52.9, 75.0, 78.6, 54.9), (3.5, 3.9, 4.5, 1.4))}
BITONIC, ALLTOALLV = 0, 1


def printed(which, case):
    """(processes, seconds) of a column of the table."""
    return [(ranks, row[which][case - 1]) for ranks, row in TABLE_1.items() if row[which][case - 1] is not None]


def printed_ratio(case):
    peer = dict(printed(ALLTOALLV, case))
    return [(ranks, seconds / peer[ranks]) for ranks, seconds in printed(BITONIC, case)]


def cases_of(documents):
    return [case for document in documents.values() for case in document["cases"]]


def ours(cases, method, case, key):
    return sorted((row["ranks"], row[key]) for row in cases if row["method"] == method and row["case"] == case)


def swaps(ranks):
    """Number of swaps of a process in the bitonic sort of a power of two: p(p+1)/2, section 3.2."""
    power = round(math.log2(ranks))
    return power * (power + 1) // 2


def panel(axis, title, label, curves):
    """The curves of a case, in the paper and here, as (points, line, marker, filled)."""
    for case in CASES:
        for points, line, marker, filled in curves(case):
            if points:
                axis.plot(*zip(*points), line, color=COLOURS[case], marker=marker, markersize=6,
                          markerfacecolor=COLOURS[case] if filled else "white")
    ranks = list(TABLE_1)
    axis.set(xscale="log", yscale="log", xlabel="processes", ylabel=label)
    axis.set_xticks(ranks, [str(count) for count in ranks])
    axis.minorticks_off()
    plain_numbers(axis, axis.yaxis)
    axis.set_title(title, fontsize=11)


def legend(figure, entries):
    handles = [plt.Line2D([], [], color=COLOURS[case], linewidth=4, label=f"case {WORDS[case]}") for case in CASES]
    handles += [plt.Line2D([], [], color="0.3", linestyle=line, marker=marker, markersize=6, label=label,
                           markerfacecolor="0.3" if filled else "white") for label, line, marker, filled in entries]
    figure.legend(handles=handles, loc="lower center", ncol=4, fontsize=9, frameon=False)


def draw(directory, documents):
    cases = cases_of(documents)
    figure, axes = plt.subplots(1, 3, figsize=(17, 6.2))
    panel(axes[0], "Table 1: all-to-all inside one buffer, bitonic sort", "time [s]",
          lambda case: [(printed(BITONIC, case), "--", "o", False),
                        (ours(cases, "bitonic", case, "seconds_median"), "-", "o", True)])
    panel(axes[1], "Table 1: MPI_Alltoallv into a second buffer", "time [s]",
          lambda case: [(printed(ALLTOALLV, case), "--", "o", False),
                        (ours(cases, "bitonic", case, "seconds_alltoallv"), "-", "o", True)])
    panel(axes[2], "Inside one buffer, over MPI_Alltoallv", "time over MPI_Alltoallv",
          lambda case: [(printed_ratio(case), "--", "o", False),
                        (ours(cases, "bitonic", case, "ratio_warm"), "-", "o", True),
                        (ours(cases, "stream", case, "ratio_warm"), ":", "D", True)])
    axes[2].axhline(1, color="0.4", linewidth=0.8)
    legend(figure, [("as the paper prints it", "--", "o", False), ("Valet's BITONIC and MPI_Alltoallv here", "-", "o", True),
                    ("Valet's STREAM here", ":", "D", True)])
    mebibytes = sorted({case["bytes"] // 2**20 for case in cases})
    figure.suptitle("Zhuang, Nakashima, Nagamochi: 256 MB in each process in the paper, "
                    f"{', '.join(map(str, mebibytes))} MiB here", fontsize=12)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    save(figure, directory / "papers_zhuang.png")


def number(value):
    return "-" if value is None else f"{value:.3g}"


def tables(documents):
    cases = cases_of(documents)
    columns = [f"{name}, case {case}" for name in ("bitonic", "Alltoallv") for case in CASES]
    lines = ["## Zhuang, Nakashima, Nagamochi, Table 1", "",
             "Seconds, in the paper / here; 256 MB in each process there, the bytes of the last column here.", "",
             "| processes | " + " | ".join(columns) + " | STREAM here | MiB |",
             "|---" * (len(columns) + 3) + "|"]
    here = sorted({row["ranks"] for row in cases})
    for ranks in sorted({*TABLE_1, *here}):
        cells = []
        for which, key in ((BITONIC, "seconds_median"), (ALLTOALLV, "seconds_alltoallv")):
            for case in CASES:
                there = TABLE_1.get(ranks, ((None,) * 4,) * 2)[which][case - 1]
                mine = dict(ours(cases, "bitonic", case, key)).get(ranks)
                cells.append(f"{number(there)} / {number(mine)}")
        stream = [number(dict(ours(cases, "stream", case, "seconds_median")).get(ranks)) for case in CASES]
        mebibytes = {row["bytes"] // 2**20 for row in cases if row["ranks"] == ranks}
        lines.append(f"| {ranks} | " + " | ".join(cells)
                     + f" | {', '.join(stream)} | {', '.join(map(str, mebibytes)) or '-'} |")
    lines += ["", "A swap takes the time over p(p+1)/2 of them on 2^p processes; the paper has 1.4 to 1.5 s in case 1: "
              + ", ".join(f"{ranks} processes {seconds / swaps(ranks):.3g} s"
                          for ranks, seconds in ours(cases, "bitonic", 1, "seconds_median")
                          if ranks & (ranks - 1) == 0) + " here.", ""]
    return lines
