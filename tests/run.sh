#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds Valet and runs its tests, also on a fresh Debian or Ubuntu.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/run.sh [--only] [--long] [--large] [--hosts] [--sanitize] [--clang] [--mpich] [--abi] [--lint]
       tests/run.sh --mutate [folder]

Installs missing packages, builds the release preset in build/ and runs its tests.
  --long      also run the tests labelled "long": 100,000 random maps, 10,000 maps of blocks of
              different sizes, a thousand jobs with delays in MPI, the whole model, every way to move
              attached storage through every door; then, as root, the commands of the README in clean
              roots of Debian 12 and 13 (tests/roots/run.sh)
  --hosts     also run some tests on several hosts, where root may make them of network namespaces
              (tests/hosts/run.sh); --long runs more of them
  --large     also run the tests labelled "large", which need several GB of memory
  --sanitize  then build the libraries with AddressSanitizer and UndefinedBehaviorSanitizer in
              build/sanitize and run their tests not labelled "slow", "long" or "large", but those
              on other numbers of ranks than 3, and random maps on 7
  --clang     then build with clang in build/clang and run the tests not labelled "slow", "long",
              "large", "docs" or "install"; MPI tests run on 2 ranks only
  --mpich     then build with MPICH in build/mpich, without the parts that need a library built
              for another MPI, and run the same tests as --clang. With --clang: one build of the core
              with both, without Views, in build/clang_mpich
  --abi       then build the core for the binary interface of MPI 5 and run its tests with every MPI here
              that has it (tests/abi/run.sh)
  --lint      check the format and the code before the tests, with clang-format 14 and clang-tidy 14,
              and turn compiler warnings into errors
  --only      skip the release preset and its tests; do only what the options above add
  --mutate    instead, find mistakes that the tests do not detect: apply the mutants listed in
              tests/mutants one at a time to a copy in build/mutate and run the tests for each.
              All of them take hours; an interrupted run can be resumed

A random test prints the seed of a failing case. To run this case alone, set VALET_TEST_SEED=<seed>
and VALET_TEST_CASES=1 in the environment of the test program.
USAGE
}

long=false large=false hosts=false sanitize=false clang=false mpich=false abi=false lint=false only=false mutate=false
mutated=()
while (($# > 0)); do
  case "$1" in
    --long) long=true ;;
    --hosts) hosts=true ;;
    --large) large=true ;;
    --sanitize) sanitize=true ;;
    --clang) clang=true ;;
    --mpich) mpich=true ;;
    --abi) abi=true ;;
    --lint) lint=true ;;
    --only) only=true ;;
    --mutate)
      mutate=true
      if [[ -n "${2:-}" && "$2" != -* ]]; then
        mutated=("$2")
        shift
      fi
      ;;
    -h | --help) usage; exit 0 ;;
    *) echo "Unknown argument: $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/install_packages.sh
source cmake/install_packages.sh

packages=("${valet_build_packages[@]}" libgtest-dev python3-matplotlib python3-yaml help2man environment-modules)
if $lint; then
  packages+=(clang-format clang-tidy)
fi
if $long; then
  packages+=(spin debootstrap)
fi
if $hosts || $long; then
  packages+=(iproute2)
fi
if $clang; then
  packages+=(clang)
fi
if $mpich || $abi; then
  # Beside Open MPI, which stays the default: it has the higher priority among Debian's alternatives.
  packages+=(libmpich-dev mpich)
fi
valet_install_packages "${packages[@]}"
# Optional: where there is no such package, the AMR example and its tests are skipped.
valet_install_packages libp4est-dev || echo "Without libp4est-dev the AMR example is not built." >&2
valet_install_packages petsc-dev || echo "Without petsc-dev DMSwarms are not compared with PETSc." >&2
valet_install_packages libscalapack-openmpi-dev ||
  echo "Without libscalapack-openmpi-dev layouts are not compared with ScaLAPACK." >&2
valet_install_packages libsimgrid-dev ||
  echo "Without libsimgrid-dev nothing is simulated at many ranks." >&2
