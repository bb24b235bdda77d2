#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a simulated machine for the scale study: a SimGrid platform and a list of its hosts.

    machines.py KIND RANKS DIRECTORY

writes DIRECTORY/KIND_RANKS.xml and DIRECTORY/KIND_RANKS.hosts. The kinds:

    fattree  two levels of switches, 32 hosts below each, 12.5 GB/s and 1 us per link: a current cluster
    torus    three dimensions, 175 MB/s and 3 us per link: the Blue Gene/L of MADRE's measurements
    nodes    the fat tree, with 32 ranks on each host
"""

import argparse
import pathlib

KINDS = ("fattree", "torus", "nodes")
RANKS_PER_NODE = 32
# Bytes per second that a core copies from memory to memory.
COPY_BANDWIDTH = {"fattree": 10e9, "torus": 1e9, "nodes": 10e9}
# Messages to the same rank or to another rank on the same host go through memory.
LOOPBACK = 'loopback_bw="{}" loopback_lat="{}"'


def torus_shape(hosts):
    """Three extents, as equal as possible."""
    best = (hosts, 1, 1)
    for x in range(1, hosts + 1):
        if hosts % x:
            continue
        for y in range(1, hosts // x + 1):
            if hosts // x % y == 0:
                shape = (x, y, hosts // x // y)
                if max(shape) - min(shape) < max(best) - min(best):
                    best = shape
    return sorted(best)


def fat_tree(hosts):
    """Hosts below each switch, full bisection bandwidth: as many links up as down."""
    below = min(hosts, 32)
    while hosts % below:
        below -= 1
    switches = hosts // below
    return f'topology="FAT_TREE" topo_parameters="2;{below},{switches};1,{below};1,1"'


def cluster(kind, hosts):
    if kind == "torus":
        shape = ",".join(str(extent) for extent in torus_shape(hosts))
        network = f'topology="TORUS" topo_parameters="{shape}" bw="175MBps" lat="3us"'
        loopback = LOOPBACK.format("1GBps", "0.5us")
    else:
        network = fat_tree(hosts) + ' bw="12.5GBps" lat="1us"'
        loopback = LOOPBACK.format("10GBps", "0.3us")
    return (
        f'<cluster id="machine" prefix="host-" suffix="" radical="0-{hosts - 1}" speed="1Gf"\n'
        f'             {network}\n             {loopback} sharing_policy="SPLITDUPLEX"/>'
    )


def write(kind, ranks, directory):
    per_host = RANKS_PER_NODE if kind == "nodes" else 1
    hosts = (ranks + per_host - 1) // per_host
    platform = pathlib.Path(directory) / f"{kind}_{ranks}.xml"
    platform.write_text(
        '<?xml version="1.0"?>\n'
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1">\n  <zone id="world" routing="Full">\n    {cluster(kind, hosts)}\n'
        "  </zone>\n</platform>\n"
    )
    names = (f"host-{rank // per_host}\n" for rank in range(ranks))
    platform.with_suffix(".hosts").write_text("".join(names))
    return platform


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("ranks", type=int)
    parser.add_argument("directory")
    arguments = parser.parse_args()
    print(write(arguments.kind, arguments.ranks, arguments.directory))
