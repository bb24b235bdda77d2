#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs the particle example with a memory limit: during a rebalance the data of a rank may grow by a
# quarter. Two other ways exceed this limit: Zoltan partitioning individual particles, and these moved
# by Zoltan_Migrate; both are then measured without it. Called by examples/run.sh in the directory for
# results, with the command that launches a program on all cores.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched particles "the particle example with and without its memory limit" "$@"

launch=("$@")
program=$VALET_BIN/particles
headroom=0.25

run() { # <directory> <argument>...
  "${launch[@]}" "$program" --output "$@"
}

refused() { # <name> <argument>...
  if run "$1" --headroom "$headroom" "${@:2}" >"$1.log" 2>&1; then
    echo "The limit does not stop the run $1; see $1.log" >&2
    exit 1
  fi
  # Only the message of the program, without what mpirun adds.
  if ! grep '^particles: .*memory' "$1.log"; then
    cat "$1.log" >&2
    exit 1
  fi
  echo "As expected: the same run does not fit with $1."
}

echo "== in place, by cells of particles, within the limit"
run . --headroom "$headroom"
for way in every_particle packed; do
  arguments=(--granularity 1)
  if [[ "$way" == packed ]]; then
    arguments+=(--exchange packed)
  fi
  echo
  echo "== $way, with the same limit"
  refused "$way" "${arguments[@]}"
  echo "== $way, without a limit"
  run "$way" "${arguments[@]}"
done
