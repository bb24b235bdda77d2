#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds and runs the first example with nothing but `module load valet`.
set -eo pipefail # not -u: the shell code of modules reads variables that may be unset

if [[ "$1" == -h || "$1" == --help || $# -ne 6 ]]; then
  echo "Usage: module_test.sh INIT PREFIX MODULEFILES DOCUMENTS VERSION WORK"
  echo "Called by install_test.cmake; INIT defines the command module."
  [[ "$1" == -* ]] && exit 0 || exit 2
fi
init=$1 prefix=$2 modulefiles=$3 documents=$4 version=$5 work=$6

fail() {
  echo "module_test.sh: $*" >&2
  exit 1
}

# Everything that it sets, as it is without the module.
paths() { echo "$PATH|$LD_LIBRARY_PATH|$CMAKE_PREFIX_PATH|$PKG_CONFIG_PATH"; }

# shellcheck disable=SC1090  # a file of the system
source "$init"
before=$(paths)
module use "$prefix/$modulefiles"
module load valet || fail "it does not load"
module list 2>&1 | grep -qF "valet/$version" || fail "valet/$version is not among those loaded"
# CMake and man would also follow PATH.
[[ "$PATH|$CMAKE_PREFIX_PATH|$MANPATH" == "$prefix/bin:"*"|$prefix"*"|$prefix/"*: ]] ||
  fail "PATH is $PATH, CMAKE_PREFIX_PATH is $CMAKE_PREFIX_PATH, MANPATH is $MANPATH"

first=$prefix/$documents/examples/first
"$CMAKE" -G "$GENERATOR" -S "$first" -B "$work/build" -DMPI_CXX_COMPILER="$MPICXX"
grep -F "Valet_DIR:PATH=$prefix/" "$work/build/CMakeCache.txt" || fail "CMake finds another Valet"
"$CMAKE" --build "$work/build" --target 01_arrays

# Without the paths to libraries that CMake leaves in a program.
flags=()
eval "flags=($(pkg-config --cflags --libs valet))" # it writes a space as the shell does
"$MPICXX" -std=c++20 "$first/01_arrays.cpp" "${flags[@]}" -o "$work/client"
read -ra launch <<<"$MPIEXEC"
for program in "$work/build/01_arrays" "$work/client"; do
  "${launch[@]}" "$program" | grep -F "200 particles are on their ranks" || fail "$program does not run"
done

if [[ "$TOOLS" == ON ]]; then
  [[ $(command -v valet-plan) == "$prefix"/* ]] || fail "PATH leads to no valet-plan"
fi
if [[ -n "$MANUAL" ]] && command -v man >/dev/null; then
  [[ $(man -w valet-plan) == "$prefix/$MANUAL"/* ]] || fail "MANPATH leads to no manual"
fi
module unload valet
[[ $(paths) == "$before" ]] || fail "unloading leaves $(paths), not $before"
