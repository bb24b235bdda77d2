// SPDX-License-Identifier: BSD-3-Clause

// The snippets of docs/cabana.md: they are compiled as they stand there, and do what it says.

#include "particles.hpp"

namespace {

using namespace valet::test;

Ranks thirty_to_the_next() {
  Ranks ranks("export_ranks", 40);
  for (std::size_t k = 0; k < 40; ++k) ranks(k) = k < 10 ? -1 : (rank() + 1) % size();
  return ranks;
}

TEST(CabanaSnippets, OfRanks) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  Particles<16> some(40);
  auto& particles = some.aosoa;
  const auto export_ranks = thirty_to_the_next();

  valet::Report report = valet::cabana::migrate(comm, particles, export_ranks);

  EXPECT_EQ(particles.size(), 30U);
  EXPECT_EQ(report.blocks_dropped, 10U);
}

TEST(CabanaSnippets, OfADistributor) {
  const Distributor distributor(MPI_COMM_WORLD, thirty_to_the_next());
  Particles<16> some(40);
  auto& particles = some.aosoa;

  valet::cabana::migrate(distributor, particles);

  EXPECT_EQ(particles.size(), 30U);
  EXPECT_EQ(some.origin(0).rank, (rank() + size() - 1) % size());
}

TEST(CabanaSnippets, OfAStorage) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  Particles<16> some(40);
  auto& particles = some.aosoa;
  const std::vector<int> ranks(40, (rank() + 1) % size());
  const valet::Options options;

  valet::Plan plan = valet::plan_to_ranks(comm, valet::cabana::blocks(particles), particles.size(),
                                          ranks, options);
  const valet::Report report = valet::execute(plan, valet::cabana::blocks(particles));
  particles.resize(report.blocks_after);

  EXPECT_EQ(particles.size(), 40U);
  EXPECT_EQ(some.origin(0).rank, (rank() + size() - 1) % size());
}

}  // namespace
