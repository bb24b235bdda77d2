#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds Valet with a given Kokkos, and tests and measures it in device memory.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/device/run.sh PREFIX [option...]

Builds the Kokkos parts of Valet in build/device, runs their tests, runs the tests again under
compute-sanitizer, then runs valet-bench device, which writes to build/results/device. Downloads
and installs nothing. PREFIX is the installation prefix of Kokkos with CUDA, HIP or SYCL. With host
back ends only, blocks are in host memory and compute-sanitizer is not run.

  --mpi DIR         use the MPI in DIR/bin instead of the one that CMake finds
  --compiler FILE   C++ compiler (default: the one that this Kokkos needs: nvcc_wrapper, hipcc, or
                    the compiler that it was built with)
  --arg OPTION      additional argument for CMake, such as -DKokkos_ROOT=...; may be repeated

Dependencies that CMake does not find by itself, each as a source tree or an installation:
  --googletest DIR  GoogleTest, for the tests
  --json DIR        nlohmann/json
  --xxhash DIR      xxHash, with xxhash.h in DIR or DIR/include
  --cli11 DIR       CLI11, for valet-bench

  --sizes LIST      total bytes of all ranks to measure with (default: 1G,2G,4G,8G)
  --ranks LIST      numbers of ranks, which share the device (default: 2,4)
  --repeat N        number of measurements of each case (default: 5)
  --no-tests        measure only
  --no-sanitizer    do not run compute-sanitizer, which is required otherwise
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

# Paths are relative to the caller's directory.
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

# A variable of the installed CMake package of Kokkos: kokkos_says <variable>
kokkos_says() {
  sed -nE "s/^ *(set|SET)\\($1 +\"?([^\")]*)\"?\\).*/\\2/p" "$kokkos"/KokkosConfig*.cmake | sed -n 1p
}

# find may fail on directories that are not readable.
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

# compute-sanitizer supports only CUDA. Check for it now rather than after the build.
if ! $tests || [[ "$devices" != *CUDA* ]]; then
  if $tests && $sanitizer; then echo "Not CUDA: compute-sanitizer is not run."; fi
  sanitizer=false
elif $sanitizer && ! command -v compute-sanitizer >/dev/null; then
  fail "compute-sanitizer is not on the PATH; --no-sanitizer does without it"
fi

arguments=(
  -DCMAKE_BUILD_TYPE=Release "-DKokkos_DIR=$kokkos" -DVALET_KOKKOS=ON
  -DVALET_ZOLTAN=OFF -DVALET_P4EST=OFF -DVALET_PETSC=OFF -DVALET_FORTRAN=OFF -DVALET_SMPI=OFF -DVALET_CBC=OFF
  -DVALET_SCALAPACK=OFF -DVALET_DOCS=OFF -DVALET_BUILD_EXAMPLES=OFF -DVALET_INSTALL=OFF
  "-DVALET_BUILD_TESTS=$tests" "-DVALET_BUILD_TOOLS=$bench"
)
if [[ -n "$compiler" ]]; then arguments+=("-DCMAKE_CXX_COMPILER=$compiler"); fi
if [[ -n "$mpi" ]]; then
  arguments+=("-DMPI_C_COMPILER=$mpi/bin/mpicc" "-DMPI_CXX_COMPILER=$mpi/bin/mpicxx"
    "-DMPIEXEC_EXECUTABLE=$mpi/bin/mpiexec")
fi

# need <name> <directory> <argument of CMake...>: adds an installed package, or builds and installs its
# sources with the host compiler.
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
# Another Kokkos may need another compiler, which cannot be changed in a configured build directory.
if ! grep -qsF "=$kokkos" "$build/CMakeCache.txt"; then rm -f "$build/CMakeCache.txt"; fi
cmake "${generator[@]}" -S . -B "$build" "${arguments[@]}" "${more[@]}"

# All targets of a directory.
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

# More ranks than devices, and perhaps than cores, are intended here.
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
mapfile -t options < <(cmake/mpi_options.sh "$mpiexec" root oversubscribe unbound yield)
launch=(env "${options[@]}" "$mpiexec")
# Threads of ranks that share cores must not be bound to the same cores.
export OMP_PROC_BIND=${OMP_PROC_BIND:-false} OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

if $tests; then
  echo "== tests"
  # One at a time: the device memory is too small for all of them.
  ctest --test-dir "$build" -R '^(kokkos|device)_' --output-on-failure --no-tests=error
fi

if $sanitizer; then
  for program in "$build"/tests/bin/*kokkos*; do
    echo "== compute-sanitizer, $(basename "$program") on 2 ranks"
    # MPI makes driver calls that may fail without consequences, hence --report-api-errors no.
    # Some of the programs do not use the device, hence --require-cuda-init no.
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
