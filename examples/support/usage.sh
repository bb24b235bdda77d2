# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Prints the usage of an example's script and exits if it was called without a launch command or
# with --help: usage_unless_launched <example> <what it runs> <arguments of the script...>
usage_unless_launched() {
  local name=$1 what=$2 first=${3:-}
  if [[ -n "$first" && "$first" != -h && "$first" != --help ]]; then return 0; fi
  echo "Usage: VALET_BIN=<directory of the programs> examples/$name/run.sh <launch command...>"
  echo "Runs $what; writes the results to the working directory."
  echo "./examples/run.sh $name builds the example, calls this script and plots the results."
  if [[ -n "$first" ]]; then exit 0; fi
  exit 2
}
