#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the results of an example, a study or a trace: plot.py EXAMPLE DIRECTORY.

Reads the files that the example wrote into DIRECTORY and writes PNG pictures beside them. Studies read
what valet-bench wrote:
  timeline      a trace: valet-bench exchange --trace DIRECTORY/trace.json, or any Options::trace
  methods, memory
                valet-bench exchange --method stream,phased --json DIRECTORY/exchange.json
  layout_index  valet-bench layout --study index --json DIRECTORY/layout_index.json
  madre         mpirun -n N valet-bench madre --json DIRECTORY/madre_N.json, for some N
  papers        examples/papers.py DIRECTORY: the figures and tables of the papers
  phases        mpirun -n N valet-bench phases --json DIRECTORY/phases_N.json, for some N
  scale         tests/scale/run.sh, which calls this: simulated machines
  sizes         mpirun -n 2 valet-bench sizes --json DIRECTORY/sizes.json
"""

import argparse
import sys
from pathlib import Path

from plotting import (amr, block_cyclic, dropin, exchange_study, layout_index, madre, papers, particles,
                      phases, scale, sizes, species, trace_timeline)

EXAMPLES = {"amr": amr.draw,
            "block_cyclic": block_cyclic.draw,
            "dropin": dropin.draw,
            "layout_index": layout_index.draw,
            "madre": madre.draw,
            "memory": exchange_study.draw_memory,
            "methods": exchange_study.draw_methods,
            "papers": papers.draw,
            "particles": particles.draw,
            "phases": phases.draw,
            "scale": scale.draw,
            "sizes": sizes.draw,
            "species": species.draw,
            "timeline": trace_timeline.draw}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=sorted(EXAMPLES))
    parser.add_argument("directory", type=Path, help="where the example wrote its files; a trace may be named itself")
    arguments = parser.parse_args()
    try:
        EXAMPLES[arguments.example](arguments.directory)
    except FileNotFoundError as error:
        sys.exit(f"plot.py: {error.filename} is missing; run the example first")


if __name__ == "__main__":
    main()
