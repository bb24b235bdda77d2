// SPDX-License-Identifier: BSD-3-Clause

// The snippet of the README that needs Kokkos and Zoltan, word for word: see readme_test.cpp.

#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace {

const auto* const environment = ::testing::AddGlobalTestEnvironment(new KokkosEnvironment);

TEST(Readme, PartitionsAndMovesViews) {
  using valet::test::rank;
  using valet::test::size;
  const std::uint64_t capacity = 200;
  std::uint64_t count = rank() == 0 ? 100 : 0;

  Kokkos::View<double*[3]> position("position", capacity), velocity("velocity", capacity);
  Kokkos::View<double*> work("work", capacity);
  for (std::uint64_t s = 0; s < count; ++s) {
    position(s, 0) = static_cast<double>(s);
    velocity(s, 1) = -static_cast<double>(s);
    work(s) = 1;
  }

  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "RCB"});
  rebalancer.coordinates(position);
  rebalancer.weights(work);
  count = rebalancer.rebalance(count, position, velocity, work).count;  // partitioned and moved

  long long wrong = 0;
  for (std::uint64_t s = 0; s < count; ++s)
    wrong += velocity(s, 1) != -position(s, 0) || work(s) != 1;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(count)), 100);
  EXPECT_LE(valet::test::max_over_ranks(static_cast<long long>(count)), 100 / size() + 6);
}

}  // namespace
