// SPDX-License-Identifier: BSD-3-Clause

// Whatever holds the objects that are attached to a Zoltan_Struct: three times in a row, by three
// ways, they are where stock Zoltan and the oracle have them, while they move and change and their
// arrays get exactly the slots that are needed.

#include "attached_cloud.hpp"
#include "fake_gpu.hpp"
#include "kokkos_environment.hpp"
#include "ragged_objects.hpp"

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// What holds the objects.
class Holder {
 public:
  Holder() = default;
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  virtual ~Holder() = default;

  [[nodiscard]] virtual Attached attach(const ZoltanHandle& zoltan, std::uint64_t count) = 0;
  /// Calls something when the host may look at everything.
  virtual void on_host(const std::function<void()>& action) { action(); }
  virtual void write(std::size_t slot, std::uint32_t id, int step) = 0;
  [[nodiscard]] virtual bool has(std::size_t slot, std::uint32_t id, int step) = 0;
  /// Where that can be done.
  virtual void resize(std::size_t /*slots*/) {}
};

class VectorHolder final : public Holder {
 public:
  explicit VectorHolder(std::size_t slots) : cloud_({}, slots) {}
  Attached attach(const ZoltanHandle& zoltan, std::uint64_t count) override {
    return cloud_.attach(zoltan, count);
  }
  void write(std::size_t slot, std::uint32_t id, int step) override {
    cloud_.write(slot, id, step);
  }
  bool has(std::size_t slot, std::uint32_t id, int step) override {
    return cloud_.has(slot, id, step);
  }
  void resize(std::size_t slots) override { cloud_.resize(slots); }

 private:
  VectorCloud cloud_;
};

template <class View>
constexpr bool is_dual = kokkos::detail::is_dual_view<View>;
template <class View>
constexpr bool is_on_gpu = std::is_same_v<typename View::traits::memory_space, FakeGpuSpace>;

/// What the host sees of a View.
template <class View>
auto host_view(const View& view) {
  if constexpr (is_dual<View>)
    return view.h_view;
  else if constexpr (is_on_gpu<View>)
    return Kokkos::View<typename View::data_type, typename View::array_layout, Kokkos::HostSpace,
                        Unmanaged>(view.data(), view.extent(0));
  else
    return view;
}

template <class View>
constexpr bool can_resize =
    !is_dual<View> && !std::is_same_v<typename View::traits::array_layout, Kokkos::LayoutStride> &&
    !is_on_gpu<View>;

/// An id, a place, a weight and a payload of five numbers.
template <class Id, class Places, class Weight, class Payload>
class ViewHolder final : public Holder {
 public:
  ViewHolder(Id id, Places places, Weight weight, Payload payload)
      : id_(id), place_(places), weight_(weight), payload_(payload) {}

  Attached attach(const ZoltanHandle& zoltan, std::uint64_t count) override {
    // Views here and there need a space that reaches all of them.
    using Space = std::conditional_t<is_dual<Places>, FakeGpu, typename Places::execution_space>;
    Attached cells(zoltan.get(), count, Space(), ref(id_), ref(place_), ref(weight_),
                   ref(payload_));
    cells.coordinates(ref(place_)).weights(ref(weight_)).ids(ref(id_));
    return cells;
  }
  void on_host(const std::function<void()>& action) override {
    for_all([](auto& view) {
      if constexpr (is_dual<std::remove_reference_t<decltype(view)>>) view.sync_host();
    });
    if (GpuMemory::current() != nullptr)
      on_gpu(action);
    else
      action();
    for_all([](auto& view) {
      if constexpr (is_dual<std::remove_reference_t<decltype(view)>>) view.modify_host();
    });
  }
  void write(std::size_t slot, std::uint32_t id, int step) override {
    host_view(id_)(slot) = id;
    for (std::size_t d = 0; d < 3; ++d) host_view(place_)(slot, d) = cloud_place(id, step)[d];
    host_view(weight_)(slot) = cloud_weight(id, step);
    for (std::size_t k = 0; k < 5; ++k) host_view(payload_)(slot, k) = cloud_payload(id, k);
  }
  bool has(std::size_t slot, std::uint32_t id, int step) override {
    bool right = host_view(id_)(slot) == id && host_view(weight_)(slot) == cloud_weight(id, step);
    for (std::size_t d = 0; d < 3; ++d)
      right = right && host_view(place_)(slot, d) == cloud_place(id, step)[d];
    for (std::size_t k = 0; k < 5; ++k)
      right = right && host_view(payload_)(slot, k) == cloud_payload(id, k);
    return right;
  }
  void resize(std::size_t slots) override {
    if constexpr (can_resize<Id> && can_resize<Places> && can_resize<Payload>)
      for_all([slots](auto& view) { Kokkos::resize(view, slots); });
  }

