#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Runs tests of the release build on several hosts, which are network namespaces of this one.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/hosts/run.sh [--long]
       tests/hosts/run.sh HOSTS RANKS RATE[,RATE...] COMMAND...

Makes hosts, each a network namespace with a name of its own, joined by a switch, and runs tests of build/
across them with Open MPI 4: maps, blocks of different sizes, all-to-alls, layouts, the drop-in, rebalancing,
node storage; then with slow and unequal links, two jobs that meet, and a link that goes down. Needs root
and iproute2: exits with 77 where there can be no hosts, with 1 if anything failed, else with 0. Takes some
five minutes; --long, with 2 and 3 hosts of 1, 2 and 3 ranks and more maps, an hour.
With arguments: runs COMMAND on HOSTS hosts of RANKS ranks each, with links of RATE, such as 1gbit; of
several rates, one for each host, the last is that of all others.
USAGE
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/hosts/hosts.sh
source tests/hosts/hosts.sh

long=false
case "${1:-}" in
  "") ;;
  --long) long=true ;;
  -h | --help) usage; exit 0 ;;
  *) if (($# < 4)); then usage >&2; exit 2; fi ;;
esac
reason=$(hosts_why_not)
if [[ -n "$reason" ]]; then
  echo "skipped: there can be no hosts here: $reason"
  exit 77
fi
wishes=(root oversubscribe unbound)
if (($# < 4)) || (($1 * $2 > $(nproc))); then wishes+=(yield); fi
mapfile -t options < <(cmake/mpi_options.sh mpirun "${wishes[@]}")
export "${options[@]}"
trap hosts_down EXIT
trap 'exit 130' INT TERM HUP
hosts_remove_old

failed=0
# report <what> <seconds that it took> <exit code> <good: "0", or "error" for any but 0 and 124>
report() {
  local verdict=passed
  case "$4 $3" in
    "0 0") ;;
    "error 0" | "error 124" | "error 137" | "0 "*) verdict=FAILED; failed=$((failed + 1)) ;;
  esac
  printf '%5d s  exit %3d  %s  %s\n' "$2" "$3" "$verdict" "$1"
  if [[ $verdict == FAILED ]]; then tail -n 40 "$hosts_files/log" | sed 's/^/                  | /'; fi
}

# Sets `command` to the program of a test and what selects its files, as CTest knows them.
command_of() { # <test>
  local line
  line=$(ctest --test-dir build -N -V -R "^$1_np[0-9]+\$" | sed -n 's/.*Test command: .*\/tests\/bin\///p' | head -n 1)
  [[ -n "$line" ]] || return 1
  read -ra command <<<"build/tests/bin/${line//\"/}"
}

# try <hosts> <ranks> <cases> <test>...: of a random test, as many cases.
try() {
  local hosts=$1 ranks=$2 cases=$3 test start code
  shift 3
  for test in "$@"; do
    # Left out where what it needs is not there: CTest does not know it then.
    command_of "$test" || continue
    start=$SECONDS code=0
    VALET_TEST_CASES=$cases VALET_TEST_STALL_SECONDS=100 \
      hosts_run "$hosts" "$ranks" 900 "${command[@]}" >"$hosts_files/log" 2>&1 || code=$?
    report "$test on $hosts hosts of $ranks" $((SECONDS - start)) "$code" 0
  done
}

# A link goes down in the middle: MPI has to end the job. Prints its last words.
break_link() { # <test> <seconds until then>
  local start=$SECONDS code=0 job
  command_of "$1" || return 0
  hosts_up 3 100mbit
  VALET_TEST_CASES=1000000 hosts_run 3 1 120 "${command[@]}" >"$hosts_files/log" 2>&1 &
  job=$!
  sleep "$2"
  ip -n "$(hosts_name switch)" link set to2 down
  wait "$job" || code=$?
  report "$1 on 3 hosts, the link of one down after $2 s" $((SECONDS - start)) "$code" error
  grep -m 3 -iE 'error|lost|timed out|no route|unreachable' "$hosts_files/log" | sed 's/^/                  | /' || true
  hosts_down
}

# Two jobs, each on a host of its own, with a junction that they meet at through a port file.
two_jobs() { # <ranks of the one> <ranks of the other>
  local start=$SECONDS program=build/tests/bin/junction_job_program server job put get code=0
  if ! command -v ompi-server >/dev/null; then return; fi
  hosts_up 2 1gbit
  mkdir "$hosts_files/folder"
  hosts_exec 1 300 ompi-server --no-daemonize -r "$hosts_files/uri" "${hosts_network[@]}" 2>"$hosts_files/server"
  server=$!
  while [[ ! -s "$hosts_files/uri" ]]; do sleep 0.1; done
  job=(--ompi-server "file:$hosts_files/uri" "$program")
  hosts_mpirun 1 "$1" 300 "${job[@]}" put steps "$hosts_files/folder" 100 100 >"$hosts_files/put" 2>&1
  put=$!
  hosts_mpirun 2 "$2" 300 "${job[@]}" get steps "$hosts_files/folder" 100 100 >"$hosts_files/get" 2>&1
  get=$!
  wait "$put" || code=$?
  wait "$get" || code=$?
  kill "$server"
  cat "$hosts_files/put" "$hosts_files/get" >"$hosts_files/log"
  if (($(grep -c '^100 steps were right' "$hosts_files/log") != 2)); then code=1; fi
  report "jobs of $1 and $2 ranks, each on a host of its own" $((SECONDS - start)) "$code" 0
  hosts_down
}

if (($# >= 4)); then
  IFS=, read -ra rates <<<"$3"
  hosts_up "$1" "${rates[@]}"
  hosts_run "$1" "$2" 600 "${@:4}"
  exit
fi

tests=(random_maps random_ragged node_storage alltoall layout_redistribute operations_execution junction zoltan_like_stock zoltan_rebalance)
shapes=("2 1" "2 2" "3 1")
cases=40
if $long; then
  tests+=(random_budgets alltoall_methods kokkos_migrate objects_migrate ragged_migrate zoltan_attached_doors
    zoltan_lists_random zoltan_imbalance rebalance_balancer)
  shapes+=("2 3" "3 2" "3 3")
  cases=1000
fi
for shape in "${shapes[@]}"; do
  read -r hosts ranks <<<"$shape"
  hosts_up "$hosts" 1gbit
  try "$hosts" "$ranks" "$cases" "${tests[@]}"
  hosts_down
done
hosts_up 2 10mbit
try 2 1 $((cases / 4)) random_maps random_ragged
hosts_down
hosts_up 3 1gbit 100mbit 10mbit
try 3 1 $((cases / 4)) random_maps random_ragged
hosts_down
two_jobs 4 3
break_link random_maps 4
break_link random_ragged 4
echo "$failed failed"
((failed == 0))
