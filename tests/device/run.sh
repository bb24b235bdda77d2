#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds Valet with a given Kokkos, tests it in the memory of its device and measures it there.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/device/run.sh PREFIX [option...]

Builds what concerns Kokkos into build/device, runs these tests, then compute-sanitizer over them,
then valet-bench device, whose files are in build/results/device. Downloads and installs nothing.
PREFIX is where Kokkos is installed, with CUDA, HIP or SYCL; with a Kokkos of host back ends alone
blocks are in the memory of the host, and there is nothing to sanitize.

  --mpi DIR         MPI is in DIR/bin, not where CMake finds it
  --compiler FILE   the C++ compiler; by default what that Kokkos needs: nvcc_wrapper, hipcc, or
                    the compiler that it was built with
  --arg OPTION      one more argument for CMake, -DKokkos_ROOT=... for instance; may be repeated

Where CMake does not find them, each a source tree or an installation:
  --googletest DIR  for the tests
  --json DIR        nlohmann/json
  --xxhash DIR      xxHash, where xxhash.h is in DIR or DIR/include
  --cli11 DIR       CLI11, for valet-bench

  --sizes LIST      bytes of all ranks together to measure with; 1G,2G,4G,8G
  --ranks LIST      numbers of ranks, which share the device; 2,4
  --repeat N        measurements of each case; 5
  --no-tests        measure only
  --no-sanitizer    do without compute-sanitizer; without this option it must be there
  --no-bench        neither build nor run valet-bench
USAGE
}

fail() {
  echo "tests/device/run.sh: $*" >&2
  exit 2
}

prefix="" mpi="" compiler="" googletest="" json="" xxhash="" cli11=""
sizes=1G,2G,4G,8G ranks=2,4 repeat=5
tests=true sanitizer=true bench=true
more=()
while (($# > 0)); do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --no-tests) tests=false ;;
    --no-sanitizer) sanitizer=false ;;
    --no-bench) bench=false ;;
    --mpi | --compiler | --arg | --googletest | --json | --xxhash | --cli11 | --sizes | --ranks | --repeat)
      (($# > 1)) || fail "$1 needs a value"
      case "$1" in
        --arg) more+=("$2") ;;
        *) printf -v "${1#--}" %s "$2" ;;
      esac
      shift
      ;;
    -*) echo "Unknown argument: $1" >&2; usage >&2; exit 2 ;;
    *)
      [[ -z "$prefix" ]] || fail "one PREFIX, not '$prefix' and '$1'"
      prefix=$1
      ;;
  esac
  shift
done
[[ -n "$prefix" ]] || { usage >&2; exit 2; }

# Paths are those of the caller's directory.
for path in prefix mpi compiler googletest json xxhash cli11; do
  if [[ -n "${!path}" ]]; then
    [[ -e "${!path}" ]] || fail "there is no '${!path}'"
    printf -v "$path" %s "$(realpath -s "${!path}")"
  fi
done
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$PWD/build/device
results=$PWD/build/results/device
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
generator=(-G "Unix Makefiles")
if command -v ninja >/dev/null; then generator=(-G Ninja); fi

# What the installed package of Kokkos says: kokkos_says <variable>
kokkos_says() {
  sed -nE "s/^ *(set|SET)\\($1 +\"?([^\")]*)\"?\\).*/\\2/p" "$kokkos"/KokkosConfig*.cmake | sed -n 1p
}

# Some folders of a system are not for everyone.
config=$(find "$prefix"/lib* -maxdepth 4 -path '*/cmake/Kokkos/KokkosConfig.cmake' 2>/dev/null | sed -n 1p) || true
[[ -n "$config" ]] || fail "no Kokkos is installed in '$prefix': there is no KokkosConfig.cmake"
kokkos=$(dirname "$config")
devices=$(kokkos_says Kokkos_DEVICES)
built_with=$(kokkos_says Kokkos_CXX_COMPILER)

on_device=true
case "$devices" in
  *CUDA*)
    # Clang compiles CUDA itself.
    default_compiler=$prefix/bin/nvcc_wrapper
    if [[ "$(kokkos_says Kokkos_CXX_COMPILER_ID)" == Clang ]]; then default_compiler=$built_with; fi
    ;;
  *HIP*)
    default_compiler=$built_with
    [[ -x "$default_compiler" ]] || default_compiler=$(command -v hipcc) || fail "hipcc is not on the PATH"
    ;;
  *SYCL*) default_compiler=$built_with ;;
  *)
    on_device=false
    default_compiler=""
    ;;
esac
: "${compiler:=$default_compiler}"
[[ -z "$compiler" || -x "$compiler" ]] || fail "the compiler of that Kokkos, '$compiler', cannot be run; give --compiler"
echo "== Kokkos of $kokkos: $devices"

# compute-sanitizer knows CUDA alone. Better to miss it now than after the build.
if ! $tests || [[ "$devices" != *CUDA* ]]; then
  if $tests && $sanitizer; then echo "Not CUDA: compute-sanitizer is not run."; fi
  sanitizer=false
