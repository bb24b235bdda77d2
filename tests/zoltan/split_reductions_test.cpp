// SPDX-License-Identifier: BSD-3-Clause

// A Rebalancer on an MPI that applies operations of the application to a part of a message, for
// which Zoltan is not made.

#include "test_comm.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

TEST(SplitReductions, AreRefusedBeforeZoltanOverwritesMemory) {
  const Outcome outcome = outcome_of([] { const zoltan::Rebalancer rebalancer(MPI_COMM_WORLD); });
  EXPECT_TRUE(same_on_all_ranks(outcome));
  if (size() == 1) return;  // nothing is reduced
  EXPECT_EQ(outcome.code, ErrorCode::invalid_communicator);
  expect_words(outcome.text, {"less than the six integers of a reduction"});
}

}  // namespace
}  // namespace valet::test
