// SPDX-License-Identifier: BSD-3-Clause

#include "storage/node_memory.hpp"

#include "base/machine_identity.hpp"
#include "mpi/channel.hpp"
#include "test_comm.hpp"

namespace valet::storage {
namespace {

using namespace valet::test;

std::vector<int> everyone_else() {
  std::vector<int> ranks;
  for (int other = 0; other < size(); ++other)
    if (other != rank()) ranks.push_back(other);
  return ranks;
}

class NodeMemories : public testing::Test {
 protected:
  void SetUp() override {
    const storage::SharedMemory probe = storage::SharedMemory::create(4096);
    if (!all_ranks(machine_identity() != 0 && probe.data() != nullptr))
      GTEST_SKIP() << "no memory to share on this system";
  }

  void connect(storage::NodeMemory& node, const std::vector<int>& destinations,
               const std::vector<int>& sources, std::size_t allowance) {
    storage::NodeWish wish(channel_, ledger_, destinations, sources);
    wish.allowance = allowance;
    node.connect(channel_, wish);
  }

  Ledger ledger_;
  mpi::Channel channel_ = mpi::Channel::open(MPI_COMM_WORLD);
};

TEST_F(NodeMemories, WhatADestinationReadsIsWhatItsSourcesWrote) {
  storage::NodeMemory node(ledger_);
  const std::vector<int> others = everyone_else();
  connect(node, others, others, 4096);
  ASSERT_EQ(node.own().size(), size() == 1 ? 0U : 4096U);
  for (const int other : others) {
    EXPECT_TRUE(node.is_written_by(other));
    ASSERT_NE(node.of(other), nullptr);
    std::memset(node.of(other) + 8 * rank(), rank() + 1, 8);
  }
  EXPECT_FALSE(node.is_written_by(rank()));
  EXPECT_EQ(node.of(rank()), nullptr);
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int other : others)
    for (int byte = 0; byte < 8; ++byte)
      EXPECT_EQ(node.own()[static_cast<std::size_t>(8 * other + byte)],
                static_cast<std::byte>(other + 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(NodeMemories, NobodyMapsMoreThanItAllowed) {
  // Each rank sends to all ranks above it, and allows another number of bytes.
  const auto allowance_of = [](int of) { return 4096 * (static_cast<std::size_t>(of) % 3 + 1); };
  std::vector<int> above, below;
  for (const int other : everyone_else()) (other > rank() ? above : below).push_back(other);
  storage::NodeMemory node(ledger_);
  connect(node, above, below, allowance_of(rank()));
  std::size_t least = allowance_of(rank());
  for (const int source : below) least = std::min(least, allowance_of(source));
  EXPECT_EQ(node.own().size(), below.empty() ? 0 : least);
  EXPECT_EQ(node.shares(), size() > 1);
}

TEST_F(NodeMemories, ARankThatTakesNoPartDisturbsNobody) {
  const auto takes_part = [](int of) { return of % 2 == 0; };
  storage::NodeMemory node(ledger_);
  const std::vector<int> others = everyone_else();
  connect(node, others, others, takes_part(rank()) ? 8192 : 0);
  for (const int other : others) {
    const bool both = takes_part(rank()) && takes_part(other);
    EXPECT_EQ(node.is_written_by(other), both) << other;
    EXPECT_EQ(node.of(other) != nullptr, both) << other;
  }
}

TEST_F(NodeMemories, CountTheOwnSegmentAndGiveItBack) {
  const std::size_t before = ledger_.current_bytes();
  {
    storage::NodeMemory node(ledger_);
    const std::vector<int> others = everyone_else();
    connect(node, others, others, 40'960);
    EXPECT_EQ(ledger_.current_bytes() - before >= 40'960, size() > 1);
  }
  EXPECT_EQ(ledger_.current_bytes(), before);
}

}  // namespace
}  // namespace valet::storage
