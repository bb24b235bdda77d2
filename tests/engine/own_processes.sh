#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a program that sees no process but its own, as in a container. Exit code 77 where this system
# does not let its users have such a namespace.
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/engine/own_processes.sh COMMAND..."
    echo "Runs COMMAND in a namespace of processes of its own."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac
if ! unshare -rpf --mount-proc true; then
  echo "skipped: no namespaces of processes here"
  exit 77
fi
exec unshare -rpf --mount-proc "$@"
