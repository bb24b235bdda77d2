// SPDX-License-Identifier: BSD-3-Clause

// Views that the host must not touch, as those of a device: their memory is protected outside of
// kernels, of which the tools interface of Kokkos tells. An access by the host, or by MPI, ends the
// test. And all that kernels pack into is memory that Kokkos allocated: pinned memory on a device.

#include "fake_device.hpp"
#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

const DevicePages* device_pages = nullptr;  // of the test that runs
std::uint64_t kernels_run = 0;
std::uint64_t scratch_bytes = 0;  // that Valet allocated as staging

void begin_kernel(const char*, std::uint32_t, std::uint64_t*) {
  ++kernels_run;
  if (device_pages != nullptr) device_pages->protect(PROT_READ | PROT_WRITE);
}
void end_kernel(std::uint64_t) {
  if (device_pages != nullptr) device_pages->protect(PROT_NONE);
}
void allocated(Kokkos::Profiling::SpaceHandle, const char* label, const void*,
               std::uint64_t bytes) {
  if (std::string(label) == "valet::scratch") scratch_bytes += bytes;
}

/// Says when kernels run.
class KernelsOnly : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(begin_kernel);
    Kokkos::Tools::Experimental::set_end_parallel_for_callback(end_kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(begin_kernel);
    Kokkos::Tools::Experimental::set_end_parallel_reduce_callback(end_kernel);
    Kokkos::Tools::Experimental::set_allocate_data_callback(allocated);
  }
  void TearDown() override {
    device_pages = nullptr;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_end_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_end_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  }
};

using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
using Positions = Kokkos::View<double* [3], Kokkos::LayoutLeft, Kokkos::HostSpace, Unmanaged>;
using Ids = Kokkos::View<std::uint64_t*, Kokkos::HostSpace, Unmanaged>;

TEST_P(KernelsOnly, TouchTheBlocks) {
  constexpr std::size_t slots = 500, count = 400;
  for (const Order order : {Order::any, Order::fill, Order::stable})
    for (const bool verify : {false, true}) {
      SCOPED_TRACE(std::string(to_string(order)) + (verify ? ", verified" : ""));
      const DevicePages pages(slots * 32);
      auto* const words = reinterpret_cast<double*>(pages.data());
      const Positions positions(words, slots);
      const Ids ids(reinterpret_cast<std::uint64_t*>(words + 3 * slots), slots);
      const auto id_of = [](std::size_t slot) {
        return 1000 * static_cast<std::uint64_t>(rank()) + slot;
      };
      std::vector<int> ranks(count);
      {
        const DevicePages::Kernel kernel(pages);
        for (std::size_t slot = 0; slot < count; ++slot) {
          ids(slot) = id_of(slot);
          for (std::size_t d = 0; d < 3; ++d)
            positions(slot, d) = static_cast<double>(3 * ids(slot) + d);
          ranks[slot] = static_cast<int>((slot * slot + static_cast<std::size_t>(rank())) %
                                         static_cast<std::size_t>(size()));
        }
      }
      const Options options{
          .budget_bytes = GetParam() == Method::direct ? std::size_t{1} << 20 : 4096,
          .method = GetParam(),
          .order = order,
          .verify = verify};
      const BlockStorage storage = kokkos::staged_blocks(positions, ids);
      device_pages = &pages;
      kernels_run = scratch_bytes = 0;
      const Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, count, ranks, options);
      EXPECT_TRUE(all_ranks(plan.required_slots() <= slots));
      Plan moving = plan_to_ranks(MPI_COMM_WORLD, storage, count, ranks, options);
      const Report report = execute(moving, storage);
      device_pages = nullptr;
      EXPECT_TRUE(all_ranks(report.verified == verify));
      EXPECT_LE(scratch_bytes, options.budget_bytes);
      const bool moves = size() > 1 || verify;
      if (moves) {
        EXPECT_GT(kernels_run, 0U);
        EXPECT_GT(scratch_bytes, 0U) << "blocks were packed into memory that kernels cannot reach";
      }
      const DevicePages::Kernel kernel(pages);
      long long sum = 0, torn = 0;
      for (std::size_t slot = 0; slot < report.blocks_after; ++slot) {
        sum += static_cast<long long>(ids(slot));
        for (std::size_t d = 0; d < 3; ++d)
          if (positions(slot, d) != static_cast<double>(3 * ids(slot) + d)) ++torn;
      }
      long long expected = 0;
      for (std::size_t slot = 0; slot < count; ++slot)
        expected += static_cast<long long>(id_of(slot));
      EXPECT_EQ(sum_over_ranks(torn), 0);
      EXPECT_EQ(sum_over_ranks(sum), sum_over_ranks(expected));
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, KernelsOnly,
                         testing::Values(Method::stream, Method::phased, Method::cyclic,
                                         Method::direct),
                         ParameterName());

}  // namespace
}  // namespace valet::test
