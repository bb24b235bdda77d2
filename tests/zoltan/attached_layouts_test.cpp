// SPDX-License-Identifier: BSD-3-Clause

// Attached storage remembers the layout that its objects are in: from layout to layout every object
// is where the layout has it, planned from the two layouts alone.

#include "geometry/intersection.hpp"
#include "numbered_objects.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace {

using namespace valet::test;
using valet::ObjectLayout;
using valet::zoltan::Attached;

const std::array chain{ObjectLayout::cyclic(4), ObjectLayout::cyclic(7), ObjectLayout::cyclic(4),
                       ObjectLayout::balanced(), ObjectLayout::cyclic(1)};

TEST(AttachedLayouts, AreExactThroughEveryFormOfLists) {
  for (const char* const lists : {"NONE", "ALL", "IMPORT", "EXPORT", "PARTS"}) {
    Numbered objects(even_counts(252), lists);
    std::uint64_t before = objects.cells.count();
    for (const ObjectLayout& layout : chain) {
      objects.choose(layout);
      const ZoltanLists given(objects.zoltan);
      EXPECT_EQ(given.code(), ZOLTAN_OK);
      objects.expect_in(layout);
      const auto& imports = given.imports();
      const auto& exports = given.exports();
      const bool changes = size() > 1;  // where nothing changes there is no list without a count
      const std::string asked = lists;
      if (exports.count > 0) {
        EXPECT_EQ(std::find(exports.procs, exports.procs + exports.count, rank()) !=
                      exports.procs + exports.count,
                  asked == "PARTS")
            << "objects that stay are listed in PARTS alone";
      }
      EXPECT_EQ(imports.count >= 0, !changes || asked == "ALL" || asked == "IMPORT");
      EXPECT_EQ(exports.count >= 0, !changes || (asked != "NONE" && asked != "IMPORT"));
      if (asked == "ALL") {
        EXPECT_EQ(before + static_cast<std::uint64_t>(imports.count) -
                      static_cast<std::uint64_t>(exports.count),
                  objects.cells.count());
      }
      const valet::Report& report = objects.cells.result().report;
      EXPECT_TRUE(size() == 1 || (report.plan_from_layout && report.segments > 0));
      before = objects.cells.count();
    }
  }
}

TEST(AttachedLayouts, AreReachedFromAnyOtherInRandomChains) {
  const std::uint64_t cases = cases_wanted(20);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    std::vector<std::uint64_t> counts;
    for (int r = 0; r < size(); ++r)
      counts.push_back(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, 60));
    Numbered objects(counts, pick(random, 0, 1) == 0 ? "NONE" : "ALL");
    for (int step = 0; step < 4; ++step) {
      const ObjectLayout layout{pick(random, 0, 12), 0};
      objects.choose(layout);
      EXPECT_EQ(ZoltanLists(objects.zoltan).code(), ZOLTAN_OK);
      if (objects.all > 0) {
        const auto expected = numbers_here(layout, objects.all);
        EXPECT_EQ(objects.here(), expected) << "blocks of " << layout.block_size;
      }
    }
  }
}

TEST(AttachedLayouts, GoOnFromWhatTheApplicationSays) {
  Numbered objects(even_counts(24));
  const ObjectLayout dealt = ObjectLayout::cyclic(2);
  const auto own = numbers_here(dealt, objects.all);
  std::ranges::copy(own, objects.number.begin());
  objects.cells.count(own.size());
  objects.cells.layout(dealt);
  objects.choose(ObjectLayout::balanced());
  EXPECT_EQ(objects.cells.partition(), size() > 1);
  objects.expect_in(ObjectLayout::balanced());
}

