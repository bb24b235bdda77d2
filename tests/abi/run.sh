#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds the core once against the binary interface that MPI 5 defines (libmpi_abi) and runs its tests with
# every MPI here that has it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/abi/run.sh

Builds the core, C and its tests in build/abi with the headers and the library libmpi_abi of one MPI, and
runs the tests of tests/run.sh --mpich with the libmpi_abi and the launcher of each MPI that has one: Open MPI
6 and MPICH 5, from the packages of Debian. The compiler wrappers for it are made here.
USAGE
}
case "${1:-}" in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$PWD/build/abi
system=$(dirname "$(c++ -print-file-name=libc.so.6)")
header=$(find "$system" -path '*abi*' -name mpi.h -exec grep -ql MPI_ABI_VERSION {} \; -print -quit)
[[ -n "$header" ]] || { echo "There is no mpi.h of the ABI of MPI 5 below $system." >&2; exit 1; }

# As mpicc_abi, which packages may leave out; CMake asks with these options.
mkdir -p "$build/wrappers"
for name in cc c++; do
  cat >"$build/wrappers/mpi$name" <<WRAPPER
#!/bin/sh
case "\$*" in
  *-showme:compile*) echo "-I${header%/*}" ;;
  *-showme:link*) echo "-L$build/first -lmpi_abi" ;;
  *-show*) exit 1 ;;
  *) exec $name "-I${header%/*}" "\$@" "-L$build/first" -lmpi_abi ;;
esac
WRAPPER
  chmod +x "$build/wrappers/mpi$name"
done

launchers=()
for mpi in openmpi mpich; do
  library=$(find "$system" -maxdepth 1 -name "libmpi_abi_$mpi.so.*" -print -quit)
  if [[ -z "$library" ]] || ! command -v "mpiexec.$mpi" >/dev/null; then continue; fi
  # The name by which programs look for it.
  mkdir -p "$build/$mpi"
  ln -sf "$library" "$build/$mpi/libmpi_abi.so.1"
  ln -sf "$library" "$build/$mpi/libmpi_abi.so"
  launchers+=("$mpi")
done
((${#launchers[@]} > 0)) || { echo "No MPI here has libmpi_abi." >&2; exit 1; }
ln -sfn "$build/${launchers[0]}" "$build/first"

for mpi in "${launchers[@]}"; do
  export LD_LIBRARY_PATH=$build/$mpi
  cmake --preset abi "-DMPI_C_COMPILER=$build/wrappers/mpicc" "-DMPI_CXX_COMPILER=$build/wrappers/mpic++" \
    "-DMPIEXEC_EXECUTABLE=$(command -v "mpiexec.$mpi")"
  # With the second MPI only programs that start jobs are built again.
  cmake --build --preset abi --parallel "$(nproc)"
  echo "== tests of the MPI ABI with $mpi"
  ctest --preset abi --parallel "$((2 * $(nproc)))"
done
