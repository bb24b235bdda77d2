#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs the species example with a memory limit: partitioning and migration may take 6 MiB on a rank.
# Two other ways to move the cells exceed this limit; both are then measured without it. Called by
# examples/run.sh in the directory for results, with the command that launches a program on four ranks.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched species "cells with lists of species, with and without a memory limit" "$@"

launch=("$@")
program=$VALET_BIN/species
headroom=6M

run() { # <directory> <argument>...
  "${launch[@]}" "$program" --output "$@"
}

echo "== in place, within the limit"
run . --headroom "$headroom"
for way in packed zoltan; do
  echo
  echo "== $way, with the same limit"
  if run "$way" --exchange "$way" --headroom "$headroom" >"$way.log" 2>&1; then
    echo "The limit does not stop the run $way; see $way.log" >&2
    exit 1
  fi
  # Only the message of the program, without what mpirun adds.
  if ! grep '^species: .*out of memory' "$way.log"; then
    cat "$way.log" >&2
    exit 1
  fi
  echo "As expected: the same run does not fit with $way."
  echo "== $way, without a limit"
  run "$way" --exchange "$way"
done
