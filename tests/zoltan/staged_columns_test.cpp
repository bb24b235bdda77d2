// SPDX-License-Identifier: BSD-3-Clause

// Rebalances of Views that the host must not touch, on a fake GPU: the partition is that of the
// same numbers in host memory, and the host is brought a bounded part of them at a time.

#include "fake_gpu.hpp"
#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include <ostream>

namespace valet::test {
namespace {

using namespace zoltan;

/// More than are at hand at a time, and enough to be put in cells.
constexpr std::size_t staged_objects = 20'000;
/// What the columns of positions and weights are staged in.
constexpr std::size_t staging_bytes = std::size_t{8192} * (3 * 8 + 4) + std::size_t{8192} * (8 + 4);

using HostPlaces = Kokkos::View<double* [3], Kokkos::LayoutLeft, Kokkos::HostSpace>;
using HostNumbers = Kokkos::View<float*, Kokkos::HostSpace>;

/// The same random objects on the host and on the fake GPU; room for twice as many.
struct StagedCloud {
  StagedCloud() {
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank()));
    const auto any = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    for (std::size_t k = 0; k < staged_objects; ++k) {
      // Half of the objects are in a clump, so that cells are split more than once.
      for (std::size_t d = 0; d < 3; ++d) place(k, d) = k % 2 == 0 ? any() : 0.3 + 0.001 * any();
      weight(k) = static_cast<float>(0.5 + any());
    }
    on_gpu([&] {
      std::memcpy(gpu_place.data(), place.data(), place.span() * sizeof(double));
      std::memcpy(gpu_weight.data(), weight.data(), weight.span() * sizeof(float));
    });
  }
  GpuMemory memory{std::size_t{1} << 22U};
  HostPlaces place{"place", 2 * staged_objects};
  HostNumbers weight{"weight", 2 * staged_objects};
  GpuView<double* [3]> gpu_place = memory.view<GpuView<double* [3]>>(2 * staged_objects);
  GpuView<float*> gpu_weight = memory.view<GpuView<float*>>(2 * staged_objects);
};

std::vector<int> ranks_of(const Partition& partition) {
  const auto ranks = partition.ranks();
  return {ranks.begin(), ranks.end()};
}

std::size_t allocated = 0, most_allocated = 0;

void note_allocation(Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
  allocated += bytes;
  most_allocated = std::max(most_allocated, allocated);
}
void note_deallocation(Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
  allocated -= bytes;
}

/// Counts what Kokkos allocates while it lives.
class Allocations {
 public:
  Allocations() {
    allocated = most_allocated = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(note_allocation);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(note_deallocation);
  }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  ~Allocations() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
};

struct Way {
  const char* name;
  const char* method;
  bool weighted;
  std::optional<std::uint64_t> granularity;
};
std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class Ways : public ::testing::TestWithParam<Way> {};

TEST_P(Ways, PartitionWithoutACopyOfAllNumbers) {
  SCOPED_TRACE(seed_note());
  const StagedCloud cloud;
  const RebalancerOptions options{.method = GetParam().method,
                                  .granularity = GetParam().granularity};
  Rebalancer on_host(MPI_COMM_WORLD, options);
  on_host.coordinates(valet::ref(cloud.place));
  if (GetParam().weighted) on_host.weights(valet::ref(cloud.weight));
  Partition expected = on_host.partition(staged_objects);

  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(valet::ref(cloud.gpu_place));
  if (GetParam().weighted) rebalancer.weights(valet::ref(cloud.gpu_weight));
  const Allocations allocations;
  Partition partition = rebalancer.partition(staged_objects);
  EXPECT_TRUE(all_ranks(ranks_of(partition) == ranks_of(expected)));
  EXPECT_EQ(partition.after().weight, expected.after().weight);
  EXPECT_EQ(partition.largest_cell_share(), expected.largest_cell_share());
  EXPECT_EQ(GpuMemory::counts().copies_to_host, 0U);
  EXPECT_TRUE(all_ranks(GpuMemory::counts().kernels > 0));
  EXPECT_LE(most_allocated, staging_bytes);
  EXPECT_GE(most_allocated, std::size_t{8192} * 8);
  EXPECT_EQ(allocated, 0U) << "it ends before anything moves";
  EXPECT_GT(partition.extra_bytes(), expected.extra_bytes()) << "staging is counted";
  EXPECT_LE(partition.extra_bytes(), expected.extra_bytes() + staging_bytes);
  rebalancer.evaluate(partition);
  EXPECT_EQ(partition.after().weight, expected.after().weight);
}

INSTANTIATE_TEST_SUITE_P(Zoltan, Ways,
                         testing::Values(Way{"RCB", "RCB", true, {}}, Way{"RIB", "RIB", false, {}},
                                         Way{"HSFC", "HSFC", true, {}},
                                         Way{"EachByItself", "RCB", true, 1},
                                         Way{"SmallCells", "RCB", false, 50},
                                         Way{"Block", "BLOCK", true, {}},
                                         Way{"Cyclic", "CYCLIC", true, {}}),
                         ParameterName());

