// SPDX-License-Identifier: BSD-3-Clause

// Kokkos is never initialised in this program.

#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

namespace {

using namespace valet::test;

using View = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

std::string message_of_migration(const valet::BlockStorage& storage) {
  const std::vector<int> ranks(4, 0);
  try {
    valet::migrate(MPI_COMM_WORLD, storage, 4, std::span<const int>(ranks));
  } catch (const valet::Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "no error";
}

TEST(NotInitialized, IsReportedOnAllRanksByTheFirstCollectiveCall) {
  std::vector<double> memory(4);
  const View view(memory.data(), memory.size());
  const valet::BlockStorage direct = valet::kokkos::blocks(view);
  const valet::BlockStorage staged = valet::kokkos::staged_blocks(view);
  for (const valet::BlockStorage& storage : {direct, staged}) {
    const std::string message = message_of_migration(storage);
    EXPECT_TRUE(all_ranks(message.find("not_initialized") != std::string::npos)) << message;
    EXPECT_TRUE(all_ranks(message.find("Kokkos::initialize()") != std::string::npos)) << message;
  }
}

TEST(NotInitialized, IsReportedForBlocksOfDifferentSizes) {
  std::vector<double> memory(4);
  std::vector<std::uint64_t> lengths(1, 32);
  using Lengths =
      Kokkos::View<std::uint64_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const valet::RaggedField field = valet::kokkos::ragged_field(
      View(memory.data(), memory.size()), Lengths(lengths.data(), lengths.size()));
  const std::vector<int> ranks(1, 0);
  std::string message;
  try {
    valet::migrate(MPI_COMM_WORLD, valet::RaggedStorage({field}), 1, ranks);
  } catch (const valet::Error& error) {
    message = error.what();
  }
  EXPECT_TRUE(all_ranks(message.find("Kokkos::initialize()") != std::string::npos)) << message;
}

TEST(NotInitialized, OnOneRankAloneIsAnErrorOnAll) {
  std::vector<double> memory(4);
  const View view(memory.data(), memory.size());
  const valet::BlockStorage storage =
      rank() == size() - 1 ? valet::kokkos::blocks(view)
                           : valet::BlockStorage{valet::field(memory.data(), memory.size())};
  const std::string message = message_of_migration(storage);
  EXPECT_TRUE(all_ranks(message.find("not_initialized") != std::string::npos)) << message;
  const std::string culprit = "rank " + std::to_string(size() - 1);
  EXPECT_TRUE(all_ranks(message.find(culprit) != std::string::npos)) << message;
}

}  // namespace
