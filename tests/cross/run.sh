#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds the core for aarch64 and runs its tests in an emulator.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/cross/run.sh [--gcc <version>] [<folder>]

Builds the core for aarch64 with the cross compiler of Debian 12, and runs its serial tests and those on
1 and 2 ranks in QEMU. All that it installs, it installs in a Debian of its own in <folder> (default:
build/cross), because an Open MPI for aarch64 replaces that of the machine. A second call builds only what
has changed.
  --gcc <version>  with this GCC (11) instead of the default one; only the library, without the tests

Needs root, the package debootstrap, a Debian mirror and 4 GB.
USAGE
}

gcc='' folder=''
while (($# > 0)); do
  case "$1" in
    --gcc) gcc=-${2:?"--gcc needs a version"}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "Unknown argument: $1" >&2; usage >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
root=$(realpath -m "${folder:-build/cross}")
# shellcheck source=tests/roots/clean_root.sh
source tests/roots/clean_root.sh
if reason=$(valet_why_no_root); then
  echo "No Debian for aarch64: $reason." >&2
  exit 1
fi

# Runs a command in the root, with this source in /valet.
in_root() {
  valet_in_root "$root" "$PWD" /valet "set -eu; $1" "AARCH64_GCC=$gcc" "CMAKE_BUILD_PARALLEL_LEVEL=$jobs" \
    "CTEST_PARALLEL_LEVEL=$jobs"
}

if [[ ! -e "$root/etc/valet_packages" ]]; then
  valet_make_root bookworm "$root"
  in_root 'dpkg --add-architecture arm64
    apt-get update -q
    apt-get install -q --no-install-recommends crossbuild-essential-arm64 qemu-user cmake ninja-build \
      openmpi-bin:arm64 libopenmpi-dev:arm64 libgtest-dev:arm64 libxxhash-dev:arm64 nlohmann-json3-dev
    touch /etc/valet_packages'
fi
if [[ -n "$gcc" ]]; then
  in_root "apt-get install -q --no-install-recommends g++$gcc-aarch64-linux-gnu"
fi

in_root "cmake -G Ninja -S /valet -B /build$gcc --toolchain /valet/tests/cross/aarch64.cmake \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE='-O1 -DNDEBUG' \
  -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' -DVALET_QUICK_BUILD=ON -DVALET_KOKKOS=OFF \
  -DVALET_ZOLTAN=OFF -DVALET_P4EST=OFF -DVALET_PETSC=OFF -DVALET_FORTRAN=OFF -DVALET_DOCS=OFF -DVALET_SMPI=OFF \
  -DVALET_BUILD_TOOLS=OFF -DVALET_BUILD_EXAMPLES=OFF
  cmake --build /build$gcc ${gcc:+--target valet}"
if [[ -z "$gcc" ]]; then
  in_root "ctest --test-dir /build --output-on-failure --no-tests=error \
    -LE '^(slow|long|large|docs|install)\$' -E '_np([3-9]|[0-9][0-9]+)\$'"
fi
