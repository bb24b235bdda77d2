#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command under the limits of a strict container: 1 GB of addresses, 128 descriptors, stacks of
# 1 MiB, no memory that is locked, no core file.
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/faults/with_limits.sh COMMAND..."
    echo "Runs COMMAND under the limits of a strict container."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac
ulimit -v 1000000 && ulimit -n 128 && ulimit -s 1024 && ulimit -l 0 && ulimit -c 0 || exit 1
exec "$@"
