#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Starts the two jobs, and for Open MPI the server by which they find each other.
set -euo pipefail

if (($# == 0)) || [[ "$1" == -h || "$1" == --help ]]; then
  echo "Usage: VALET_BIN=<folder of the programs> examples/junction/run.sh <launcher>..."
  echo "Starts 4 ranks of the producer and 3 of the consumer, such as by mpirun -n 1."
  if (($# == 0)); then exit 2; fi
  exit 0
fi

# The launcher is for one number of ranks, which is its last word.
launcher=("${@:1:$#-1}")
work=$(mktemp -d)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

options=()
if "${launcher[@]:0:$#-2}" --version 2>&1 | grep -qE "Open MPI|OpenRTE"; then
  if ! command -v ompi-server >/dev/null; then
    echo "skipped: Open MPI has no ompi-server here, which connects its jobs" >&2
    exit 77
  fi
  ompi-server --no-daemonize -r "$work/uri" &
  started+=($!)
  while [[ ! -s "$work/uri" ]]; do sleep 0.1; done
  options=(--ompi-server "file:$work/uri")
elif (($(nproc) < 7)); then
  echo "skipped: ranks of this MPI take a core each while they wait, and there are fewer than 7" >&2
  exit 77
fi
"${launcher[@]}" 4 "${options[@]}" "$VALET_BIN/junction_producer" &
producer=$!
started+=("$producer")
"${launcher[@]}" 3 "${options[@]}" "$VALET_BIN/junction_consumer"
wait "$producer"
