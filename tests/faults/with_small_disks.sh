#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command where /dev/shm has 64 KiB and VALET_TEST_SMALL_DISK names a directory that has 16.
# Exit code 77 where this system does not let its users mount anything.
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/faults/with_small_disks.sh COMMAND..."
    echo "Runs COMMAND where /dev/shm and VALET_TEST_SMALL_DISK have a few KiB."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac
if [ -z "$VALET_TEST_SMALL_DISK" ]; then
  VALET_TEST_SMALL_DISK=$(mktemp -d) || exit 1
  export VALET_TEST_SMALL_DISK
  if unshare -rm mount -t tmpfs none "$VALET_TEST_SMALL_DISK"; then
    unshare -rm sh "$0" "$@"
    code=$?
  else
    echo "skipped: no small disk can be mounted here"
    code=77
  fi
  rmdir "$VALET_TEST_SMALL_DISK"
  exit $code
fi
mount -t tmpfs -o size=64k none /dev/shm || exit 1
mount -t tmpfs -o size=16k none "$VALET_TEST_SMALL_DISK" || exit 1
exec "$@"
