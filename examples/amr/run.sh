#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs the AMR example under a memory limit that allows migration in place but not out of place, then
# compares its time with MPI_Alltoallv. Called by examples/run.sh in the directory for results, with
# the command that launches a program on four ranks.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched amr "the adaptive mesh in place and out of place under one memory limit" "$@"

launch=("$@")
program=$VALET_BIN/amr
headroom=5M

run() { # <directory> <argument>...
  mkdir -p "$1"
  (cd "$1" && "${launch[@]}" "$program" "${@:2}")
}

echo "== in place, with $headroom of data per rank beside what it has"
run . --headroom "$headroom"
echo
echo "== out of place, with the same limit"
if run out_of_place --headroom "$headroom" --exchange out-of-place --no-vtk \
  >out_of_place.log 2>&1; then
  echo "The limit does not stop the run out of place; see out_of_place.log" >&2
  exit 1
fi
# Only the message of the program, without what mpirun adds.
if ! grep '^amr: out of memory' out_of_place.log; then
  cat out_of_place.log >&2
  exit 1
fi
echo "As expected: the same run does not fit out of place."
echo
echo "== time in place compared with MPI_Alltoallv, without a limit"
run compare --compare --steps 80 --no-vtk