TEST(StagedRebalance, MovesWhatItPartitions) {
  const StagedCloud cloud;
  const RebalancerOptions options{.migration = {.verify = true}};
  Rebalancer on_host(MPI_COMM_WORLD, options);
  on_host.coordinates(valet::ref(cloud.place));
  on_host.weights(valet::ref(cloud.weight));
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(valet::ref(cloud.gpu_place));
  rebalancer.weights(valet::ref(cloud.gpu_weight));
  std::uint64_t count = staged_objects;
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto expected = on_host.rebalance(count, cloud.place, cloud.weight);
    const auto result = rebalancer.rebalance(count, cloud.gpu_place, cloud.gpu_weight);
    EXPECT_TRUE(all_ranks(result.report.verified && result.count == expected.count));
    EXPECT_LT(result.after.weight, 1.07);
    count = result.count;
    bool same = true;
    on_gpu([&] {
      for (std::size_t c = 0; c < 3; ++c)
        same = same && std::equal(&cloud.place(0, c), &cloud.place(0, c) + count,
                                  cloud.gpu_place.data() + 2 * staged_objects * c);
      same =
          same && std::equal(&cloud.weight(0), &cloud.weight(0) + count, cloud.gpu_weight.data());
    });
    EXPECT_TRUE(all_ranks(same));
  }
}

TEST(StagedRebalance, TakesViewsOfSeveralMemoriesTogether) {
  const StagedCloud cloud;
  const auto x = Kokkos::subview(cloud.gpu_place, Kokkos::ALL(), 0);
  const auto y = GpuMemory::current()->view<SharedView<double*>>(2 * staged_objects);
  const auto z = Kokkos::subview(cloud.place, Kokkos::ALL(), 2);
  on_gpu([&] { std::copy_n(cloud.place.data() + 2 * staged_objects, staged_objects, y.data()); });
  Rebalancer on_host(MPI_COMM_WORLD);
  on_host.coordinates(valet::ref(cloud.place));
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(x), valet::ref(y), valet::ref(z));
  EXPECT_TRUE(all_ranks(ranks_of(rebalancer.partition(staged_objects)) ==
                        ranks_of(on_host.partition(staged_objects))));
}

TEST(StagedRebalance, ReadsTheValidSideOfDualViews) {
  StagedCloud cloud;
  using Dual = Kokkos::DualView<double* [3], Kokkos::LayoutLeft, FakeGpuSpace::device_type,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Dual dual(cloud.gpu_place, Dual::t_host(cloud.place));
  on_gpu([&] { std::memset(cloud.gpu_place.data(), 0, cloud.gpu_place.span() * 8); });
  dual.modify_host();
  Rebalancer on_host(MPI_COMM_WORLD);
  on_host.coordinates(valet::ref(cloud.place));
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(dual));
  EXPECT_TRUE(all_ranks(ranks_of(rebalancer.partition(staged_objects)) ==
                        ranks_of(on_host.partition(staged_objects))));
  EXPECT_FALSE(dual.need_sync_host()) << "it is only read";
  if (rank() == 0) mark_both_sides(dual);
  const Outcome outcome =
      outcome_of([&] { static_cast<void>(rebalancer.partition(staged_objects)); });
  expect_error(outcome, ErrorCode::invalid_argument, {});
}

/// A GPU that fails in any of its kernels: all ranks throw, and go on.
TEST(StagedRebalance, ThatCannotReadIsAnErrorOfAllRanks) {
  const StagedCloud cloud;
  for (const Way& way : {Way{"", "RCB", true, {}}, Way{"", "HSFC", true, {}},
                         Way{"", "RCB", true, 1}, Way{"", "BLOCK", true, {}}}) {
    const RebalancerOptions options{.method = way.method, .granularity = way.granularity};
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    rebalancer.coordinates(valet::ref(cloud.gpu_place));
    rebalancer.weights(valet::ref(cloud.gpu_weight));
    GpuMemory::counts() = {};
    const double balance = rebalancer.partition(staged_objects).after().weight;
    const auto kernels = static_cast<std::uint64_t>(max_over_ranks(
        rank() == size() - 1 ? static_cast<long long>(GpuMemory::counts().kernels) : 0));
    const std::uint64_t step = std::max<std::uint64_t>(1, kernels / 12);
    for (std::uint64_t failing = 1; failing <= kernels; failing += step) {
      SCOPED_TRACE(std::string(way.method) + ", kernel " + std::to_string(failing) + " of " +
                   std::to_string(kernels));
      GpuMemory::counts() = {};
      if (rank() == size() - 1) GpuMemory::counts().failing_kernel = failing;
      const Outcome outcome =
          outcome_of([&] { static_cast<void>(rebalancer.partition(staged_objects)); });
      expect_error(outcome, ErrorCode::callback_failed, {"the GPU fell off the bus"});
      if (HasFailure()) return;
    }
    GpuMemory::counts() = {};
    // Zoltan begins with the cuts that it found last, so these are not the same to the last object.
    EXPECT_NEAR(rebalancer.partition(staged_objects).after().weight, balance, 0.05);
  }
}

}  // namespace
}  // namespace valet::test
