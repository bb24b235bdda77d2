# SPDX-License-Identifier: BSD-3-Clause
"""Particles in numpy arrays that turn about the middle of a disc, which is cut into a strip for each rank in every
step so that all have as many: mpirun -n 4 python3 particles.py [--picture particles.png]. Cells as of a notebook.

Every array has room for a tenth more than a rank begins with, and grows where that is too little. Beside the
arrays a rank takes what Valet reports; packed buffers would take what leaves it and what arrives."""

# %% What is asked for.
import argparse

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--particles", type=int, default=200_000, help="of each rank (default: 200000)")
parser.add_argument("--steps", type=int, default=8, help="how often they are moved (default: 8)")
parser.add_argument("--picture", help="file for a picture, drawn with matplotlib")
options = parser.parse_args()

# %% The particles of this rank.
import numpy as np
from mpi4py import MPI

import valet

comm = MPI.COMM_WORLD
draw = np.random.default_rng(comm.rank)
count = options.particles
slots = count + count // 10
particles = valet.Arrays(position=np.zeros((slots, 2)), speed=np.zeros((slots, 2), np.float32),
                         id=np.zeros(slots, np.int64))
angle, radius = 2 * np.pi * draw.random(count), 0.5 * np.sqrt(draw.random(count))
particles["position"][:count] = 0.5 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
particles["id"][:count] = comm.rank * count + np.arange(count)


# %% Who owns a place: strips of the disc with as many particles each, from a histogram of all.
def owners(x):
    bins = 4096
    total = comm.allreduce(np.histogram(x, bins, (0, 1))[0])
    share = np.cumsum(total) * comm.size // max(1, total.sum() + 1)
    return np.minimum(share, comm.size - 1)[np.clip((x * bins).astype(int), 0, bins - 1)]


# %% The steps. One line is Valet's.
turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
taken, packed, before = [], [], particles["position"][:count].copy()
for step in range(options.steps):
    position = particles["position"][:count]
    position[:] = 0.5 + (position - 0.5) @ turn
    ranks = owners(position[:, 0])
    count, report = valet.migrate(comm, particles, count, ranks, budget_bytes=1 << 20)
    taken.append(report["peak_extra_bytes"])
    packed.append((report["blocks_sent"] + report["blocks_received"]) * report["block_bytes"])
    counts = comm.gather(count)
    if comm.rank == 0:
        print(f"step {step + 1}: {min(counts)} to {max(counts)} particles on a rank; beside the arrays rank 0 took "
              f"{taken[-1] / 1e6:.2f} MB, packed buffers would take {packed[-1] / 1e6:.2f} MB", flush=True)

# %% All are there, once.
ids = comm.gather(particles["id"][:count])
if comm.rank == 0:
    everything = np.sort(np.concatenate(ids))
    assert (everything == np.arange(comm.size * options.particles)).all()
    print(f"no particle lost: {len(everything)} on {comm.size} ranks")

# %% The picture: where the particles of each rank are, and what a step took.
some = comm.gather((before[:700], particles["position"][:count][:700]))
if options.picture and comm.rank == 0:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})
    colours = ("#7b5ea7", "#e3c33f", "#5aa469", "#cf7bb0")  # those of examples/plotting
    figure, (first, last, memory) = plt.subplots(1, 3, figsize=(8.4, 2.8), layout="constrained")
    for axes, which, title in ((first, 0, "Before"), (last, 1, f"After {options.steps} steps")):
        for rank, places in enumerate(some):
            axes.plot(*places[which].T, ".", markersize=1.5, color=colours[rank % 4])
        axes.set(title=f"{title}: particles of {comm.size} ranks",
                 xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
    steps = np.arange(1, options.steps + 1)
    memory.bar(steps - 0.2, np.array(packed) / 1e6, 0.4, label="packed buffers", color="tab:red")
    memory.bar(steps + 0.2, np.array(taken) / 1e6, 0.4, label="Valet", color="tab:blue")
    memory.set(title="Extra memory of rank 0 [MB]", xlabel="step")
    memory.legend(frameon=False)
    figure.savefig(options.picture, dpi=100)
