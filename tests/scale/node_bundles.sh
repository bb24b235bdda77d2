#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Simulates messages between nodes of 32 ranks, one per pair of ranks or bundled by node. Prints a line
# of JSON for each way of node_bundles.cpp.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/scale/node_bundles.sh [NODES [PATTERN [BLOCK_BYTES [MESSAGE_SECONDS]]]]

Simulates messages between nodes of 32 ranks, five blocks per pair of ranks.

  NODES            number of nodes (default: 4)
  PATTERN          all, nodes4, random100 or grid (default: all)
  BLOCK_BYTES      bytes per block (default: 64)
  MESSAGE_SECONDS  time that a message between nodes takes on its sender and on its receiver
                   (default: 0.5e-6)

Takes seconds for 4 nodes and for the pattern grid, minutes for 8 nodes.
USAGE
}

case "${1:-}" in
  -h | --help) usage; exit 0 ;;
esac
nodes=${1:-4} pattern=${2:-all} block_bytes=${3:-64} message_seconds=${4:-0.5e-6}
ranks_a_node=32

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
directory=build/results/scale
mkdir -p "$directory"
program=$directory/node_bundles
if [[ ! $program -nt tests/scale/node_bundles.cpp ]]; then
  smpicxx -std=c++20 -O2 tests/scale/node_bundles.cpp -o "$program"
fi

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cat >"$work/platform.xml" <<PLATFORM
<?xml version='1.0'?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="nodes" prefix="n" suffix="" radical="0-$((nodes - 1))" speed="1Gf" core="$ranks_a_node"
         bw="12.5GBps" lat="0.5us" loopback_bw="10GBps" loopback_lat="0.3us"/>
</zone></platform>
PLATFORM
for ((rank = 0; rank < nodes * ranks_a_node; ++rank)); do
  echo "n$((rank / ranks_a_node))"
done >"$work/hosts"

for way in direct posted leader same shared; do
  TMPDIR=$work smpirun -np $((nodes * ranks_a_node)) -platform "$work/platform.xml" -hostfile "$work/hosts" \
    --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf --cfg=smpi/bw-factor:0:1 \
    --cfg=smpi/lat-factor:0:1 --cfg=network/crosstraffic:0 --cfg=smpi/send-is-detached-thresh:0 \
    --cfg=smpi/grow-injected-times:no --cfg=smpi/test:0 --cfg=smpi/iprobe:0 --log=root.thresh:warning \
    "$program" "$way" "$pattern" "$block_bytes" "$message_seconds"
done
