// SPDX-License-Identifier: BSD-3-Clause

// Views that kernels move, where MPI may read and write them, too.

#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

constexpr std::size_t patch_slots = 96, patch_count = 64, words = 4096;
using Patches = Kokkos::View<std::uint64_t* [words], Kokkos::LayoutRight, Kokkos::HostSpace>;

std::uint64_t packing_kernels = 0;

/// Sets the variable while it lives, and counts kernels that pack.
class DeviceMpi : public testing::Test {
 protected:
  ~DeviceMpi() override {
    unsetenv("VALET_DEVICE_MPI");
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
  }
  static void set(const char* value) { setenv("VALET_DEVICE_MPI", value, 1); }

  /// All patches to the next rank; returns the kernels that packed some.
  static std::uint64_t moved_with(const Patches& patches, const BlockStorage& storage,
                                  Order order) {
    for (std::size_t slot = 0; slot < patch_count; ++slot)
      for (std::size_t k = 0; k < words; ++k) patches(slot, k) = word(rank(), slot, k);
    const std::vector<int> ranks(patch_count, (rank() + 1) % size());
    const Options options{.method = Method::stream, .order = order, .verify = true};
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](const char* name, std::uint32_t, std::uint64_t*) {
          if (std::string(name) == "valet::gather") ++packing_kernels;
        });
    packing_kernels = 0;
    const Report report = migrate(MPI_COMM_WORLD, storage, patch_count, ranks, options);
    EXPECT_TRUE(all_ranks(report.verified && report.blocks_after == patch_count));
    return packing_kernels;
  }
  /// Whether a slot has a whole patch of the rank before.
  static bool is_good(const Patches& patches, std::size_t slot) {
    const std::uint64_t first = patches(slot, 0);
    bool good = first / 1'000'000 == static_cast<std::uint64_t>((rank() + size() - 1) % size());
    for (std::size_t k = 0; k < words; ++k) good = good && patches(slot, k) == first + k;
    return good;
  }

 private:
  static std::uint64_t word(int rank, std::size_t slot, std::size_t k) {
    return static_cast<std::uint64_t>(rank) * 1'000'000 + slot * 5000 + k;
  }
};

TEST_F(DeviceMpi, IsGivenRunsOfAContiguousViewWhereTheyAre) {
  for (const Order order : {Order::any, Order::fill, Order::stable})
    for (const bool gives : {false, true}) {
      SCOPED_TRACE(std::string(to_string(order)) + (gives ? ", on" : ", off"));
      set(gives ? "on" : "off");
      const Patches patches("patches", patch_slots);
      const BlockStorage storage = kokkos::staged_blocks(patches);
      EXPECT_EQ(storage.backend().reachable_by_mpi(), gives);
      EXPECT_FALSE(storage.backend().reachable_by_host());
      const std::uint64_t packing = moved_with(patches, storage, order);
      if (size() > 1) {
        EXPECT_EQ(packing > 0, !gives);
      }
      long long bad = 0;
      for (std::size_t slot = 0; slot < patch_count; ++slot) bad += is_good(patches, slot) ? 0 : 1;
      EXPECT_EQ(sum_over_ranks(bad), 0);
    }
}

TEST_F(DeviceMpi, IsNotGivenRowsOfSeveralViews) {
  set("on");
  const Patches patches("patches", patch_slots);
  const Kokkos::View<double*, Kokkos::HostSpace> weights("weights", patch_slots);
  EXPECT_FALSE(kokkos::staged_blocks(patches, weights).backend().reachable_by_mpi());
}

TEST_F(DeviceMpi, IsOffWhereItIsNotKnown) {
  const Patches patches("patches", patch_slots);
  EXPECT_FALSE(kokkos::staged_blocks(patches).backend().reachable_by_mpi());
  set("auto");
  EXPECT_FALSE(kokkos::staged_blocks(patches).backend().reachable_by_mpi());
}

TEST_F(DeviceMpi, IsRefusedWhereItIsMisspeltOnOneRank) {
  if (rank() == size() - 1) set("yes");
  const Patches patches("patches", patch_slots);
  const BlockStorage storage = kokkos::staged_blocks(patches);
  const std::vector<int> ranks(patch_count, 0);
  const Outcome outcome = outcome_of([&] { migrate(MPI_COMM_WORLD, storage, patch_count, ranks); });
  expect_error(outcome, ErrorCode::invalid_argument,
               {"VALET_DEVICE_MPI=yes; give auto, on or off"});
}

}  // namespace
}  // namespace valet::test
