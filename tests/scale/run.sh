#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause

# Builds the driver of the scale study, runs the study on simulated machines and plots the results.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/scale/run.sh [--full] [argument of study.py...]

Runs the quick set in a few minutes. The exit status is the verdict.
  --full  run up to 256 ranks, or 1024 for sparse patterns, and MADRE's five experiments; takes hours
USAGE
}

case "${1:-}" in
  -h | --help) usage; exit 0 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=cmake/install_packages.sh
source cmake/install_packages.sh
valet_install_packages "${valet_build_packages[@]}" libgtest-dev libsimgrid-dev python3-matplotlib

# Only the target that is needed.
cmake --preset release -DVALET_SMPI=ON >/dev/null
cmake --build build --parallel "$(nproc)" --target valet_scale

results=build/results/scale
verdict=0
python3 tests/scale/study.py --results "$results" "$@" || verdict=$?
if [[ -f "$results/scale.json" ]]; then
  python3 examples/plot.py scale "$results"
fi
exit "$verdict"
