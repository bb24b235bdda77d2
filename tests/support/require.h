/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_TEST_REQUIRE_H
#define VALET_TEST_REQUIRE_H

/* What a client in C expects of Valet; it exits with a code if there are failures. */

#include <valet/valet.h>

#include <stdio.h>

static int failures = 0;

static void require(int condition, const char* what) {
  int self = -1;
  if (condition) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  fprintf(stderr, "rank %d: %s (%s)\n", self, what, Valet_Error_message());
  ++failures;
}

#endif
