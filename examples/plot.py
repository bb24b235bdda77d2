#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plots the results of an example, a study or a trace: plot.py WHAT DIRECTORY.

Reads the files in DIRECTORY and writes PNG pictures to the same directory. WHAT is one of
  amr, block_cyclic, dropin, objects, overlap, particles, restart, species
                an example: ./examples/run.sh NAME calls this script
  timeline      a trace: valet-bench exchange --trace DIRECTORY/trace.json, or any Options::trace
  methods, memory
                valet-bench exchange --method stream,phased --json DIRECTORY/exchange.json
  layout_index  valet-bench layout --study index --json DIRECTORY/layout_index.json
  madre         mpirun -n N valet-bench madre --json DIRECTORY/madre_N.json, for several N
  papers        the figures and tables of the papers: examples/papers.py DIRECTORY
  phases        mpirun -n N valet-bench phases --json DIRECTORY/phases_N.json, for several N
  scale         simulated machines: tests/scale/run.sh calls this script
  sizes         mpirun -n 2 valet-bench sizes --json DIRECTORY/sizes.json
"""

import argparse
import sys
from pathlib import Path

from plotting import (amr, block_cyclic, dropin, exchange_study, layout_index, madre, objects, overlap,
                      papers, particles, phases, restart, scale, sizes, species, trace_timeline)

DRAWINGS = {"amr": amr.draw,
            "block_cyclic": block_cyclic.draw,
            "dropin": dropin.draw,
            "layout_index": layout_index.draw,
            "madre": madre.draw,
            "memory": exchange_study.draw_memory,
            "methods": exchange_study.draw_methods,
            "objects": objects.draw,
            "overlap": overlap.draw,
            "papers": papers.draw,
            "particles": particles.draw,
            "phases": phases.draw,
            "restart": restart.draw,
            "scale": scale.draw,
            "sizes": sizes.draw,
            "species": species.draw,
            "timeline": trace_timeline.draw}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted(DRAWINGS), metavar="WHAT", help="one of the above")
    parser.add_argument("directory", type=Path, metavar="DIRECTORY",
                        help="directory of the files, or a trace file")
    arguments = parser.parse_args()
    try:
        DRAWINGS[arguments.what](arguments.directory)
    except FileNotFoundError as error:
        sys.exit(f"plot.py: {error.filename} is missing; what writes it is said by plot.py --help")
    except OSError as error:
        sys.exit(f"plot.py: {error.filename}: {error.strerror}")
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # where a file is no such file
        sys.exit(f"plot.py: what is in {arguments.directory} is not for '{arguments.what}' "
                 f"({type(error).__name__}: {error}); what writes it is said by plot.py --help")


if __name__ == "__main__":
    main()
