# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Ends the script of an example with its usage where no command launches ranks, or help is asked
# for: usage_unless_launched <example> <what it runs> <arguments of the script...>
usage_unless_launched() {
  local name=$1 what=$2 first=${3:-}
  if [[ -n "$first" && "$first" != -h && "$first" != --help ]]; then return 0; fi
  echo "Usage: VALET_BIN=<directory of the programs> examples/$name/run.sh <command that launches ranks>"
  echo "$what: writes its results here."
  echo "./examples/run.sh $name builds it, calls this and draws the results."
  if [[ -n "$first" ]]; then exit 0; fi
  exit 2
}