valet_install_packages python3-numpy python3-mpi4py python3-pip ||
  echo "Without python3-mpi4py the Python package is not tested." >&2
valet_install_packages doxygen || echo "Without doxygen the API reference is not built." >&2
jobs=$(nproc)
# Ranks that wait give up their core, so twice as many tests as cores finish a fifth sooner.
tests_at_a_time=$((2 * jobs))

# False in a user's build: compilers that are newer than a release warn of more than we have seen.
warnings_as_errors=$lint
# Random tests go through all of their cases, else half.
if $long; then export VALET_TEST_THOROUGH=1; fi

# part <name> <command>...: runs it. The times of the parts are printed in the end.
part_times=()
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  part_times+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
}
print_part_times() {
  if ((${#part_times[@]} > 0)); then printf '%s\n' "== times" "${part_times[@]}"; fi
}
trap print_part_times EXIT

build() { # <preset>
  local quick=ON
  # Each source alone shows whether it includes what it needs.
  if $long && [[ "$1" == release ]]; then quick=OFF; fi
  cmake --preset "$1" -DVALET_WARNINGS_AS_ERRORS=$warnings_as_errors -DVALET_QUICK_BUILD=$quick
  cmake --build --preset "$1" --parallel "$jobs"
}

# Other versions format differently and have other checks.
llvm_version=14
llvm_tool() { # <name>: prints the program of that version
  if command -v "$1-$llvm_version"; then return; fi
  "$1" --version | grep -q "version $llvm_version\." ||
    { echo "--lint needs $1 $llvm_version (Debian 12: $1)." >&2; return 1; }
  command -v "$1"
}

check_format() {
  local clang_format
  clang_format=$(llvm_tool clang-format)
  find src adapters tests examples -type f \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 2>/dev/null |
    xargs -0 -r "$clang_format" --dry-run -Werror
}

check_code() {
  local clang_tidy
  clang_tidy=$(llvm_tool clang-tidy)
  cmake --preset tidy
  # An adapter that is not built here has no command.
  sed -n 's/^ *"file": "\(.*\.\(cpp\|cxx\)\)".*/\1/p' build/tidy/compile_commands.json |
    xargs -d '\n' -n 1 -P "$jobs" "$clang_tidy" -p build/tidy --quiet 2> >(grep -v ' warnings\? generated\.$' >&2)
}

if $mutate; then
  exec python3 tests/mutants/run.py "${mutated[@]}"
fi

# Builds <preset> and runs its tests, those that the preset names.
test_preset() { # <preset> <what>
  part "build with $2" build "$1"
  part "tests with $2" ctest --preset "$1" --parallel "$tests_at_a_time"
}

# Cheapest first.
if $lint; then part clang-format check_format; fi
if ! $only; then part build build release; fi
if $lint; then part clang-tidy check_code; fi

if ! $only; then
  excluded=()
  $long || excluded+=(long)
  $large || excluded+=(large)
  selection=()
  if ((${#excluded[@]} > 0)); then
    selection=(-LE "^($(IFS='|' && echo "${excluded[*]}"))\$")
  fi
  part tests ctest --preset release --parallel "$tests_at_a_time" "${selection[@]}"
fi

# Where this system lets it.
optional() {
  local code=0
  "$@" || code=$?
  ((code == 0 || code == 77))
}
if $long; then
  part "tests on several hosts" optional tests/hosts/run.sh --long
elif $hosts; then
  part "tests on several hosts" optional tests/hosts/run.sh
fi

if $sanitize; then test_preset sanitize sanitizers; fi
if $clang && $mpich; then
  test_preset clang_mpich "clang and MPICH"
elif $clang; then
  test_preset clang clang
elif $mpich; then
  test_preset mpich MPICH
fi
if $abi; then part "the MPI ABI" tests/abi/run.sh; fi

# The README in clean systems.
if $long && ! $only; then
  part "a clean Debian 12" optional tests/roots/run.sh bookworm
  part "a clean Debian 13" optional tests/roots/run.sh --more trixie
fi
