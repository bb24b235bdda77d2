// SPDX-License-Identifier: BSD-3-Clause

// Kokkos is never initialised in this program.

#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

namespace {

using namespace valet::test;

using View = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

void expect_not_initialized(const valet::BlockStorage& storage, const std::string& words) {
  const std::vector<int> ranks(4, 0);
  expect_error(outcome_of([&] { valet::migrate(MPI_COMM_WORLD, storage, 4, ranks); }),
               valet::ErrorCode::not_initialized, {words});
}

TEST(NotInitialized, IsReportedOnAllRanksByTheFirstCollectiveCall) {
  std::vector<double> memory(4);
  const View view(memory.data(), memory.size());
  const valet::BlockStorage direct = valet::kokkos::blocks(view);
  const valet::BlockStorage staged = valet::kokkos::staged_blocks(view);
  for (const valet::BlockStorage& storage : {direct, staged})
    expect_not_initialized(storage, "Kokkos::initialize()");
}

TEST(NotInitialized, IsReportedForBlocksOfDifferentSizes) {
  std::vector<double> memory(4);
  std::vector<std::uint64_t> lengths(1, 32);
  using Lengths =
      Kokkos::View<std::uint64_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const valet::RaggedField field = valet::kokkos::ragged_field(
      View(memory.data(), memory.size()), Lengths(lengths.data(), lengths.size()));
  const std::vector<int> ranks(1, 0);
  expect_error(
      outcome_of([&] { valet::migrate(MPI_COMM_WORLD, valet::RaggedStorage({field}), 1, ranks); }),
      valet::ErrorCode::not_initialized, {"Kokkos::initialize()"});
}

TEST(NotInitialized, OnOneRankAloneIsAnErrorOnAll) {
  std::vector<double> memory(4);
  const View view(memory.data(), memory.size());
  const valet::BlockStorage storage =
      rank() == size() - 1 ? valet::kokkos::blocks(view)
                           : valet::BlockStorage{valet::field(memory.data(), memory.size())};
  expect_not_initialized(storage, odd_name());
}

}  // namespace
