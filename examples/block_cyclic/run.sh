#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Passes a matrix from 4 ranks to 3 others, then measures a larger one between the same layouts beside
# ScaLAPACK's pdgemr2d, on 4 ranks. Called by examples/run.sh in the directory for results, with the
# command that launches a program; its last word is a number of ranks.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched block_cyclic "a matrix passed between process grids, and pdgemr2d beside it" "$@"

launch=("${@:1:$#-1}")
"${launch[@]}" 7 "$VALET_BIN/block_cyclic"
for run in 1 2 3 4 5; do
  echo "== 4096 x 4096, run $run of 5"
  "${launch[@]}" 4 "$VALET_BIN/valet-bench" layout --study data --move 64x64:2x2:100x80:1x3 --repeat 9 \
    --json "peers_$run.json"
done
