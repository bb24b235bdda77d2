#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Writes the state of the particle code on 4 ranks and goes on with 3, 5 and 2 under a memory limit:
# while the state is read the data of a rank may grow by a tenth. The usual way exceeds this limit,
# and is then measured without it. Called by examples/run.sh in the directory for results, with the
# command that launches a program; its last word is a number of ranks, for which others are taken.
set -euo pipefail

# shellcheck source=examples/support/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/usage.sh"
usage_unless_launched restart "a particle code that goes on with other numbers of ranks" "$@"

launch=("${@:1:$#-1}")
headroom=0.1

run() { # <ranks> <directory> <argument>...
  "${launch[@]}" "$1" "$VALET_BIN/restart" --output "${@:2}"
}

echo "== written on 4 ranks"
run 4 written --write --particles 4000000 --headroom "$headroom"
run 4 written_packed --write --particles 4000000 --exchange packed
for ranks in 3 5 2; do
  echo
  echo "== $ranks ranks, within the limit"
  run "$ranks" "in_place_$ranks" --headroom "$headroom"
  if run "$ranks" refused --exchange packed --headroom "$headroom" >refused.log 2>&1; then
    echo "The limit does not stop the usual way; see refused.log" >&2
    exit 1
  fi
  # Only the message of the program, without what mpirun adds.
  if ! grep '^restart: .*no memory' refused.log; then
    cat refused.log >&2
    exit 1
  fi
  echo "As expected: the usual way does not fit. Without a limit:"
  run "$ranks" "packed_$ranks" --exchange packed
done
rm state.raw  # as large as state.valet, which valet-plan can read
