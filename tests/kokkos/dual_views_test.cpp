// SPDX-License-Identifier: BSD-3-Clause

// DualViews and managed memory on a fake GPU: what is moved is the side that is up to date, by
// kernels, and the host does not touch it.

#include "fake_gpu.hpp"
#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include <type_traits>

namespace valet::test {
namespace {

constexpr std::size_t dual_slots = 60, dual_count = 40;

using Vectors = Kokkos::DualView<double* [3], Kokkos::LayoutLeft, FakeGpuSpace::device_type,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Numbers = Kokkos::DualView<std::uint64_t*, Kokkos::LayoutRight, FakeGpuSpace::device_type,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

static_assert(!std::is_same_v<Vectors::t_dev, Vectors::t_host>);

template <class Dual>
Dual make_dual(GpuMemory& memory) {
  using Host = Kokkos::View<typename Dual::t_host::data_type, typename Dual::t_host::array_layout,
                            Kokkos::HostSpace>;
  return Dual(memory.view<typename Dual::t_dev>(dual_slots),
              typename Dual::t_host(Host("host", dual_slots)));
}

std::uint64_t id_of(int rank, std::size_t slot) {
  return 1000 * static_cast<std::uint64_t>(rank) + slot + 1;
}

/// Particles in two DualViews on the fake GPU.
struct Duals {
  GpuMemory memory{dual_slots * 64};
  Vectors place = make_dual<Vectors>(memory);
  Numbers id = make_dual<Numbers>(memory);

