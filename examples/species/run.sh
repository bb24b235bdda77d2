#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# The species example with 6 MiB for everything that partition and migration take on a rank, and two
# other ways to move the cells that this limit stops. What these take is measured without the limit.
# Called by examples/run.sh in the directory for results, with the command that launches a program on
# four ranks.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched species "Cells with lists of species, with and without their memory limit" "$@"

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
  # Without what mpirun adds to it.
  if ! grep '^species: .*out of memory' "$way.log"; then
    cat "$way.log" >&2
    exit 1
  fi
  echo "As expected: the same run does not fit with $way."
  echo "== $way, without a limit"
  run "$way" --exchange "$way"
done
