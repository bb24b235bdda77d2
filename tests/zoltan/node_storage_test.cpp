// SPDX-License-Identifier: BSD-3-Clause

// Objects in memory that the ranks of a node share, in arrays and in Views: a partition moves them
// as it does others, but without messages.

#include "gathered.hpp"
#include "kokkos_environment.hpp"
#include "zoltan_lists.hpp"
#include <valet/kokkos/node_view.hpp>
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

constexpr std::uint64_t each = 320'000, slots = 2 * each;

/// Objects along a line, those of a rank beside those of all others: a partition leaves a rank one
/// stretch of its slots, and sends every other rank one; twice, as arrays are only taken from when
/// they are used again.
template <class Place, class Id>
struct NodeLine {
  Place place;
  Id id;
  std::uint64_t count = each;

  NodeLine(Place place_array, Id id_array)
      : place(std::move(place_array)), id(std::move(id_array)) {
    EXPECT_TRUE(all_ranks(place.is_shared() && id.is_shared()));
    fill();
  }
  void fill() {
    count = each;
    for (std::uint64_t k = 0; k < each; ++k) {
      id.data()[k] = each * static_cast<std::uint64_t>(rank()) + k;
      place.data()[k] = place_of(id.data()[k]);
    }
  }
  static double place_of(std::uint64_t id) {
    const std::uint64_t owner = id / each;
    return static_cast<double>(id % each) + 0.1 * static_cast<double>(owner);
  }
  /// All are somewhere, whole; all that have changed their rank were taken.
  void expect_taken(const Report& report) const {
    EXPECT_EQ(lost_or_doubled(id.data(), count, each * static_cast<std::uint64_t>(size())), 0);
    bool whole = true;
    for (std::uint64_t k = 0; k < count; ++k)
      whole = whole && place.data()[k] == place_of(id.data()[k]);
    EXPECT_TRUE(all_ranks(whole));
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_received)) > 0, size() > 1);
    EXPECT_TRUE(all_ranks(report.blocks_pulled == report.blocks_received)) << report.to_string();
    expect_within_bound(report);
  }
};

/// Calls test(line, storage, tell) for arrays and for Views; tell(balancer) gives it the places.
template <class Test>
void for_both(Test&& test) {
  NodeLine arrays(node_array<double>(MPI_COMM_WORLD, slots),
                  node_array<std::uint64_t>(MPI_COMM_WORLD, slots));
  const BlockStorage fields{field(valet::ref(arrays.place)), field(valet::ref(arrays.id))};
  test(arrays, fields,
       [&](auto& balancer) { balancer.coordinates(array_columns(valet::ref(arrays.place), 1)); });
  NodeLine views(kokkos::node_view<double*>("place", slots, MPI_COMM_WORLD),
                 kokkos::node_view<std::uint64_t*>("id", slots, MPI_COMM_WORLD));
  const BlockStorage rows = kokkos::blocks(valet::ref(views.place), valet::ref(views.id));
  test(views, rows, [&](auto& balancer) { balancer.coordinates(valet::ref(views.place)); });
}

TEST(NodeStorage, IsRebalanced) {
  for_both([](auto& line, const BlockStorage& storage, const auto& tell) {
    zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "RCB", .granularity = 1});
    tell(rebalancer);
    for (const bool is_new : {true, false}) {
      line.fill();
      const zoltan::RebalanceResult result = rebalancer.rebalance(line.count, storage);
      line.count = result.count;
      if (!is_new) line.expect_taken(result.report);
    }
  });
}

TEST(NodeStorage, IsAttached) {
  for_both([](auto& line, const BlockStorage& storage, const auto& tell) {
    ZoltanHandle handle;
    handle.set("LB_METHOD", "RCB");
    handle.set("MIGRATE_GRANULARITY", "1");
    zoltan::Attached objects(handle.get(), line.count, storage);
    tell(objects);
    for (const bool is_new : {true, false}) {
      line.fill();
      objects.count(line.count);
      EXPECT_EQ(objects.partition(), size() > 1);
      line.count = objects.count();
      if (!is_new) line.expect_taken(objects.result().report);
    }
  });
}

}  // namespace
}  // namespace valet::test
