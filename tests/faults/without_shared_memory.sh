#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command where there is no /dev/shm, and no device but those that every program expects.
# Exit code 77 where this system does not let its users mount anything.
case "${1:-}" in
  "" | -h | --help)
    echo "Usage: tests/faults/without_shared_memory.sh COMMAND..."
    echo "Runs COMMAND where there is no /dev/shm."
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac
if [ "$1" != --inside ]; then
  if unshare -rm mount -t tmpfs none /dev; then
    exec unshare -rm sh "$0" --inside "$@"
  fi
  echo "skipped: /dev cannot be replaced here"
  exit 77
fi
shift
devices=$(mktemp -d) || exit 1
mount -t tmpfs none "$devices" || exit 1
for device in full null random tty urandom zero; do
  touch "$devices/$device" && mount --bind "/dev/$device" "$devices/$device" || exit 1
done
ln -s /proc/self/fd "$devices/fd"
mount --move "$devices" /dev || exit 1
rmdir "$devices"
[ ! -e /dev/shm ] || exit 1
exec "$@"