TEST(AttachedLayouts, AreForgottenWhereNothingIsKnownOfTheSlots) {
  Numbered objects(even_counts(30));
  const auto deal = [&] {
    objects.choose(ObjectLayout::cyclic(3));
    objects.cells.partition();
    EXPECT_TRUE(objects.cells.layout().has_value());
  };
  deal();
  objects.cells.forget_layout();
  EXPECT_FALSE(objects.cells.layout().has_value());
  deal();
  objects.cells.count(objects.cells.count());
  EXPECT_TRUE(objects.cells.layout().has_value()) << "it is the same count";
  objects.set("LB_METHOD", "RANDOM");
  EXPECT_FALSE(objects.cells.partition() && objects.cells.layout().has_value());
  deal();
  objects.set("MIGRATE_ORDER", "STABLE");
  objects.choose(ObjectLayout::balanced());
  EXPECT_FALSE(objects.cells.partition() && objects.cells.layout().has_value());
  objects.set("MIGRATE_ORDER", "DEFAULT");
  deal();
  EXPECT_EQ(Zoltan_Migrate(objects.zoltan, -1, nullptr, nullptr, nullptr, nullptr, 0, nullptr,
                           nullptr, nullptr, nullptr),
            ZOLTAN_OK);
  EXPECT_FALSE(objects.cells.layout().has_value());
  deal();
  // On one rank, and then none is in a layout.
  if (rank() == 0) objects.cells.count(objects.cells.count() - 1);
  EXPECT_EQ(objects.cells.layout().has_value(), rank() != 0);
  objects.set("LB_METHOD", "RANDOM");
  objects.cells.partition();
  EXPECT_FALSE(objects.cells.layout().has_value());
}

TEST(AttachedLayouts, StayWhereNothingMoves) {
  Numbered objects(even_counts(30));
  objects.choose(ObjectLayout::cyclic(3));
  objects.cells.partition();
  objects.set("MIGRATE_ORDER", "STABLE");
  EXPECT_FALSE(objects.cells.partition());
  objects.expect_in(ObjectLayout::cyclic(3));
}

TEST(AttachedLayouts, AreNotThoseOfPartitionsThatMoveNothing) {
  if (size() == 1) return;
  Numbered objects(even_counts(30), "ALL");
  objects.set("AUTO_MIGRATE", "FALSE");
  objects.choose(ObjectLayout::cyclic(3));
  const ZoltanLists lists(objects.zoltan);
  EXPECT_EQ(lists.code(), ZOLTAN_OK);
  EXPECT_FALSE(objects.cells.layout().has_value());
}

TEST(AttachedLayouts, HaveBlocksOfAnySize) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), 0);
  counts[0] = 20;  // one block
  Numbered objects(counts);
  objects.cells.layout(ObjectLayout::cyclic(std::uint64_t{1} << 63));
  objects.choose(ObjectLayout::cyclic(2));
  EXPECT_EQ(objects.cells.partition(), size() > 1);
  objects.expect_in(ObjectLayout::cyclic(2));
}

int ids_read = 0;

TEST(AttachedLayouts, WhoseListsCannotBeMadeAreAnErrorOnAllRanks) {
  Numbered objects(even_counts(12), "ALL");
  objects.choose(ObjectLayout::cyclic(2));
  ids_read = 0;
  objects.cells.ids([&objects]() -> valet::Columns {
    if (ids_read++ > 0 && rank() == size() - 1) throw std::runtime_error("no ids any more");
    return valet::array_columns(objects.number.data(), objects.number.size(), 1)();
  });
  testing::internal::CaptureStderr();
  const auto before = objects.here();
  const int code = ZoltanLists(objects.zoltan).code();
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, ZOLTAN_FATAL);
  if (rank() == 0) expect_words(printed, {"reading global ids", "no ids any more"});
  EXPECT_EQ(objects.here(), before);
}

void change_count(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                  ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
  Attached& cells = *static_cast<Attached*>(data);
  if (rank() == 0) cells.count(cells.count() - 1);
  *code = ZOLTAN_OK;
}

TEST(AttachedCount, IsNotChangedInACallback) {
  if (size() == 1) return;
  Numbered objects(even_counts(12));
  objects.choose(ObjectLayout::cyclic(2));
  Zoltan_Set_Pre_Migrate_PP_Fn(objects.zoltan, change_count, &objects.cells);
  expect_thrown(valet::ErrorCode::invalid_argument, {"changes count() from 12 to 11"},
                [&] { objects.cells.partition(); });
}

TEST(AttachedLayouts, ThatAreNotThoseOfTheObjectsAreAnErrorOnAllRanks) {
  Numbered objects(even_counts(20));
  if (rank() == 0) objects.cells.count(19);
  const auto before = objects.here();
  objects.cells.layout(ObjectLayout::balanced());
  objects.choose(ObjectLayout::cyclic(2));
  if (size() > 1)
    expect_thrown(valet::ErrorCode::invalid_argument,
                  {"the layout that the objects are in gives this rank", "or none"},
                  [&] { objects.cells.partition(); });
  EXPECT_TRUE(size() == 1 || objects.here() == before);
  objects.cells.forget_layout();
  objects.cells.layout(ObjectLayout::cyclic(2, size() + 1));
  expect_thrown(valet::ErrorCode::invalid_argument, {"is over", "but there are"},
                [&] { objects.cells.partition(); });
  if (size() == 1) return;
  objects.cells.forget_layout();
  if (rank() == 0) objects.cells.layout(ObjectLayout::balanced());
  expect_thrown(valet::ErrorCode::invalid_argument, {"whether the objects are in a layout"},
                [&] { objects.cells.partition(); });
}