elif $sanitizer && ! command -v compute-sanitizer >/dev/null; then
  fail "compute-sanitizer is not on the PATH; --no-sanitizer does without it"
fi

arguments=(
  -DCMAKE_BUILD_TYPE=Release "-DKokkos_DIR=$kokkos" -DVALET_KOKKOS=ON
  -DVALET_ZOLTAN=OFF -DVALET_P4EST=OFF -DVALET_FORTRAN=OFF -DVALET_SMPI=OFF -DVALET_CBC=OFF
  -DVALET_SCALAPACK=OFF -DVALET_DOCS=OFF -DVALET_BUILD_EXAMPLES=OFF -DVALET_INSTALL=OFF
  "-DVALET_BUILD_TESTS=$tests" "-DVALET_BUILD_TOOLS=$bench"
)
if [[ -n "$compiler" ]]; then arguments+=("-DCMAKE_CXX_COMPILER=$compiler"); fi
# What nvcc makes of a source is not as clean as the source.
if $on_device; then arguments+=(-DVALET_WARNINGS_AS_ERRORS=OFF); fi
if [[ -n "$mpi" ]]; then
  arguments+=("-DMPI_C_COMPILER=$mpi/bin/mpicc" "-DMPI_CXX_COMPILER=$mpi/bin/mpicxx"
    "-DMPIEXEC_EXECUTABLE=$mpi/bin/mpiexec")
fi

# need <name> <directory> <argument of CMake...>: a package of CMake, or its sources, which are
# built with the compiler of the host.
prefixes=()
need() {
  local name=$1 directory=$2
  shift 2
  if [[ -z "$directory" ]]; then return 0; fi
  if [[ ! -f "$directory/CMakeLists.txt" ]]; then
    prefixes+=("$directory")
    return 0
  fi
  echo "== $name of $directory"
  cmake "${generator[@]}" -S "$directory" -B "$build/packages/$name" -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_INSTALL_PREFIX=$build/packages/prefix" "$@" >/dev/null
  cmake --build "$build/packages/$name" --parallel "$jobs" --target install >/dev/null
  prefixes+=("$build/packages/prefix")
}

if $tests; then need googletest "$googletest" -DINSTALL_GTEST=ON; fi
need json "$json" -DJSON_BuildTests=OFF
if $bench; then need cli11 "$cli11" -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF; fi
if [[ -n "$xxhash" ]]; then
  if [[ -f "$xxhash/include/xxhash.h" ]]; then xxhash=$xxhash/include; fi
  arguments+=("-DxxHash_INCLUDE_DIR=$xxhash")
fi
if ((${#prefixes[@]} > 0)); then
  arguments+=("-DCMAKE_PREFIX_PATH=$(IFS=';' && echo "${prefixes[*]}")")
fi

echo "== build"
# Another Kokkos may want another compiler, which a folder that is configured does not take.
if ! grep -qsF "=$kokkos" "$build/CMakeCache.txt"; then rm -f "$build/CMakeCache.txt"; fi
cmake "${generator[@]}" -S . -B "$build" "${arguments[@]}" "${more[@]}"

# All that a folder builds.
build_folder() {
  if [[ -f "$build/build.ninja" ]]; then
    cmake --build "$build" --parallel "$jobs" --target "$1/all"
  else
    cmake --build "$build/$1" --parallel "$jobs"
  fi
}
if $tests; then
  build_folder tests/kokkos
  build_folder tests/device
fi
if $bench; then cmake --build "$build" --parallel "$jobs" --target valet-bench; fi

# More ranks than devices, and perhaps than cores, is what is wanted here.
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
launch=("$mpiexec")
if "$mpiexec" --version 2>&1 | grep -qE 'OpenRTE|Open MPI'; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  launch+=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
fi
# Threads of ranks that share cores must not be bound to the same ones.
export OMP_PROC_BIND=${OMP_PROC_BIND:-false} OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

if $tests; then
  echo "== tests"
  # One after the other: a device has no room for all of them.
  ctest --test-dir "$build" -R '^(kokkos|device)_' --output-on-failure --no-tests=error
fi

if $sanitizer; then
  for program in "$build"/tests/bin/test_kokkos_*; do
    echo "== compute-sanitizer, $(basename "$program") on 2 ranks"
    # MPI asks the driver for what it may not have and can do without.
    # Some of them leave the device alone.
    "${launch[@]}" -n 2 compute-sanitizer --tool memcheck --report-api-errors no \
      --require-cuda-init no --error-exitcode 9 "$program"
  done
fi

if $bench; then
  mkdir -p "$results"
  for count in ${ranks//,/ }; do
    echo "== valet-bench device, $count ranks"
    "${launch[@]}" -n "$count" "$build/bin/valet-bench" device --pattern particles,patches \
      --to next,random --size "$sizes" --repeat "$repeat" --json "$results/ranks_$count.json"
  done
  echo "Figures are in $results."
fi
