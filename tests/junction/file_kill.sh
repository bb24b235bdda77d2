#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause

# Kills a job at one write after the other, on any of its ranks: the old file is there, whole, until all
# of the new one is.
#
# PLAN is valet-plan, which tells what is in the file in the end, or empty.
set -eu
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/junction/file_kill.sh KILLS PLAN MPIEXEC NUMPROC_FLAG PROGRAM [MPIEXEC_FLAG...]"
    echo "Starts jobs of PROGRAM that write a file and are killed at one write after the other."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac

kills=$1 plan=$2 mpiexec=$3 numproc_flag=$4 program=$5
shift 5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
file=$folder/state.valet

run() { # <ranks> <argument>...
  ranks=$1
  shift
  timeout 60 "$mpiexec" "$numproc_flag" "$ranks" $flags "$program" "$file" "$@" 2>"$folder/errors"
}
flags=$*

fail() {
  echo "$1" >&2
  cat "$folder/errors" >&2
  exit 1
}

writes=$(run 2 write 1)
[ "$writes" -gt 8 ] || fail "rank 0 writes only $writes times"
number=0
while [ "$number" -lt "$kills" ]; do
  # All over the writes, the last ones too; rank 1 has fewer.
  at=$((1 + number * (writes - 1) / (kills - 1)))
  if run 2 write 2 "$at" $((number % 4 == 3)) >"$folder/out"; then
    [ "$number" -eq 0 ] || [ $((number % 4)) -eq 3 ] || fail "nobody was killed at write $at of $writes"
    run 2 write 1 >"$folder/out"  # rank 1 had no such write
  else
    found=$(run 1 read) || fail "after a kill at write $at: $found"
    [ "$found" = 1 ] || fail "after a kill at write $at of $writes the file has step $found"
  fi
  number=$((number + 1))
done
[ "$(run 2 write 3)" = "$writes" ] || fail "it could not be written again"
[ "$(run 1 read)" = 3 ] || fail "the new file is not there"
if [ -n "$plan" ]; then
  "$plan" "$file" >"$folder/out" 2>"$folder/errors" || fail "valet-plan cannot read it"
  grep -q "written by 2 ranks" "$folder/out" && grep -q "blocks *800000 *3200000 *?:4" "$folder/out" ||
    fail "$(cat "$folder/out")"
fi
echo "killed $kills times, $writes writes"