TEST(AttachedLayouts, DoNotHideWhatZoltanIsTold) {
  Numbered objects(even_counts(40));
  objects.choose(ObjectLayout::balanced());
  objects.cells.partition();
  // All to the first rank.
  std::vector<float> sizes(static_cast<std::size_t>(size()), 0.0F);
  std::vector<int> parts(sizes.size());
  std::iota(parts.begin(), parts.end(), 0);
  sizes[0] = 1;
  ASSERT_EQ(
      Zoltan_LB_Set_Part_Sizes(objects.zoltan, 1, size(), parts.data(), nullptr, sizes.data()),
      ZOLTAN_OK);
  EXPECT_EQ(objects.cells.partition(), size() > 1);
  EXPECT_EQ(objects.cells.count(), rank() == 0 ? objects.all : 0);
  // Weights make bounds that are no layout's.
  Numbered heavy(even_counts(40));
  for (std::uint64_t k = 0; k < heavy.cells.count(); ++k) heavy.weight[k] = rank() == 0 ? 3 : 1;
  heavy.cells.weights(valet::array_columns(valet::ref(heavy.weight), 1));
  heavy.choose(ObjectLayout::balanced());
  EXPECT_FALSE(heavy.cells.partition() && heavy.cells.layout().has_value());
}

int objects_of_line(void* data, int* code) {
  *code = ZOLTAN_OK;
  return static_cast<int>(static_cast<Numbered*>(data)->cells.count());
}
/// From the last slot to the first.
void list_of_line(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                  int* code) {
  const Numbered& objects = *static_cast<Numbered*>(data);
  const std::uint64_t count = objects.cells.count();
  for (std::uint64_t k = 0; k < count; ++k) {
    gids[k] = static_cast<ZOLTAN_ID_TYPE>(objects.number[count - 1 - k]);
    lids[k] = static_cast<ZOLTAN_ID_TYPE>(count - 1 - k);
  }
  *code = ZOLTAN_OK;
}

TEST(AttachedLayouts, DoNotHideTheOrderInWhichTheApplicationTells) {
  if (size() == 1) return;
  std::vector<std::uint64_t> counts = even_counts(20);
  counts[0] = 60;
  Numbered objects(counts);
  Zoltan_Set_Num_Obj_Fn(objects.zoltan, objects_of_line, &objects);
  Zoltan_Set_Obj_List_Fn(objects.zoltan, list_of_line, &objects);
  objects.choose(ObjectLayout::balanced());
  EXPECT_TRUE(objects.cells.partition());
  const auto here = objects.here();
  EXPECT_TRUE(rank() != 0 || std::ranges::find(here, 0U) == here.end())
      << "what is listed last goes to the next rank";
}

TEST(AttachedLayouts, AreWhatARebalancerReturnsAndTakes) {
  std::vector<std::uint64_t> number(1000);
  std::uint64_t count = 84;
  const std::uint64_t all = count * static_cast<std::uint64_t>(size());
  std::iota(number.begin(), number.end(), count * static_cast<std::uint64_t>(rank()));
  std::optional<ObjectLayout> layout;
  for (const ObjectLayout& next : chain) {
    valet::zoltan::RebalancerOptions options;
    options.method = next.block_size == 0 ? "BLOCK" : "BLOCK_CYCLIC";
    options.block_size = std::max<std::uint64_t>(1, next.block_size);
    valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
    rebalancer.from(layout);
    const auto result = rebalancer.rebalance(count, valet::BlockStorage{valet::field(number)});
    count = result.count;
    layout = result.layout;
    ASSERT_EQ(layout, next);
    const auto expected = numbers_here(next, all);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), number.begin())) << next.block_size;
  }
}

TEST(AttachedLayouts, ExchangeNeitherCountsNorSlots) {
  Numbered objects(even_counts(2000));
  // Blocks of 500 at both ends: with every rank whose counts were announced there was a message.
  objects.choose(ObjectLayout::cyclic(4));
  objects.cells.partition();
  objects.cells.partition();
  objects.choose(ObjectLayout::cyclic(7));
  communication = {};
  objects.cells.partition();
  expect_only_blocks_sent(objects.cells.result().report);
}

