// SPDX-License-Identifier: BSD-3-Clause

// Fails on purpose; the test around it looks for the message of the abort.

#include "test_comm.hpp"

#include <mpi.h>

TEST(HarnessAbort, OneRankLeavesBeforeACollective) {
  ASSERT_NE(valet::test::rank(), 1) << "one rank leaves early";
  MPI_Barrier(MPI_COMM_WORLD);
}
