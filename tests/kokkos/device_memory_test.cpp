// SPDX-License-Identifier: BSD-3-Clause

// Views in the memory that Kokkos takes by default, that of the device where there is one: by every
// method and order, with the least budget and with more. What the tests write and read is copied.

#include "kokkos_environment.hpp"
#include "views.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

namespace valet::test {
namespace {

using Memory = Kokkos::DefaultExecutionSpace::memory_space;

/// A View on the device and one for the host to write and read it by.
template <class Data, class Layout>
struct MirroredView {
  MirroredView(const char* label, std::uint64_t slots)
      : host(make_view<HostView<Data, Layout>>(label, slots)),
        device(make_view<Kokkos::View<Data, Layout, Memory>>(label, slots)) {}
  void upload() const { Kokkos::deep_copy(device, host); }
  void download() const { Kokkos::deep_copy(host, device); }

  HostView<Data, Layout> host;
  Kokkos::View<Data, Layout, Memory> device;
};

struct DeviceFields {
  explicit DeviceFields(std::uint64_t slots)
      : position("position", slots), flux("flux", slots), id("id", slots), flag("flag", slots) {}

  [[nodiscard]] BlockStorage storage() const {
    return kokkos::staged_blocks(Kokkos::DefaultExecutionSpace(), position.device, flux.device,
                                 id.device, flag.device);
  }
  [[nodiscard]] auto host() const { return std::tie(position.host, flux.host, id.host, flag.host); }
  void write(const MapPart& map) const {
    write_blocks(host(), map);
    position.upload(), flux.upload(), id.upload(), flag.upload();
  }
  [[nodiscard]] long long wrong(const MapPart& map, const Kind& kind) const {
    position.download(), flux.download(), id.download(), flag.download();
    return wrong_elements(host(), map, kind, storage().block_bytes());
  }
  MirroredView<double* [3], Kokkos::LayoutLeft> position;
  MirroredView<float***, Kokkos::LayoutRight> flux;
  MirroredView<std::uint64_t*, Kokkos::LayoutLeft> id;
  MirroredView<char*, Kokkos::LayoutRight> flag;  // no block is aligned to words
};

class DeviceMemory : public testing::TestWithParam<Method> {};

TEST_P(DeviceMemory, BlocksEndWhereTheMapSays) {
  std::mt19937_64 random(seed());
  for (int c = 0; c < 4; ++c) {
    SCOPED_TRACE(seed_note(seed(), c));
    MapPart map(random_map_of_views(random), rank());
    for (const Kind& kind : all_kinds)
      for (const std::size_t budget_blocks : {2, 40}) {
        const DeviceFields fields(map.slots());
        const BlockStorage storage = fields.storage();
        Options options{.method = GetParam(), .order = kind.order, .verify = true};
        // DIRECT needs scratch for all that leaves.
        options.budget_bytes = GetParam() == Method::direct ? std::size_t{1} << 20
                                                            : budget_blocks * storage.block_bytes();
        Plan plan = map.plan(MPI_COMM_WORLD, storage, kind.form, options);
        fields.write(map);
        const Report report = execute(plan, storage);
        EXPECT_EQ(sum_over_ranks(fields.wrong(map, kind)), 0);
        expect_within_bound(report);
        EXPECT_TRUE(all_ranks(report.verified));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, DeviceMemory,
                         testing::Values(Method::stream, Method::phased, Method::cyclic,
                                         Method::direct),
                         ParameterName());

TEST(DeviceMemoryBlocks, OfADualViewAreSyncedBeforeTheyMove) {
  constexpr std::uint64_t count = 50;
  Kokkos::DualView<double*, Kokkos::DefaultExecutionSpace> values("values", count);
  for (std::uint64_t s = 0; s < count; ++s)
    values.view_host()(s) = rank() * 1000.0 + static_cast<double>(s);
  values.modify_host();
  const std::vector<int> ranks(count, (rank() + 1) % size());
  const Options options{.order = Order::stable, .verify = true};
  migrate(MPI_COMM_WORLD, kokkos::blocks(values), count, ranks, options);
  values.sync_host();
  const int source = (rank() + size() - 1) % size();
  long long wrong = 0;
  for (std::uint64_t s = 0; s < count; ++s)
    if (values.view_host()(s) != source * 1000.0 + static_cast<double>(s)) ++wrong;
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

TEST(DeviceMemoryBlocks, AreStagedByThemselvesWhereTheHostDoesNotReach) {
  const Kokkos::View<double*, Memory> view("view", 4);
  constexpr bool host_reaches = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
  EXPECT_EQ(kokkos::blocks(view).backend().reachable_by_host(), host_reaches);
  EXPECT_FALSE(kokkos::staged_blocks(view).backend().reachable_by_host());
}

}  // namespace
}  // namespace valet::test