/// Entries of ASPEN's walk on this rank.
template <class Call>
std::uint64_t walks_in(Call&& call) {
  const std::uint64_t before = valet::layout::aspen_walks;
  call();
  return valet::layout::aspen_walks - before;
}

TEST(AttachedLayouts, ArePlannedByAspensWalkAtEveryDoor) {
  const ObjectLayout from = ObjectLayout::cyclic(4), to = ObjectLayout::cyclic(7);
  Numbered here(even_counts(252));
  const std::uint64_t count = numbers_here(from, here.all).size();
  const std::uint64_t walks = walks_in([&] {
    static_cast<void>(
        valet::plan_to_layout(MPI_COMM_WORLD, {valet::field(here.number)}, count, from, to));
  });
  EXPECT_EQ(walks, 4U) << "at both ends, to count the families and to list them";
  if (size() == 1) return;  // where nothing changes, nothing is planned
  for (const char* const lists : {"NONE", "ALL", "EXPORT"}) {
    Numbered objects(even_counts(252), lists);
    const auto walks_to = [&](const ObjectLayout& layout) {
      objects.choose(layout);
      return walks_in([&] { EXPECT_EQ(ZoltanLists(objects.zoltan).code(), ZOLTAN_OK); });
    };
    EXPECT_EQ(walks_to(from), 0U) << "an interval is dealt";
    EXPECT_EQ(walks_to(to), walks) << lists;
    objects.expect_in(to);
    EXPECT_EQ(walks_to(ObjectLayout::balanced()), 0U);
  }
  valet::zoltan::RebalancerOptions options;
  options.method = "BLOCK_CYCLIC";
  options.block_size = to.block_size;
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.from(from);
  EXPECT_EQ(walks_in([&] {
              rebalancer.rebalance(count, valet::BlockStorage{valet::field(here.number)});
            }),
            walks);
}

TEST(AttachedIds, KeepObjectsOutOfCellsOnlyWhereSomebodySeesThem) {
  if (size() == 1) return;
  for (const char* const lists : {"NONE", "ALL"}) {
    Numbered objects(even_counts(20000), lists);
    for (std::uint64_t k = 0; k < objects.cells.count(); ++k)
      objects.weight[k] = static_cast<double>(objects.number[k] * 7919 % objects.all);
    objects.cells.coordinates(valet::array_columns(valet::ref(objects.weight), 1))
        .ids(valet::array_columns(valet::ref(objects.number), 1));
    objects.set("LB_METHOD", "RCB");
    EXPECT_EQ(ZoltanLists(objects.zoltan).code(), ZOLTAN_OK);
    EXPECT_EQ(objects.cells.result().largest_cell_share > 0, std::string(lists) == "NONE");
  }
}

TEST(BlockCyclic, IsAMethodOfAttachedStorageAlone) {
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  EXPECT_EQ(Zoltan_Set_Param(zoltan, "LB_METHOD", "BLOCK_CYCLIC"), ZOLTAN_OK);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ZoltanLists(zoltan).code(), ZOLTAN_FATAL);
  int n = 0;
  int* procs = nullptr;
  ZOLTAN_ID_PTR ids = nullptr;
  EXPECT_EQ(Valet_LB_Balance(zoltan, &n, &n, &n, &n, &ids, &ids, &procs, &n, &ids, &ids, &procs),
            ZOLTAN_FATAL);
  expect_words(testing::internal::GetCapturedStderr(), {"BLOCK_CYCLIC", "attached"});
  testing::internal::CaptureStderr();
  for (const char* const wrong :
       {"0", "-4", "2x0", "2x", "x3", "1x1x1x1x1x1x1", "2y3", "many", "", "99999999999"})
    EXPECT_EQ(Zoltan_Set_Param(zoltan, "LB_BLOCK_SIZE", wrong), ZOLTAN_WARN) << wrong;
  expect_words(testing::internal::GetCapturedStderr(), {"LB_BLOCK_SIZE", "from 1 on"});
  Zoltan_Destroy(&zoltan);
  Numbered objects(even_counts(12));
  objects.choose(ObjectLayout::cyclic(2));
  objects.set("NUM_GLOBAL_PARTS", std::to_string(2 * size()));
  expect_thrown(valet::ErrorCode::invalid_argument, {"to ranks, not to parts"},
                [&] { objects.cells.partition(); });
}

}  // namespace
