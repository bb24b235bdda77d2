#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

set -euo pipefail

if (($# > 0)); then
  echo "Usage: tests/roots/versions.sh"
  echo "Prints the versions of what Valet was built and tested with on this system, a line name=value each."
  [[ "$1" == -h || "$1" == --help ]]
  exit
fi

version_of() { # <program>: the first thing in what it says of itself that looks like a version
  command -v "$1" >/dev/null || return 0
  "$1" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+((rc|b)[0-9]+)?' | head -n 1
}

version_of_package() { # <package>
  dpkg-query -W -f '${Version}' "$1" 2>/dev/null | sed 's/^[0-9]*://; s/[-+~].*//' || true
}

# shellcheck source=/dev/null
source /etc/os-release
echo "system=${PRETTY_NAME#Debian GNU/Linux }"
echo "GCC=$(version_of g++)"
echo "clang=$(version_of clang++)"
echo "Open MPI=$(version_of mpirun.openmpi)"
echo "MPICH=$(version_of mpichversion)"
echo "CMake=$(version_of cmake)"
echo "Trilinos=$(version_of_package libtrilinos-zoltan-dev)"
echo "p4est=$(version_of_package libp4est-dev)"
