#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs the particles that one file of Zoltan's parameters partitions and moves, in C++, C and Fortran.
# Called by examples/run.sh in the directory for results, with the command that launches a program on
# all cores.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched one_door "particles partitioned and moved as a file of Zoltan's parameters says" "$@"

parameters=$(dirname "${BASH_SOURCE[0]}")/one_door.txt
for program in one_door one_door_c one_door_fortran; do
  if [[ -x "$VALET_BIN/$program" ]]; then
    echo "== $program"
    "$@" "$VALET_BIN/$program" "$parameters" | tee "$program.txt"
  fi
done