 private:
  template <class Action>
  void for_all(Action&& action) {
    action(id_), action(place_), action(weight_), action(payload_);
  }

  Id id_;
  Places place_;
  Weight weight_;
  Payload payload_;
};
template <class... Views>
std::unique_ptr<Holder> held_in(const Views&... views) {
  return std::make_unique<ViewHolder<Views...>>(views...);
}

template <class Layout>
std::unique_ptr<Holder> in_views(std::size_t slots) {
  return held_in(
      Kokkos::View<std::uint32_t*>("id", slots), Kokkos::View<double* [3], Layout>("place", slots),
      Kokkos::View<float*>("weight", slots), Kokkos::View<short* [5], Layout>("payload", slots));
}

/// Every second number of larger Views.
std::unique_ptr<Holder> in_strided_views(std::size_t slots) {
  using Kokkos::ALL;
  using Kokkos::subview;
  const Kokkos::View<std::uint32_t* [2], Kokkos::LayoutRight> id("id", slots);
  const Kokkos::View<double* [3][2], Kokkos::LayoutRight> place("place", slots);
  const Kokkos::View<float* [2], Kokkos::LayoutRight> weight("weight", slots);
  const Kokkos::View<short* [5][2], Kokkos::LayoutLeft> payload("payload", slots);
  return held_in(subview(id, ALL, 1), subview(place, ALL, ALL, 1), subview(weight, ALL, 0),
                 subview(payload, ALL, ALL, 0));
}

std::unique_ptr<Holder> on_device(std::size_t slots) {
  GpuMemory& memory = *GpuMemory::current();
  return held_in(memory.view<GpuView<std::uint32_t*>>(slots),
                 memory.view<GpuView<double* [3]>>(slots), memory.view<GpuView<float*>>(slots),
                 memory.view<GpuView<short* [5], Kokkos::LayoutRight>>(slots));
}

/// The place on both sides, and the rest on the host or on the device.
std::unique_ptr<Holder> in_dual_views(std::size_t slots) {
  GpuMemory& memory = *GpuMemory::current();
  using Dual = Kokkos::DualView<double* [3], Kokkos::LayoutLeft, FakeGpuSpace::device_type,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static std::vector<double> host;
  host.assign(3 * slots, 0);
  return held_in(Kokkos::View<std::uint32_t*>("id", slots),
                 Dual(memory.view<GpuView<double* [3]>>(slots), Dual::t_host(host.data(), slots)),
                 memory.view<GpuView<float*>>(slots), Kokkos::View<short* [5]>("payload", slots));
}

