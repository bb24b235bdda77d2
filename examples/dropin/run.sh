#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs the same binary with stock Zoltan_Migrate and with HOLD, then the one written for STEPS, five times in turns.
# Called by examples/run.sh in the directory for results, with the launch command as arguments and
# the directory of the programs in VALET_BIN.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched dropin "the unstructured mesh with stock Zoltan_Migrate, HOLD and STEPS" "$@"

side=${DROPIN_SIDE:-500}
rounds=${DROPIN_ROUNDS:-6}
for run in 1 2 3 4 5; do
  "$@" "$VALET_BIN/dropin" "stock_$run" "$side" "$rounds"
  VALET_MIGRATE_METHOD=STREAM "$@" "$VALET_BIN/dropin" "hold_$run" "$side" "$rounds"
  "$@" "$VALET_BIN/dropin_steps" "steps_$run" "$side" "$rounds"
done | tee checksums.txt
if (($(sed 's/.*checksum //' checksums.txt | sort -u | wc -l) != 1)); then
  echo "The runs do not end with the same mesh." >&2
  exit 1
fi