  /// What the sides of the host hold after an application has written them.
  void write_on_host() {
    for (std::size_t slot = 0; slot < dual_count; ++slot) {
      id.view_host()(slot) = id_of(rank(), slot);
      for (std::size_t d = 0; d < 3; ++d)
        place.view_host()(slot, d) = static_cast<double>(3 * id.view_host()(slot) + d);
    }
    id.modify_host();
    place.modify_host();
  }
  /// A kernel of the application writes the device's side of the ids.
  void write_ids_on_device() {
    std::uint64_t* const ids = id.view_device().data();
    on_gpu([&] {
      for (std::size_t slot = 0; slot < dual_count; ++slot) ids[slot] = id_of(rank(), slot);
    });
    id.modify_device();
  }
  [[nodiscard]] std::vector<int> ring() const {
    return std::vector<int>(dual_count, (rank() + 1) % size());
  }
  [[nodiscard]] Report move(const BlockStorage& storage, const Options& options = {}) const {
    return migrate(MPI_COMM_WORLD, storage, dual_count, std::span<const int>(ring()), options);
  }
  /// Blocks of the lower neighbour that the host finds once the DualViews are synced.
  [[nodiscard]] bool arrived() {
    place.sync_host();
    id.sync_host();
    const int source = (rank() + size() - 1) % size();
    std::uint64_t sum = 0, expected = 0;
    bool whole = true;
    for (std::size_t slot = 0; slot < dual_count; ++slot) {
      sum += id.view_host()(slot);
      expected += id_of(source, slot);
      for (std::size_t d = 0; d < 3; ++d)
        whole = whole &&
                place.view_host()(slot, d) == static_cast<double>(3 * id.view_host()(slot) + d);
    }
    return whole && sum == expected;
  }
};

TEST(DualViews, ThatTheHostModifiedAreSyncedMovedAndMarked) {
  for (const bool with_space : {false, true}) {
    Duals duals;
    duals.write_on_host();
    const BlockStorage storage = with_space ? kokkos::blocks(FakeGpu(), duals.place, duals.id)
                                            : kokkos::blocks(duals.place, duals.id);
    EXPECT_FALSE(storage.backend().reachable_by_mpi());
    const std::vector<int> ranks = duals.ring();
    Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, dual_count, ranks);
    EXPECT_TRUE(all_ranks(duals.place.need_sync_device())) << "planning moves nothing";
    execute(plan, storage);
    EXPECT_TRUE(all_ranks(GpuMemory::counts().copies_to_device == 2));
    EXPECT_TRUE(all_ranks(duals.place.need_sync_host() && duals.id.need_sync_host()));
    EXPECT_FALSE(duals.place.need_sync_device());
    EXPECT_TRUE(all_ranks(duals.arrived()));
    // The device's side is up to date now: nothing is copied to it.
    execute(plan, storage);
    EXPECT_TRUE(all_ranks(GpuMemory::counts().copies_to_device == 2));
    EXPECT_TRUE(all_ranks(duals.place.need_sync_host()));
  }
}

TEST(DualViews, ThatTheDeviceModifiedAreMovedAsTheyAre) {
  Duals duals;
  duals.write_on_host();
  duals.id.sync_device();
  for (std::size_t slot = 0; slot < dual_count; ++slot) duals.id.view_host()(slot) = 0;  // stale
  duals.write_ids_on_device();
  static_cast<void>(duals.move(kokkos::blocks(duals.id, duals.place)));
  EXPECT_TRUE(all_ranks(GpuMemory::counts().copies_to_device == 2)) << "one is of this test";
  EXPECT_TRUE(all_ranks(duals.arrived()));
}

TEST(DualViews, StandBesideViewsInAnyMethod) {
  for (const Method method : {Method::stream, Method::phased, Method::cyclic, Method::direct}) {
    Duals duals;
    duals.write_on_host();
    const auto device_ids = duals.memory.view<GpuView<std::uint64_t*>>(dual_slots);
    on_gpu([&] {
      for (std::size_t slot = 0; slot < dual_count; ++slot)
        device_ids.data()[slot] = id_of(rank(), slot);
    });
    const Options options{.method = method, .verify = true};
    const BlockStorage storage = kokkos::blocks(device_ids, duals.place, duals.id);
    const Report report = duals.move(storage, options);
    EXPECT_TRUE(all_ranks(report.verified && duals.arrived()));
    bool same = true;
    on_gpu([&] {
      for (std::size_t slot = 0; slot < dual_count; ++slot)
        same = same && device_ids.data()[slot] == duals.id.view_host()(slot);
    });
    EXPECT_TRUE(all_ranks(same));
  }
}

/// Parts of one DualView share the marks of the whole: to sync the first clears those of the other.
TEST(DualViews, ThatArePartsOfOneAreAllSynced) {
  GpuMemory memory(dual_slots * 64);
  const auto both = make_dual<Vectors>(memory);
  using Part = Kokkos::DualView<double*, Kokkos::LayoutLeft, FakeGpuSpace::device_type,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Part x(both, Kokkos::ALL(), 0);
  Part y(both, Kokkos::ALL(), 1);
  for (std::size_t slot = 0; slot < dual_count; ++slot) {
    x.view_host()(slot) = static_cast<double>(id_of(rank(), slot));
    y.view_host()(slot) = -x.view_host()(slot);
  }
  x.modify_host();
  const std::vector<int> ranks(dual_count, (rank() + 1) % size());
  migrate(MPI_COMM_WORLD, kokkos::blocks(x, y), dual_count, ranks);
  const int source = (rank() + size() - 1) % size();
  double sum = 0, expected = 0;
  bool torn = false;
  on_gpu([&] {
    for (std::size_t slot = 0; slot < dual_count; ++slot) {
      sum += x.view_device().data()[slot];
      expected += static_cast<double>(id_of(source, slot));
      torn = torn || y.view_device().data()[slot] != -x.view_device().data()[slot];
    }
  });
  EXPECT_TRUE(all_ranks(sum == expected && !torn));
}

TEST(DualViews, ModifiedOnBothSidesAreAnErrorOfAllRanks) {
  Duals duals;
  duals.write_on_host();
  duals.place.sync_device();
  duals.id.sync_device();
  if (rank() == size() - 1) mark_both_sides(duals.id);
  const Outcome outcome =
      outcome_of([&] { static_cast<void>(duals.move(kokkos::blocks(duals.place, duals.id))); });
  expect_error(outcome, ErrorCode::invalid_argument,
               {"modified on the host and on the device", "rank " + std::to_string(size() - 1)});
  EXPECT_FALSE(duals.place.need_sync_host()) << "nothing was marked";
  duals.id.clear_sync_state();
  static_cast<void>(duals.move(kokkos::blocks(duals.place, duals.id)));
  EXPECT_TRUE(all_ranks(duals.arrived()));
}

/// A call that is refused after some ranks have copied leaves the device's side valid.
TEST(DualViews, OfACallThatFailedAreValidOnTheDevice) {
  Duals duals;
  duals.write_on_host();
  const BlockStorage storage = kokkos::blocks(duals.place, duals.id);
  const std::vector<int> ranks = duals.ring();
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, dual_count, ranks);
  std::vector<double> too_small(2);
  const Outcome outcome =
      outcome_of([&] { execute(plan, storage, std::as_writable_bytes(std::span(too_small))); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.text;
  duals.place.sync_host();
  duals.id.sync_host();
  bool same = true;
  for (std::size_t slot = 0; slot < dual_count; ++slot)
    same = same && duals.id.view_host()(slot) == id_of(rank(), slot);
  EXPECT_TRUE(all_ranks(same));
}

TEST(DualViews, ThatCannotBeCopiedAreAsTheyWere) {
  Duals duals;
  duals.write_on_host();
  if (rank() == size() - 1) GpuMemory::counts().failing_copy = 2;
  const BlockStorage storage = kokkos::blocks(duals.place, duals.id);
  const Outcome outcome = outcome_of([&] { static_cast<void>(duals.move(storage)); });
  expect_error(outcome, ErrorCode::callback_failed, {"the GPU fell off the bus"});
  if (rank() == size() - 1) {
    EXPECT_TRUE(duals.id.need_sync_device());
    EXPECT_FALSE(duals.place.need_sync_host()) << "both sides are the same";
  }
  static_cast<void>(duals.move(storage));
  EXPECT_TRUE(all_ranks(duals.arrived()));
}

TEST(DualViews, OfTheHostAreItsViews) {
  using Dual = Kokkos::DualView<double*, Kokkos::HostSpace>;
  Dual dual("dual", dual_slots);
  dual.view_host()(0) = rank() + 1.0;
  dual.modify_host();
  const BlockStorage storage = kokkos::blocks(dual);
  EXPECT_EQ(static_cast<void*>(storage.backend().contiguous_data()),
            static_cast<void*>(dual.view_host().data()));
  const std::vector<int> ranks(1, (rank() + 1) % size());
  migrate(MPI_COMM_WORLD, storage, 1, ranks);
  EXPECT_TRUE(all_ranks(dual.view_host()(0) == (rank() + size() - 1) % size() + 1.0));
}

TEST(DualViews, NeverAllocatedHoldNoBlocks) {
  const Numbers none;
  const BlockStorage storage = kokkos::blocks(none);
  EXPECT_EQ(storage.slots(), 0U);
  const std::vector<int> ranks;
  EXPECT_EQ(migrate(MPI_COMM_WORLD, storage, 0, ranks).blocks_after, 0U);
}

TEST(ManagedMemory, IsMovedByKernelsUnlessTheHostIsAsked) {
  GpuMemory memory(dual_slots * 64);
  const auto place = memory.view<SharedView<double* [3]>>(dual_slots);
  const auto id = memory.view<SharedView<std::uint64_t*>>(dual_slots);
  on_gpu([&] {
    for (std::size_t slot = 0; slot < dual_count; ++slot) {
      id.data()[slot] = id_of(rank(), slot);
      for (std::size_t d = 0; d < 3; ++d)
        place.data()[slot + d * dual_slots] = static_cast<double>(3 * id.data()[slot] + d);
    }
  });
  const BlockStorage storage = kokkos::blocks(place, id);
  EXPECT_FALSE(storage.backend().reachable_by_mpi());
  EXPECT_FALSE(storage.backend().reachable_by_host());
  const Options options{.verify = true};
  const std::vector<int> ranks(dual_count, (rank() + 1) % size());
  migrate(MPI_COMM_WORLD, storage, dual_count, ranks, options);
  EXPECT_TRUE(all_ranks(GpuMemory::counts().kernels > 0));
  const int source = (rank() + size() - 1) % size();
  std::uint64_t sum = 0, expected = 0;
  bool whole = true;
  on_gpu([&] {
    for (std::size_t slot = 0; slot < dual_count; ++slot) {
      sum += id.data()[slot];
      expected += id_of(source, slot);
      for (std::size_t d = 0; d < 3; ++d)
        whole = whole &&
                place.data()[slot + d * dual_slots] == static_cast<double>(3 * id.data()[slot] + d);
    }
  });
  EXPECT_TRUE(all_ranks(whole && sum == expected));

  EXPECT_TRUE(kokkos::blocks(Kokkos::Serial(), place, id).backend().reachable_by_mpi());
  EXPECT_FALSE(kokkos::blocks(FakeGpu(), place, id).backend().reachable_by_mpi());
}

TEST(ManagedMemory, BesideViewsOfTheHostIsMovedByWhoReachesBoth) {
  GpuMemory memory(dual_slots * 64);
  const auto shared = memory.view<SharedView<double*>>(dual_slots);
  const Kokkos::View<double*, Kokkos::HostSpace> host("host", dual_slots);
  EXPECT_FALSE(kokkos::blocks(shared, host).backend().reachable_by_mpi()) << "this GPU does";
  EXPECT_TRUE(kokkos::blocks(host, shared).backend().reachable_by_mpi());
  EXPECT_TRUE(kokkos::blocks(host).backend().reachable_by_mpi());
}

}  // namespace
}  // namespace valet::test
