#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Tries the README on a system that has nothing but its packages.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/roots/run.sh [options] bookworm|trixie|sid|... [command...]

Makes a clean root of that Debian release, clones the last commit into it and types the commands of the
README there, as they stand in it: packages, library, installation, a client with find_package, the
examples, the tests. With commands, these instead, each one argument, typed in the clone. A command that
fails does not keep the next ones from being tried.
Needs root, mount, debootstrap and a Debian mirror: exits with 77 where one of them is missing, with 1 if
a command failed, else with 0.

  --list          only print the commands of the README
  --more          after the README's commands, also run the tests with clang, with MPICH and, except on
                  bookworm and trixie, of the MPI ABI
  --record        put what ran into the table "tested with" of README.md
  --keep          keep the root of the run, to look at it; the next run of this release replaces it
  --cache DIR     where roots, packages and logs are kept (default: $XDG_CACHE_HOME/valet/roots)
  --mirror URL    the mirror (default: the one from which this system takes its packages)
USAGE
}

list=false more=false record=false keep=false
cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/valet/roots
mirror=
while (($# > 0)); do
  case "$1" in
    --list) list=true ;;
    --more) more=true ;;
    --record) record=true ;;
    --keep) keep=true ;;
    --cache) cache=${2:?--cache needs a directory}; shift ;;
    --mirror) mirror=${2:?--mirror needs a URL}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "Unknown option: $1" >&2; usage >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
if (($# == 0)) || [[ ! "$1" =~ ^[a-z]+$ ]]; then
  usage >&2
  exit 2
fi
suite=$1
shift
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# shellcheck source=tests/roots/clean_root.sh
source "$source_dir/tests/roots/clean_root.sh"

cannot() {
  echo "No clean root of $suite: $*" >&2
  exit 77
}
base=$cache/$suite.base root=$cache/$suite archives=$cache/$suite.packages logs=$cache/$suite.logs

# What debootstrap makes is kept; each run works on a copy.
make_root() {
  mkdir -p "$archives/partial"
  rm -rf --one-file-system "$root" "$logs"
  mkdir -p "$logs"
  if [[ ! -d "$base" ]]; then
    echo "== debootstrap $suite"
    valet_make_root "$suite" "$base" "$mirror" >"$logs/debootstrap.log" 2>&1 ||
      cannot "debootstrap failed, see $logs/debootstrap.log"
  fi
  cp -a "$base" "$root"
}

# in_root <command>: types it in the clone.
in_root() {
  valet_in_root "$root" "$archives" /var/cache/apt/archives "cd ~/valet; $1"
}

# The blocks of one language below one heading of the README.
readme_blocks() { # <heading> <language>
  awk -v heading="## $1" -v fence="\`\`\`$2" '
    /^## / { here = $0 == heading }
    /^```/ { inside = here && !inside && $0 == fence; next }
    inside' "$source_dir/README.md"
}

# An application of one file, with the CMake code that the README shows.
make_client() {
  mkdir "$root/root/my_code"
  cp "$source_dir/tests/roots/client.cpp" "$root/root/my_code/"
  {
    echo "cmake_minimum_required(VERSION 3.22)"
    echo "project(my_code LANGUAGES CXX)"
    echo "add_executable(my_code client.cpp)"
    readme_blocks Install cmake
  } >"$root/root/my_code/CMakeLists.txt"
}

# Sets `commands` to what is typed.
read_readme() {
  mapfile -t commands < <(
    readme_blocks Install sh
    # shellcheck disable=SC2016
    echo 'cmake -S ~/my_code -B ~/my_code/build -DCMAKE_PREFIX_PATH=$HOME/opt/valet && cmake --build ~/my_code/build'
    echo 'OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 ~/my_code/build/my_code'
    readme_blocks "Try it" sh
  )
  if $more; then
    commands+=("./tests/run.sh --only --clang" "./tests/run.sh --only --mpich")
    # Older releases have no MPI with libmpi_abi.
    [[ "$suite" =~ ^(bookworm|trixie)$ ]] || commands+=("./tests/run.sh --only --abi")
  fi
}

# Types `commands`, says what came of each, and sets `failed`.
type_commands() {
  local command log start code number=0
  failed=0
  for command in "${commands[@]}"; do
    number=$((number + 1))
    log=$logs/$(printf %02d "$number").log
    start=$SECONDS code=0
    in_root "$command" >"$log" 2>&1 || code=$?
    printf '%5d s  exit %3d  %s\n' $((SECONDS - start)) "$code" "$command" | tee -a "$logs/summary"
    if ((code != 0)); then
      failed=$((failed + 1))
      tail -n 15 "$log" | sed 's/^/                  | /'
    fi
  done
}

main() {
  if $list; then
    read_readme
    printf '%s\n' "${commands[@]}"
    return
  fi
  local reason
  if reason=$(valet_why_no_root); then cannot "$reason"; fi
  make_root
  $keep || trap 'rm -rf --one-file-system "$root"' EXIT
  commit=$(git -C "$source_dir" rev-parse --short HEAD)
  [[ -z "$(git -C "$source_dir" status --porcelain)" ]] || echo "Changes that are not committed are not tried." >&2
  git clone -q --no-local "$source_dir" "$root/root/valet"
  in_root "apt-get update" >"$logs/update.log" 2>&1 || cannot "apt-get update failed, see $logs/update.log"
  if (($# > 0)); then
    commands=("$@")
  else
    make_client
    read_readme
  fi
  type_commands
  packages=$(in_root "dpkg-query -W | wc -l")
  echo "$suite at $commit: ${#commands[@]} commands, $failed failed; $packages packages; logs in $logs" | tee -a "$logs/summary"
  if $record; then
    in_root "tests/roots/versions.sh" >"$logs/versions"
    python3 "$source_dir/tests/roots/record.py" "$logs" "$commit"
  fi
  ((failed == 0))
}

# In one line: the script may change while it runs.
main "$@"; exit
