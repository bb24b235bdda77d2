#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the driver of the scale study on one simulated machine and prints its output, lines of JSON.

    simulate.py [--build DIRECTORY] KIND RANKS [ALGORITHM] [ARGUMENT OF THE DRIVER...]

for example `simulate.py fattree 64 --method stream` or `simulate.py torus 64 pair --method alltoallv`.
KIND is a kind of machines.py. ALGORITHM is that of MPI_Alltoallv: ompi_basic_linear, pair or bruck.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from machines import COPY_BANDWIDTH, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINEAR, PAIRWISE, BRUCK = ALGORITHMS = ("ompi_basic_linear", "pair", "bruck")

# Without these settings, times would vary from run to run, depend on the machine that runs the simulation,
# or include SMPI's fits to a cluster of 2011.
CONFIGURATION = (
    "smpi/simulate-computation:no",  # the storage charges the time of copies
    "smpi/host-speed:1Gf",
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "network/crosstraffic:0",
    # Words are sent eagerly, as in MPI libraries (src/mpi/message.cpp); with longer messages MPI_Testany
    # would report sends that it does not know.
    "smpi/async-small-thresh:65",
    "smpi/send-is-detached-thresh:65",
    "smpi/grow-injected-times:no",
    "smpi/test:0",
    "smpi/iprobe:0",
    # Words are reduced by recursive doubling, as in MPI libraries; by default the root receives a message
    # from every rank, and SMPI's selector "ompi" reduces to a root and broadcasts for some numbers of ranks.
    "smpi/coll-selector:mpich",
)


def command(directory, build, kind, ranks, algorithm, arguments):
    platform = write(kind, ranks, directory)
    return [
        "smpirun",
        "-np",
        str(ranks),
        "-platform",
        str(platform),
        "-hostfile",
        str(platform.with_suffix(".hosts")),
        *(f"--cfg={setting}" for setting in CONFIGURATION),
        f"--cfg=smpi/alltoallv:{algorithm}",
        "--log=root.thresh:warning",
        str(pathlib.Path(build) / "tests/bin/valet_scale.so"),
        "--platform",
        kind,
        "--algorithm",
        algorithm,
        "--copy-bandwidth",
        str(COPY_BANDWIDTH[kind]),
        *arguments,
    ]


def simulate(build, kind, ranks, arguments, algorithm=PAIRWISE, timeout=None):
    """The rows that the driver printed. Raises RuntimeError with its output if it failed."""
    with tempfile.TemporaryDirectory(prefix="valet_scale_") as directory:
        # The option -tmpdir of smpirun does not work.
        environment = {**os.environ, "TMPDIR": directory}
        done = subprocess.run(
            command(directory, build, kind, ranks, algorithm, arguments),
            cwd=directory,
            env=environment,
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{kind}, {ranks} ranks, {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("kind")
    parser.add_argument("ranks", type=int)
    known, rest = parser.parse_known_args()
    chosen = rest.pop(0) if rest and rest[0] in ALGORITHMS else PAIRWISE
    try:
        for row in simulate(known.build, known.kind, known.ranks, rest, chosen):
            print(json.dumps(row))
    except RuntimeError as error:
        sys.exit(str(error))