struct Kind {
  const char* name;
  std::unique_ptr<Holder> (*make)(std::size_t slots);
  bool needs_gpu = false;
  std::size_t block_bytes = 4 + 3 * 8 + 4 + 5 * 2;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

/// The ways by which they move, one after the other.
struct Move {
  const char* auto_migrate;
  const char* return_lists;
};
constexpr std::array moves{Move{"TRUE", "NONE"}, Move{"TRUE", "ALL"}, Move{"FALSE", "EXPORT"}};

int partition_and_move(ZoltanHandle& handle, const Move& move) {
  handle.set("AUTO_MIGRATE", move.auto_migrate);
  handle.set("RETURN_LISTS", move.return_lists);
  const ZoltanLists lists(handle.get());
  if (lists.code() != ZOLTAN_OK || std::string(move.auto_migrate) == "TRUE") return lists.code();
  return lists.migrate(handle.get());
}

class AttachedKinds : public ::testing::TestWithParam<Kind> {};

TEST_P(AttachedKinds, HoldObjectsWhereStockZoltanPutsThem) {
  for (const char* const method : {"RCB", "HSFC"}) {
    SCOPED_TRACE(method);
    const std::optional<GpuMemory> memory =
        GetParam().needs_gpu ? std::optional<GpuMemory>(std::in_place, std::size_t{1} << 20U)
                             : std::nullopt;
    const ZoltanParameters parameters{{"LB_METHOD", method}, {"OBJ_WEIGHT_DIM", "1"}};
    StockCloud stock(parameters);
    ZoltanHandle handle;
    handle.set("LB_METHOD", method);
    handle.set("MIGRATE_GRANULARITY", "1");
    handle.set("MIGRATE_VERIFY", "1");
    std::vector<std::uint32_t> ids = cloud_ids();
    const auto total = sum_over_ranks(static_cast<long long>(ids.size()));
    const std::unique_ptr<Holder> holder = GetParam().make(static_cast<std::size_t>(total));
    Attached cells = holder->attach(handle, ids.size());
    for (int step = 0; step < 3; ++step) {
      SCOPED_TRACE(step);
      stock.objects = ToldObjects(ids, step);
      stock.partition();
      const std::vector<std::uint32_t> after = stock.ids_after(Order::any, GetParam().block_bytes);
      holder->resize(std::max(ids.size(), after.size()));
      holder->on_host([&] {
        for (std::size_t k = 0; k < ids.size(); ++k) holder->write(k, ids[k], step);
      });
      EXPECT_EQ(partition_and_move(handle, moves.at(static_cast<std::size_t>(step))), ZOLTAN_OK);
      bool right = cells.count() == after.size();
      holder->on_host([&] {
        for (std::size_t k = 0; k < after.size(); ++k)
          right = right && holder->has(k, after[k], step);
      });
      EXPECT_TRUE(all_ranks(right));
      EXPECT_TRUE(size() == 1 || cells.result().report.block_bytes == GetParam().block_bytes);
      ids = after;
    }
    EXPECT_EQ(handle.code(), ZOLTAN_OK);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, AttachedKinds,
                         ::testing::Values(Kind{"Vectors",
                                                [](std::size_t slots) -> std::unique_ptr<Holder> {
                                                  return std::make_unique<VectorHolder>(slots);
                                                },
                                                false, VectorCloud::block_bytes},
                                           Kind{"LayoutLeft", in_views<Kokkos::LayoutLeft>},
                                           Kind{"LayoutRight", in_views<Kokkos::LayoutRight>},
                                           Kind{"Strided", in_strided_views},
                                           Kind{"OnDevice", on_device, true},
                                           Kind{"DualViews", in_dual_views, true}),
                         ParameterName());

/// As stock Zoltan is told.
ToldObjects told(const RaggedBlocks& blocks, int step) {
  ToldObjects objects;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    objects.ids.push_back(static_cast<std::uint32_t>(k));
    objects.places.push_back({place_of(blocks[k], step, 0), place_of(blocks[k], step, 1), 0});
    objects.weights.push_back(static_cast<float>(blocks[k].length));
  }
  return objects;
}

// All objects on rank 0, and no slot elsewhere.
TEST(AttachedStorage, EnlargesArraysThatGrow) {
  for (const char* const when : {"REFUSE", "GROW"})
    for (const char* const method : {"BLOCK", "RCB"}) {
      std::vector<double> x(rank() == 0 ? 60 : 0);
      std::vector<int> id(x.size());
      std::iota(id.begin(), id.end(), 0);
      std::iota(x.begin(), x.end(), 0.0);
      ZoltanHandle handle;
      handle.set("LB_METHOD", method);
      handle.set("MIGRATE_WHEN_INFEASIBLE", when);
      Attached cells(handle.get(), id.size(), growing(x), growing(id));
      cells.coordinates([&] { return array_columns(x.data(), x.size(), 1)(); });
      for (int step = 0; step < 2; ++step) {
        cells.partition();
        EXPECT_TRUE(all_ranks(cells.count() > 0));
        EXPECT_EQ(id.size(), rank() == 0 ? 60 : cells.count());
        EXPECT_EQ(lost_or_doubled(id, cells.count(), 60), 0);
        for (std::uint64_t k = 0; k < cells.count(); ++k) EXPECT_EQ(x[k], id[k]);
      }
    }
}

// The same of lists, each of as many values as its number, step after step.
TEST(AttachedStorage, EnlargesArenasThatGrow) {
  std::vector<std::uint64_t> lengths, values, number;
  std::vector<double> x;
  for (std::uint64_t k = 0; k < (rank() == 0 ? 60U : 0U); ++k) {
    lengths.push_back(8 * k);
    values.insert(values.end(), k, k);
    number.push_back(k);
    x.push_back(static_cast<double>(k));
  }
  ZoltanHandle handle;
  handle.set("LB_METHOD", "RCB");
  Attached cells(handle.get(), number.size(),
                 RaggedStorage({ragged_field(growing(values), growing(lengths))},
                               {growing(number, 1), growing(x, 1)}));
  cells.coordinates(array_columns(valet::ref(x), 1));
  for (int step = 0; step < 3; ++step) {
    cells.partition();
    EXPECT_TRUE(all_ranks(cells.count() > 0));
    EXPECT_EQ(lost_or_doubled(number, cells.count(), 60), 0);
    std::size_t at = 0;
    for (std::uint64_t k = 0; k < cells.count(); ++k) {
      for (std::uint64_t v = 0; v < number[k]; ++v) EXPECT_EQ(values[at++], number[k]);
      x[k] = static_cast<double>(60 - number[k]) * (step == 0 ? 1 : -1);  // they turn around
    }
  }
}

// In arenas that have no byte too many, by their bytes.
TEST(AttachedStorage, MovesBlocksOfDifferentSizes) {
  for (const char* const order : {"STABLE", "ANY"}) {
    std::mt19937_64 random(seed());
    RaggedCase c = some_case(random, size() - 2);
    RaggedObjects objects(mine(c), c.alignment, RaggedObjects::room_for(mine(c), c.alignment));
    StockCloud stock({{"LB_METHOD", "RCB"}, {"OBJ_WEIGHT_DIM", "1"}});
    ZoltanHandle handle;
    for (const auto& [name, value] : ZoltanParameters{{"LB_METHOD", "RCB"},
                                                      {"MIGRATE_ORDER", order},
                                                      {"MIGRATE_WHEN_INFEASIBLE", "GROW"},
                                                      {"MIGRATE_GRANULARITY", "1"}})
      handle.set(name, value);
    std::optional<RaggedRoom> asked;
    std::optional<Attached> cells;
    AttachedOptions options;
    options.grow_ragged = [&](const RaggedRoom& required) {
      asked = required;
      cells->storage(objects.grow_to(required));
    };
    cells.emplace(handle.get(), mine(c).size(), objects.storage(), options);
    for (int step = 0; step < 3; ++step) {
      SCOPED_TRACE(std::string(order) + ", step " + std::to_string(step));
      objects.blocks = mine(c);
      static_cast<void>(objects.grow_to(RaggedObjects::room_for(mine(c), c.alignment)));
      objects.write(step);
      cells->storage(objects.storage());
      // The third number is there for stock Zoltan's sake alone.
      cells->coordinates([&] {
        Columns columns = array_columns(objects.places.data(), objects.lengths.size(), 2)();
        static constexpr double zero = 0;
        columns.column[columns.size++] = column(&zero, 0);
        return columns;
      });
      cells->weights(zoltan::block_bytes(objects.fields().front()));
      stock.objects = told(mine(c), step);
      stock.partition();
      share_destinations(c, stock.ranks());
      const RaggedRoom held = objects.room();
      asked.reset();
      EXPECT_EQ(partition_and_move(handle, moves.at(static_cast<std::size_t>(step))), ZOLTAN_OK);
      RaggedBlocks expected = c.after(rank());
      const RaggedRoom needed = RaggedObjects::room_for(expected, c.alignment);
      EXPECT_TRUE(all_ranks(
          cells->count() == expected.size() &&
          (order[0] == 'S' ? objects.has(expected) : objects.has_in_any_order(expected))));
      const bool lacked = needed.blocks > held.blocks || needed.bytes[0] > held.bytes[0] ||
                          needed.bytes[1] > held.bytes[1];
      EXPECT_TRUE(all_ranks(lacked == asked.has_value()));
      ASSERT_TRUE(find_destinations(c, std::span(objects.names).first(cells->count())));
      c = moved(c);
      c.before[static_cast<std::size_t>(rank())] = expected;
    }
  }
}

}  // namespace
}  // namespace valet::test
