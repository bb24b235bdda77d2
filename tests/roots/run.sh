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
  --record        put what ran into the tables "tested with" of README.md and src/docs/building.md
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

cannot() {
  echo "No clean root of $suite: $*" >&2
  exit 77
}
# What a root needs; sets `mirror`.
check_needs() {
  ((EUID == 0)) || cannot "making one needs root"
  command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
  unshare --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null || cannot "this system refuses to mount"
  if [[ -z "$mirror" ]]; then
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
      sed -n '/security/d; s/^Debian //p' | head -n 1)
    [[ -n "$mirror" ]] || cannot "name a mirror with --mirror"
  fi
}

base=$cache/$suite.base root=$cache/$suite archives=$cache/$suite.packages logs=$cache/$suite.logs

# What debootstrap makes is kept; each run works on a copy.
make_root() {
  mkdir -p "$archives/partial"
  rm -rf --one-file-system "$root" "$logs"
  mkdir -p "$logs"
  if [[ ! -d "$base" ]]; then
    echo "== debootstrap $suite"
    rm -rf "$base.new"
    # A release that this debootstrap does not know is made as unstable is.
    local script=/usr/share/debootstrap/scripts/$suite
    [[ -e "$script" ]] || script=/usr/share/debootstrap/scripts/sid
    debootstrap --variant=minbase "$suite" "$base.new" "$mirror" "$script" >"$logs/debootstrap.log" 2>&1 ||
      cannot "debootstrap failed, see $logs/debootstrap.log"
    mv "$base.new" "$base"
  fi
  cp -a "$base" "$root"
  # The commands of the README are typed by somebody who answers yes. The mirror may be a snapshot.
  cat >"$root/etc/apt/apt.conf.d/90valet" <<'APT'
APT::Get::Assume-Yes "true";
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
Acquire::Check-Valid-Until "false";
APT
}

# in_root <command>: types it in the clone, with mounts and processes of its own and without the variables
# of this environment. Name servers and a proxy are this machine's.
in_root() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  # shellcheck disable=SC2016  # expanded by the inner shell
  # pivot_root, because a system refuses user namespaces, which some tests need, inside of chroot.
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount -t sysfs -o ro sysfs sys &&
      mount --rbind /dev dev && mount -t tmpfs -o mode=1777 shm dev/shm &&
      mount --bind "$2" var/cache/apt/archives && pivot_root . . && umount -l . &&
      exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} bash -c "cd ~/valet; $3"
  ' bash "$root" "$archives" "$1" </dev/null
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
  check_needs
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
