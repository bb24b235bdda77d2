// SPDX-License-Identifier: BSD-3-Clause

// Planning asks about shared memory only ranks that are on the same node, and nobody where sharing
// is not wanted.

#include "mpi/tags.hpp"
#include "test_comm.hpp"

#include <mpi.h>

namespace valet::test {
namespace {

std::vector<int> asked;    ///< ranks that this one sent a message about its node to
int ranks_on_node = 1000;  ///< neighbouring ranks that MPI says to share memory

/// Migrates one block from each rank to each, over a communicator that is new.
void migrate_all_to_all(const Options& options) {
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::uint64_t> blocks(ranks);
  std::vector<int> map(ranks);
  for (int r = 0; r < size(); ++r) {
    map[static_cast<std::size_t>(r)] = r;
    blocks[static_cast<std::size_t>(r)] = static_cast<std::uint64_t>(100 * rank() + r);
  }
  asked.clear();
  migrate(fresh, BlockStorage{field(std::span(blocks))}, ranks, map, options);
  MPI_Comm_free(&fresh);
  std::ranges::sort(blocks);
  for (int r = 0; r < size(); ++r)
    EXPECT_EQ(blocks[static_cast<std::size_t>(r)], static_cast<std::uint64_t>(100 * r + rank()));
  std::ranges::sort(asked);
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
}

std::vector<int> others_on_node() {
  std::vector<int> ranks;
  for (int r = 0; r < size(); ++r)
    if (r != rank() && r / ranks_on_node == rank() / ranks_on_node) ranks.push_back(r);
  return ranks;
}

TEST(NodeMessages, GoToRanksOfTheNodeAndToNobodyElse) {
  for (const int on_node : {1000, 2, 1}) {
    ranks_on_node = on_node;
    migrate_all_to_all({});
    EXPECT_EQ(asked, others_on_node()) << on_node;
  }
  ranks_on_node = 1000;
}

TEST(NodeMessages, AreNotSentWhereNobodyWantsToShare) {
  const Options options{.share_memory = false};
  migrate_all_to_all(options);
  EXPECT_EQ(asked, std::vector<int>{});
}

// Several of them are on their way from slots at once, which an assertion looks at.
TEST(MessagesBetweenNodes, LeaveTheirSlotsBeforeOthersAreReceivedThere) {
  ranks_on_node = 1;
  using Block = std::array<std::uint64_t, 2048>;
  constexpr std::uint64_t count = 512, wait_for_last_holes = 32;
  std::vector<Block> blocks(count);
  for (std::uint64_t slot = 0; slot < count; ++slot)
    blocks[slot].fill(1000 * static_cast<std::uint64_t>(rank()) + slot);
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  const std::vector<int> map(count, (rank() + 1) % size());
  migrate(fresh, BlockStorage{field(std::span(blocks))}, count, map, {.method = Method::stream});
  MPI_Comm_free(&fresh);
  const auto source = static_cast<std::uint64_t>((rank() + size() - 1) % size());
  const std::uint64_t shift = size() > 1 ? wait_for_last_holes : 0;
  for (std::uint64_t slot = 0; slot < count; ++slot) {
    Block expected;
    expected.fill(1000 * source + (slot + shift) % count);
    EXPECT_EQ(blocks[slot], expected) << slot;
  }
  ranks_on_node = 1000;
}

}  // namespace
}  // namespace valet::test

extern "C" {
__attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count,
                                                     MPI_Datatype type, int destination, int tag,
                                                     MPI_Comm comm, MPI_Request* request) {
  if (tag == valet::mpi::tag_node) valet::test::asked.push_back(destination);
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}
__attribute__((visibility("default"))) int MPI_Comm_split_type(MPI_Comm comm, int, int key,
                                                               MPI_Info, MPI_Comm* node) {
  return PMPI_Comm_split(comm, valet::test::rank() / valet::test::ranks_on_node, key, node);
}
}
