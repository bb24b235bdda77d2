# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Hosts that are network namespaces of this one, joined by a switch: processes on different ones reach each
# other by TCP over links of a given rate only. Sourced by tests/hosts/run.sh.

# Prints why there can be no hosts here, if so.
hosts_why_not() {
  local name=valet-$$-try
  if ((EUID != 0)); then echo "not root"; return; fi
  if ! command -v ip >/dev/null || ! command -v tc >/dev/null; then echo "no iproute2"; return; fi
  if ! mpirun --version 2>/dev/null | grep -q 'Open MPI) 4\.'; then echo "mpirun is not that of Open MPI 4"; return; fi
  if ! ip netns add "$name" 2>/dev/null; then echo "no right to make network namespaces"; return; fi
  local tries="ip -n $name link add switch type bridge && ip -n $name link add v type veth peer name w &&
    tc -n $name qdisc add dev v root tbf rate 1gbit burst 128kb latency 20ms && ip netns exec $name unshare --uts true"
  if ! (eval "$tries") 2>/dev/null; then echo "no bridge, veth, tbf or host names in namespaces here"; fi
  ip netns del "$name"
}

# Names have the process in them, so that runs do not meet.
hosts_name() { echo "valet-$$-$1"; } # <number, or "switch">

hosts_remove() { # <process>
  local name
  for name in $(ip netns list | sed -n "s/^\\(valet-$1-[^ ]*\\).*/\\1/p"); do
    # What still runs there, when a run was interrupted.
    ip netns pids "$name" | xargs -r kill -9 2>/dev/null || true
    ip netns del "$name"
  done
}
hosts_down() {
  hosts_remove $$
  rm -rf "${hosts_files:-}" /dev/shm/vader_segment.valet-$$-*
}
# What a run left that was killed.
hosts_remove_old() {
  local process
  for process in $(ip netns list | sed -n 's/^valet-\([0-9]*\)-.*/\1/p' | sort -u); do
    if ! kill -0 "$process" 2>/dev/null; then hosts_remove "$process"; fi
  done
}

# hosts_up <hosts> [rate]...: one rate for each host, the last one for all others too. Both directions of a
# link have it.
hosts_up() {
  local count=$1 rate=1gbit switch host k
  shift
  switch=$(hosts_name switch)
  ip netns add "$switch"
  ip -n "$switch" link add switch type bridge
  ip -n "$switch" link set switch up
  for ((k = 1; k <= count; ++k)); do
    host=$(hosts_name "$k")
    if (($# > 0)); then rate=$1; shift; fi
    ip netns add "$host"
    ip -n "$switch" link add "to$k" type veth peer name wire netns "$host"
    ip -n "$switch" link set "to$k" master switch up
    ip -n "$host" addr add "10.99.0.$k/24" dev wire
    ip -n "$host" link set wire up
    ip -n "$host" link set lo up
    # A link that is down is an error after seconds, not after a quarter of an hour.
    ip netns exec "$host" sysctl -qw net.ipv4.tcp_retries2=4
    hosts_limit "$k" "$rate"
  done
  hosts_files=$(mktemp -d)
  cat >"$hosts_files/agent" <<'AGENT'
#!/usr/bin/env bash
host=$1
shift
exec ip netns exec "$host" unshare --uts bash -c "hostname $host; $*"
AGENT
  chmod +x "$hosts_files/agent"
}

hosts_limit() { # <number> <rate>
  local shape=(root tbf rate "$2" burst 128kb latency 20ms)
  tc -n "$(hosts_name "$1")" qdisc replace dev wire "${shape[@]}"
  tc -n "$(hosts_name switch)" qdisc replace dev "to$1" "${shape[@]}"
}

# hosts_exec <number> <seconds> <command>...: on one host, in the background; exit code 124 after so many
# seconds. `$!` is its process.
hosts_exec() {
  local host seconds=$2
  host=$(hosts_name "$1")
  shift 2
  # shellcheck disable=SC2016
  ip netns exec "$host" unshare --uts bash -c 'hostname "$1"; shift; exec "$@"' hosts "$host" \
    timeout -k 5 "$seconds" "$@" &
}
# What Open MPI's programs need to see the hosts only, and for mpirun to miss a host after seconds: a rank that
# only waits for messages from there is told nothing, and mpirun would ask after five minutes.
hosts_network=(--mca oob_tcp_if_include 10.99.0.0/24 --mca oob_tcp_keepalive_time 10
  --mca oob_tcp_keepalive_intvl 5 --mca oob_tcp_keepalive_probes 4)

# hosts_mpirun <hosts, as 1 or 1,2> <ranks of each> <seconds> <mpirun's options and command>...: a job,
# started on the first of the hosts, in the background.
hosts_mpirun() {
  local ranks=$2 seconds=$3 list="" all k
  IFS=, read -ra all <<<"$1"
  shift 3
  for k in "${all[@]}"; do list+=${list:+,}$(hosts_name "$k"):$ranks; done
  hosts_exec "${all[0]}" "$seconds" \
    mpirun -n $((${#all[@]} * ranks)) --host "$list" --mca plm_rsh_agent "$hosts_files/agent" \
    --mca orte_tmpdir_base "$hosts_files" --mca pml ob1 --mca btl tcp,self,vader \
    --mca btl_tcp_if_include 10.99.0.0/24 "${hosts_network[@]}" "$@"
}

# hosts_run <hosts> <ranks of each> <seconds> <command>...: exit code 124 after so many seconds.
hosts_run() {
  # In the background, so that a signal does not wait for its end.
  hosts_mpirun "$(seq -s, "$1")" "${@:2}"
  wait $!
}
