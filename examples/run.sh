#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds one example, runs it on all cores and plots its results.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=${1:-particles}
usage() {
  echo "Usage: examples/run.sh [name]"
  echo "Builds an example (default: particles), runs it on all cores and plots its results."
  echo "Examples:"
  find examples -mindepth 2 -maxdepth 2 -name CMakeLists.txt -printf '  %h\n' | sed 's|examples/||' | sort
}

if [[ "$name" == -h || "$name" == --help ]]; then
  usage
  exit 0
fi
if (($# > 1)) || [[ ! "$name" =~ ^[a-z0-9_]+$ ]] || [[ ! -f "examples/$name/CMakeLists.txt" ]]; then
  usage >&2
  exit 2
fi

# shellcheck source=cmake/install_packages.sh
source cmake/install_packages.sh
packages=("${valet_build_packages[@]}" python3-matplotlib)
# The AMR example keeps its forest in p4est.
if [[ "$name" == amr ]]; then
  packages+=(libp4est-dev)
fi
targets=("$name")
if [[ "$name" == block_cyclic ]]; then
  packages+=(libscalapack-openmpi-dev)  # measured beside it
  targets+=(valet-bench)
fi
valet_install_packages "${packages[@]}"

# Without the tests, whose packages may be missing, unless this build tree already has them.
tests=OFF
if grep -qs '^VALET_BUILD_TESTS:[A-Z]*=ON' build/CMakeCache.txt; then
  tests=ON
fi
cmake --preset release -DVALET_BUILD_EXAMPLES=ON -DVALET_BUILD_TESTS="$tests"
cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"

results=build/results/$name
rm -rf "$results"
mkdir -p "$results"

case "$name" in
  resize) ranks=2 ;;  # which start two more
  # What these print, the memory limits and the pictures are for four.
  amr | first | species) ranks=4 ;;
  block_cyclic) ranks=7 ;;  # four producers and three consumers
  *) ranks=$(($(nproc) < 2 ? 2 : $(nproc))) ;;
esac
# Ranks may have to share a core.
mapfile -t options < <(cmake/mpi_options.sh mpirun root oversubscribe yield)
launch=(env "${options[@]}" mpirun -n "$ranks")
# The ranks write to a pipe of the launcher; only this script knows whether it ends at a terminal.
if [[ -t 2 ]]; then
  export VALET_PROGRESS=${VALET_PROGRESS:-on}
fi
program=$PWD/build/bin/$name

if [[ -x "examples/$name/run.sh" ]]; then
  # An example with several programs or runs has a script of its own.
  script=$PWD/examples/$name/run.sh
  (cd "$results" && VALET_BIN=${program%/*} "$script" "${launch[@]}")
else
  programs=("$program")
  if [[ "$name" == first ]]; then
    programs=("${program%/*}"/[01][0-9]_*)
  fi
  for program in "${programs[@]}"; do
    echo "== ${program##*/}"
    (cd "$results" && "${launch[@]}" "$program")
  done
fi

if [[ ! -f "examples/plotting/$name.py" ]]; then
  exit 0  # its results are what it prints
fi
python3 examples/plot.py "$name" "$results"
echo "Results and pictures are in $results:"
find "$results" -type f \( -name '*.png' -o -name '*.svg' -o -name '*.pdf' \) | sort
