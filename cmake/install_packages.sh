# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Sourced by tests/run.sh and examples/run.sh: the Debian and Ubuntu packages needed to build.

# shellcheck disable=SC2034  # used by the scripts that source this file
valet_build_packages=(
  g++ gfortran cmake ninja-build pkg-config
  libopenmpi-dev openmpi-bin
  libtrilinos-zoltan-dev libtrilinos-kokkos-dev
  libcli11-dev nlohmann-json3-dev libxxhash-dev
  coinor-libcbc-dev
)

valet_is_installed() {
  dpkg -s "$1" 2>/dev/null | grep -q '^Status: .* installed$'
}

# valet_install_packages <package>...: installs missing packages. If none is missing, it does nothing, so
# a second run needs neither network nor root.
valet_install_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg >/dev/null; then
    echo "This is no Debian or Ubuntu: please install the equivalents of: $*" >&2
    return 0
  fi
  for package in "$@"; do
    valet_is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    return 0
  fi

  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "Missing packages: ${missing[*]}" >&2
      echo "Installing them needs root: run this script as root, install sudo, or ask for" >&2
      echo "  apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  # env, because sudo clears the environment.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}
