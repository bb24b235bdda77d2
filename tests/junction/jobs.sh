#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Two jobs meet: tests/junction/jobs.sh MPIEXEC NUMPROC_FLAG PROGRAM [MPIEXEC_FLAG...]
# Exit code 77 where Open MPI lacks its server.
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/junction/jobs.sh MPIEXEC NUMPROC_FLAG PROGRAM [MPIEXEC_FLAG...]"
    echo "Starts jobs of PROGRAM that meet, or fail to."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac
mpiexec=$1 numproc=$2 program=$3
shift 3
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
folder=$work/folder
mkdir "$folder"
failed=0

# job RANKS OUTPUT accept|connect NAME FOLDER SECONDS
job() {
  ranks=$1 output=$2
  shift 2
  timeout -k 5 60 "$mpiexec" "$numproc" "$ranks" $flags "$program" "$@" >"$output" 2>"$output.err"
}
# expect FILE WORDS
expect() {
  if grep -q -- "$2" "$1"; then return; fi
  echo "no '$2' in $1:"
  head -c 4000 "$1" "$1.err"
  failed=1
}
# Nothing is left of a meeting.
expect_no_files() {
  if [ -z "$(ls -A "$folder")" ]; then return; fi
  echo "left behind after $1: $(ls -A "$folder")"
  rm -f "$folder"/*
  failed=1
}

flags=$*
if "$mpiexec" --version 2>&1 | grep -q -E "Open MPI|OpenRTE"; then
  job 2 "$work/alone" accept here "$folder" 60
  expect "$work/alone" "cannot connect without a server. With Open MPI 4, start ompi-server"
  if ! command -v ompi-server >/dev/null; then
    echo "skipped: Open MPI has no ompi-server here, which connects its jobs"
    exit 77
  fi
  ompi-server --no-daemonize -r "$work/uri" &
  server=$!
  while [ ! -s "$work/uri" ]; do sleep 0.1; done
  flags="$* --ompi-server file:$work/uri"
else
  job 2 "$work/port" accept here "$folder" 0.3
  if grep -q MPI_Open_port "$work/port"; then
    expect "$work/port" "MPICH needs nothing, but has no ports where it is made with UCX"
    echo "skipped: this MPI has no ports"
    exit $((failed == 0 ? 77 : 1))
  elif [ "$(nproc)" -lt 7 ]; then
    echo "skipped: ranks of this MPI take a core each while they wait, and there are fewer than 7"
    exit 77
  fi
fi

job 2 "$work/name" accept a/b "$folder" 60
expect "$work/name" "the name of a meeting of two jobs is 'a/b'; give one"
job 2 "$work/none" connect "" "$folder" 60
expect "$work/none" "the name of a meeting of two jobs is ''; give one"
job 2 "$work/folder_none" connect here "$work/nowhere" 60
expect "$work/folder_none" "the folder '$work/nowhere' for a meeting of two jobs is none; make it"
job 2 "$work/folder_bad" accept here /proc 60
expect "$work/folder_bad" "cannot write a file in the folder '/proc'"

job 2 "$work/nobody" accept here "$folder" 0.3
expect "$work/nobody" "in 0.3 s no job came to 'here' in the folder '$folder'; start the other job"
expect_no_files "a timeout of who accepts"
# Files of a run that was killed: nobody answers there.
printf 'old\nno port\n' >"$folder/here.port"
job 2 "$work/killed" connect here "$folder" 0.3
expect "$work/killed" "in 0.3 s no job that accepts came to 'here' in the folder '$folder'"

printf 'old\nno port\n' >"$folder/here.port"
printf 'old\nolder\n' >"$folder/here.join"
printf 'older\nold\n' >"$folder/here.go"
job 2 "$work/connect" connect here "$folder" 40 &
second=$!
sleep 1
job 3 "$work/accept" accept here "$folder" 40
wait "$second"
expect "$work/accept" "5 ranks, words 11 22"
expect "$work/connect" "5 ranks, words 11 22"
expect_no_files "a meeting"

job 4 "$work/put" put steps "$folder" 40 100 &
second=$!
job 3 "$work/get" get steps "$folder" 40 100
wait "$second"
expect "$work/put" "100 steps were right"
expect "$work/get" "100 steps were right"
expect_no_files "a junction"

# One side is killed in the middle: the other gets an error and ends.
for killed in put get; do
  left=$(echo "put get" | sed "s/ *$killed *//")
  job 3 "$work/killed_$killed" $killed "kill_$killed" "$folder" 3 100000000 &
  first=$!
  job 2 "$work/left_$left" $left "kill_$killed" "$folder" 3 100000000 &
  second=$!
  until grep -q "goes on" "$work/killed_$killed" && grep -q "goes on" "$work/left_$left"; do sleep 0.1; done
  pkill -9 -f "^$program $killed kill_$killed"
  wait "$first" "$second"
  # Killed while it made a connection: Open MPI 4.1 may then not return from MPI_Test, as it says.
  if grep -q "failed to TCP connect to a peer" "$work/left_$left.err"; then continue; fi
  expect "$work/left_$left" "nothing came from other ranks for 3"
done
exit $failed
