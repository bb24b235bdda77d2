#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command under the limits of a strict container: 1 GB of addresses, 128 descriptors, stacks of
# 1 MiB, no memory that is locked, no core file.
ulimit -v 1000000 && ulimit -n 128 && ulimit -s 1024 && ulimit -l 0 && ulimit -c 0 || exit 1
exec "$@"
