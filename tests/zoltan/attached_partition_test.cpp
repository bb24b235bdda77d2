// SPDX-License-Identifier: BSD-3-Clause

// What an application may want of Zoltan with attached storage: parts that are not ranks, query
// functions of its own, growth in a callback or where a partition does not fit, ranks without
// objects; the lists and what is said of changes are those of stock Zoltan.

#include "attached_cloud.hpp"
#include "kokkos_environment.hpp"
#include "ragged_objects.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// A structure for attached storage that partitions each object by itself, as stock Zoltan.
struct AttachedHandle : ZoltanHandle {
  explicit AttachedHandle(const ZoltanParameters& parameters = {}) {
    set("MIGRATE_GRANULARITY", "1");
    set("MIGRATE_VERIFY", "1");
    for (const auto& [name, value] : parameters) set(name, value);
  }
};

std::uint64_t total_of(const std::vector<std::uint32_t>& ids) {
  return static_cast<std::uint64_t>(sum_over_ranks(static_cast<long long>(ids.size())));
}

/// The parts of all objects by id, on all ranks. Collective.
std::vector<int> parts_by_id(const std::vector<std::uint32_t>& ids, const std::vector<int>& parts,
                             std::uint64_t total) {
  std::vector<int> all(total, -1);
  for (std::size_t k = 0; k < ids.size(); ++k) all.at(ids[k]) = parts[k];
  MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(total), MPI_INT, MPI_MAX,
                MPI_COMM_WORLD);
  return all;
}

struct PartsCase {
  const char* name;
  const char* auto_migrate;
  const char* return_lists;
  bool local = false;  ///< NUM_LOCAL_PARTS
};
std::ostream& operator<<(std::ostream& out, const PartsCase& c) { return out << c.name; }

class AttachedParts : public ::testing::TestWithParam<PartsCase> {};

ZoltanParameters parameters_of_parts(const PartsCase& c, const char* method) {
  return {{"LB_METHOD", method},
          c.local ? std::pair<std::string, std::string>{"NUM_LOCAL_PARTS",
                                                        std::to_string(1 + rank() % 2)}
                  : std::pair<std::string, std::string>{"NUM_GLOBAL_PARTS",
                                                        std::to_string(2 * size() + 1)}};
}

TEST_P(AttachedParts, AreWrittenMoveAlongAndAreAskedFor) {
  for (const char* const method : {"RCB", "HSFC", "BLOCK"}) {
    SCOPED_TRACE(method);
    const ZoltanParameters parameters = parameters_of_parts(GetParam(), method);
    StockCloud stock(parameters +
                     ZoltanParameters{{"RETURN_LISTS", "PARTS"}, {"OBJ_WEIGHT_DIM", "1"}});
    AttachedHandle handle(parameters);
    handle.set("AUTO_MIGRATE", GetParam().auto_migrate);
    handle.set("RETURN_LISTS", GetParam().return_lists);
    std::vector<std::uint32_t> ids = cloud_ids();
    const std::uint64_t total = total_of(ids);
    VectorCloud cloud(ids, total);
    std::vector<int> parts(total, 0);
    Attached cells = cloud.attach(handle, ids.size());
    cells.parts(valet::ref(parts));
    for (int step = 0; step < 3; ++step) {
      SCOPED_TRACE(step);
      for (std::size_t k = 0; k < ids.size(); ++k) cloud.write(k, ids[k], step);
      stock.objects = ToldObjects(ids, step);
      stock.objects.parts.assign(parts.begin(),
                                 parts.begin() + static_cast<std::ptrdiff_t>(ids.size()));
      const ZoltanLists& lists = stock.partition();
      std::vector<int> expected(ids.size(), 0);
      for (int k = 0; k < lists.exports().count; ++k)
        expected.at(lists.exports().lids[k]) = lists.exports().parts[k];
      const std::vector<int> expected_by_id = parts_by_id(ids, expected, total);
      const ZoltanLists own(handle.get());
      EXPECT_EQ(own.code(), ZOLTAN_OK);
      if (std::string(GetParam().auto_migrate) == "FALSE") {
        EXPECT_EQ(own.migrate(handle.get()), ZOLTAN_OK);
      }
      ids = stock.ids_after(Order::any, VectorCloud::block_bytes + sizeof(int));
      EXPECT_TRUE(all_ranks(cloud.has_all(ids, cells.count(), step)));
      EXPECT_EQ(parts_by_id(ids, parts, total), expected_by_id);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoltan, AttachedParts,
    ::testing::Values(PartsCase{"None", "TRUE", "NONE"},
                      PartsCase{"NoneLocal", "TRUE", "NONE", true}, PartsCase{"All", "TRUE", "ALL"},
                      PartsCase{"Import", "TRUE", "IMPORT"},
                      PartsCase{"ZoltanMigrate", "FALSE", "ALL"},
                      PartsCase{"ZoltanMigrateOfParts", "FALSE", "PARTS"},
                      PartsCase{"ZoltanMigrateOfImportsLocal", "FALSE", "IMPORT", true}),
    ParameterName());

/// What Zoltan's callbacks around a migration were called with.
struct StageCalls {
  int pre = 0, mid = 0, post = 0;
  std::uint64_t counts = 0;  ///< objects listed, in all calls

  void listen(Zoltan_Struct* zoltan) {
    Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, call<&StageCalls::pre>, this);
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, call<&StageCalls::mid>, this);
    Zoltan_Set_Post_Migrate_PP_Fn(zoltan, call<&StageCalls::post>, this);
  }

 private:
  template <int StageCalls::*stage>
  static void call(void* data, int, int, int imports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
                   int exports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    auto& self = *static_cast<StageCalls*>(data);
    ++(self.*stage);
    self.counts += static_cast<std::uint64_t>(std::max(imports, 0) + std::max(exports, 0));
    *code = ZOLTAN_OK;
  }
};

// Rank r has the parts 2 r and 2 r + 1, and all its objects are said to be in the first.
TEST(AttachedPartition, LeavesObjectsThatChangeOnlyTheirPart) {
  AttachedHandle handle({{"LB_METHOD", "BLOCK"},
                         {"NUM_LOCAL_PARTS", "2"},
                         {"AUTO_MIGRATE", "TRUE"},
                         {"RETURN_LISTS", "NONE"}});
  constexpr std::size_t each = 30;
  std::vector<std::uint32_t> ids(each);
  std::iota(ids.begin(), ids.end(),
            static_cast<std::uint32_t>(each) * static_cast<std::uint32_t>(rank()));
  VectorCloud cloud(ids, each);  // no slot is free
  std::vector<int> parts(each, 2 * rank());
  Attached cells = cloud.attach(handle, each);
  cells.weights({}).parts(valet::ref(parts));
  StageCalls calls;
  calls.listen(handle.get());
  const ZoltanLists lists(handle.get());
  EXPECT_EQ(lists.code(), ZOLTAN_OK);
  EXPECT_TRUE(lists.changes());
  EXPECT_TRUE(all_ranks(cloud.has_all(ids, cells.count())));
  bool right = true;
  for (std::size_t k = 0; k < each; ++k)
    right = right && parts[k] == 2 * rank() + (k < each / 2 ? 0 : 1);
  EXPECT_TRUE(all_ranks(right));
  EXPECT_EQ(calls.pre + calls.mid + calls.post, 3);
  EXPECT_EQ(cells.result().report.blocks_sent, 0U);
  const ZoltanLists again(handle.get());
  EXPECT_FALSE(again.changes());
  EXPECT_EQ(calls.pre + calls.mid + calls.post, 3) << "none where nothing changes";
}

TEST(AttachedPartition, WritesRanksAsPartsWhereThereAreNoOthers) {
  for (const char* const auto_migrate : {"TRUE", "FALSE"}) {
    const std::vector<std::uint32_t> ids = cloud_ids();
    AttachedHandle handle({{"LB_METHOD", "HSFC"}, {"AUTO_MIGRATE", auto_migrate}});
    VectorCloud cloud(ids, total_of(ids));
    std::vector<int> parts(cloud.id.size() + 3, -1);  // more than slots
    std::fill_n(parts.begin(), ids.size(), rank());
    Attached cells = cloud.attach(handle, ids.size());
    cells.parts(valet::ref(parts));
    const ZoltanLists lists(handle.get());
    if (auto_migrate[0] == 'F') {
      EXPECT_EQ(lists.migrate(handle.get()), ZOLTAN_OK);
    }
    EXPECT_TRUE(all_ranks(std::all_of(parts.begin(),
                                      parts.begin() + static_cast<std::ptrdiff_t>(cells.count()),
                                      [](int part) { return part == rank(); })));
  }
}

/// Lists as vectors, with nothing where there are none.
struct ListCopy {
  explicit ListCopy(const ZoltanLists& from) : code(from.code()), changes(from.changes()) {
    for (const auto* const list : {&from.imports(), &from.exports()}) {
      counts.push_back(list->count);
      const auto count = static_cast<std::size_t>(std::max(0, list->count));
      for (const ZOLTAN_ID_PTR words : {list->gids, list->lids})
        if (count > 0) ids.insert(ids.end(), words, words + count);
      for (const int* const numbers : {list->procs, list->parts})
        if (count > 0) others.insert(others.end(), numbers, numbers + count);
    }
  }
  bool operator==(const ListCopy&) const = default;
  int code;
  bool changes;
  std::vector<int> counts, others;
  std::vector<ZOLTAN_ID_TYPE> ids;
};

class ReturnListsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ReturnListsOf, AttachedStorageAreThoseOfStockZoltan) {
  for (const char* const method : {"RCB", "HSFC", "BLOCK", "CYCLIC"})
    for (const char* const auto_migrate : {"TRUE", "FALSE"}) {
      SCOPED_TRACE(std::string(method) + ", AUTO_MIGRATE " + auto_migrate);
      const ZoltanParameters parameters{
          {"LB_METHOD", method}, {"RETURN_LISTS", GetParam()}, {"MIGRATE_ORDER", "STABLE"}};
      StockCloud stock(parameters + ZoltanParameters{{"OBJ_WEIGHT_DIM", "1"}});
      StockCloud map({{"LB_METHOD", method}, {"OBJ_WEIGHT_DIM", "1"}});  // tells all
      AttachedHandle handle(parameters);
      handle.set("AUTO_MIGRATE", auto_migrate);
      std::vector<std::uint32_t> ids = cloud_ids();
      VectorCloud cloud(ids, total_of(ids));
      Attached cells = cloud.attach(handle, ids.size());
      int same = 0;
      for (int step = 0; step < 3; ++step) {
        SCOPED_TRACE(step);
        stock.objects = map.objects = ToldObjects(ids, 0);
        map.partition();
        ListCopy expected(stock.partition());
        // There methods by coordinates always tell Zoltan of changes.
        if (GetParam() == std::string("NONE")) {
          expected.changes = map.lists().changes();
          expected.counts.assign(2, expected.changes ? -1 : 0);
        }
        const ZoltanLists lists(handle.get());
        EXPECT_TRUE(all_ranks(ListCopy(lists) == expected));
        same += expected.changes ? 0 : 1;
        if (auto_migrate[0] == 'F') break;
        ids = map.ids_after(Order::stable, VectorCloud::block_bytes);
        EXPECT_TRUE(all_ranks(cloud.has_all(ids, cells.count())));
      }
      if (std::string(method) == "BLOCK" && auto_migrate[0] == 'T') {
        EXPECT_GT(same, 0) << "no call without a change";
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, ReturnListsOf,
                         ::testing::Values("NONE", "ALL", "EXPORT", "IMPORT", "PARTS"),
                         ParameterName());

/// By which partition there are too many on a rank: the upper half weighs a ninth.
float crowding_weight(std::uint32_t id, std::uint64_t total) { return id < total / 2 ? 1 : 9; }

struct Crowd {
  explicit Crowd(std::size_t free) : cloud({}, each + free), ids(each) {
    // Dealt to the ranks in turn, on a line.
    for (std::size_t k = 0; k < each; ++k) {
      ids[k] = static_cast<std::uint32_t>(k) * static_cast<std::uint32_t>(size()) +
               static_cast<std::uint32_t>(rank());
      write(k, ids[k]);
    }
    stock.objects.ids = ids;
    for (const std::uint32_t id : ids) {
      stock.objects.places.push_back({static_cast<double>(id), 0, 0});
      stock.objects.weights.push_back(crowding_weight(id, total()));
    }
  }
  static std::uint64_t total() { return each * static_cast<std::uint64_t>(size()); }
  void write(std::size_t slot, std::uint32_t id) {
    cloud.id[slot] = id;
    cloud.place[3 * slot] = id;
    cloud.weight[slot] = crowding_weight(id, total());
  }
  [[nodiscard]] bool has(const std::vector<std::uint32_t>& all, std::uint64_t count) const {
    bool right = count == all.size() && count <= cloud.id.size();
    for (std::size_t k = 0; right && k < all.size(); ++k)
      right = cloud.id[k] == all[k] && cloud.place[3 * k] == all[k] &&
              cloud.weight[k] == crowding_weight(all[k], total());
    return right;
  }
  static constexpr std::size_t each = 60;
  VectorCloud cloud;
  std::vector<std::uint32_t> ids;
  StockCloud stock{{{"LB_METHOD", "RCB"}, {"OBJ_WEIGHT_DIM", "1"}}};
};

/// The ways to a partition that may not fit.
class AttachedCrowd : public ::testing::TestWithParam<const char*> {
 protected:
  /// @return The code of the last of Zoltan's functions.
  static int go(AttachedHandle& handle) {
    handle.set("AUTO_MIGRATE", std::string(GetParam()) == "Migrate" ? "FALSE" : "TRUE");
    handle.set("RETURN_LISTS", std::string(GetParam()) == "None" ? "NONE" : "ALL");
    const ZoltanLists lists(handle.get());
    if (lists.code() != ZOLTAN_OK || std::string(GetParam()) != "Migrate") return lists.code();
    return lists.migrate(handle.get());
  }
};

TEST_P(AttachedCrowd, IsRefusedRepairedOrGivenRoom) {
  for (const char* const what : {"REFUSE", "REPAIR", "GROW"})
    for (const std::size_t free : {0, 5}) {
      SCOPED_TRACE(std::string(what) + " with free slots: " + std::to_string(free));
      Crowd crowd(free);
      crowd.stock.partition();
      const std::vector<std::uint32_t> fits =
          crowd.stock.ids_after(Order::any, VectorCloud::block_bytes);
      AttachedHandle handle({{"LB_METHOD", "RCB"}, {"MIGRATE_WHEN_INFEASIBLE", what}});
      std::optional<std::uint64_t> asked;
      AttachedOptions options;
      options.grow = [&](std::uint64_t required) {
        asked = required;
        crowd.cloud.resize(required);
      };
      Attached cells = crowd.cloud.attach(handle, crowd.ids.size(), options);
      const int code = go(handle);
      // Lists would not be those of what moves.
      const bool is_of_lists = what == std::string("REPAIR") && GetParam() != std::string("None");
      const bool is_refused = is_of_lists || (what == std::string("REFUSE") && size() > 1);
      EXPECT_EQ(code, is_refused ? ZOLTAN_FATAL : ZOLTAN_OK);
      if (is_refused) {
        EXPECT_TRUE(all_ranks(crowd.has(crowd.ids, cells.count())));
      } else if (what == std::string("GROW")) {
        EXPECT_TRUE(all_ranks(crowd.has(fits, cells.count())));
        EXPECT_TRUE(all_ranks(asked.has_value() == (fits.size() > Crowd::each + free) &&
                              asked.value_or(fits.size()) == fits.size()));
      } else {
        EXPECT_TRUE(all_ranks(cells.count() <= Crowd::each + free));
        EXPECT_EQ(lost_or_doubled(crowd.cloud.id, cells.count(), Crowd::total()), 0);
        const std::vector<std::uint32_t> now(
            crowd.cloud.id.begin(),
            crowd.cloud.id.begin() + static_cast<std::ptrdiff_t>(cells.count()));
        EXPECT_TRUE(all_ranks(crowd.has(now, cells.count())));
        EXPECT_EQ(sum_over_ranks(wrong_slots_of({crowd.ids.begin(), crowd.ids.end()},
                                                {now.begin(), now.end()}, Order::any,
                                                VectorCloud::block_bytes)),
                  0);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, AttachedCrowd, ::testing::Values("None", "All", "Migrate"),
                         ParameterName());

/// Views that a callback enlarges when it knows what arrives.
struct GrowingViews {
  Kokkos::View<std::uint32_t*> id{"id", Crowd::each};
  Kokkos::View<double* [3]> place { "place", Crowd::each };
  Kokkos::View<float*> weight{"weight", Crowd::each};

  static void grow(void* data, int, int, int imports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
                   int exports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    auto& self = *static_cast<GrowingViews*>(data);
    const std::size_t slots =
        imports < 0 || exports < 0
            ? Crowd::total()
            : Crowd::each + static_cast<std::size_t>(imports) - static_cast<std::size_t>(exports);
    Kokkos::resize(self.id, std::max(slots, Crowd::each));
    Kokkos::resize(self.place, std::max(slots, Crowd::each));
    Kokkos::resize(self.weight, std::max(slots, Crowd::each));
    *code = ZOLTAN_OK;
  }
};

TEST_P(AttachedCrowd, HasTheRoomThatACallbackMakes) {
  Crowd crowd(0);
  crowd.stock.partition();
  const std::vector<std::uint32_t> expected =
      crowd.stock.ids_after(Order::any, VectorCloud::block_bytes);
  GrowingViews views;
  for (std::size_t k = 0; k < Crowd::each; ++k) {
    views.id(k) = crowd.ids[k];
    views.place(k, 0) = crowd.ids[k];
    views.weight(k) = crowding_weight(crowd.ids[k], Crowd::total());
  }
  AttachedHandle handle;  // RCB
  Zoltan_Set_Pre_Migrate_PP_Fn(handle.get(), GrowingViews::grow, &views);
  Attached cells(handle.get(), Crowd::each, valet::ref(views.id), valet::ref(views.place),
                 valet::ref(views.weight));
  cells.coordinates(valet::ref(views.place)).weights(valet::ref(views.weight));
  EXPECT_EQ(go(handle), ZOLTAN_OK);
  bool right = cells.count() == expected.size();
  for (std::size_t k = 0; right && k < expected.size(); ++k)
    right = views.id(k) == expected[k] && views.place(k, 0) == expected[k];
  EXPECT_TRUE(all_ranks(right));
}

/// The same arrays in memory that the ranks of a node share, which grow where they are.
struct GrowingNodeArrays {
  NodeArray<std::uint32_t> id = node_array<std::uint32_t>(MPI_COMM_WORLD, Crowd::each);
  NodeArray<double> place = node_array<double>(MPI_COMM_WORLD, Crowd::each);
  NodeArray<float> weight = node_array<float>(MPI_COMM_WORLD, Crowd::each);

  static void grow(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                   ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    auto& self = *static_cast<GrowingNodeArrays*>(data);
    self.id.resize(Crowd::total());
    self.place.resize(Crowd::total());
    self.weight.resize(Crowd::total());
    *code = ZOLTAN_OK;
  }
};

TEST_P(AttachedCrowd, HasTheRoomThatACallbackMakesInNodeArrays) {
  Crowd crowd(0);
  crowd.stock.partition();
  const std::vector<std::uint32_t> expected =
      crowd.stock.ids_after(Order::any, VectorCloud::block_bytes);
  GrowingNodeArrays arrays;
  for (std::size_t k = 0; k < Crowd::each; ++k) {
    arrays.id[k] = crowd.ids[k];
    arrays.place[k] = crowd.ids[k];
    arrays.weight[k] = crowding_weight(crowd.ids[k], Crowd::total());
  }
  AttachedHandle handle;  // RCB
  Zoltan_Set_Pre_Migrate_PP_Fn(handle.get(), GrowingNodeArrays::grow, &arrays);
  Attached cells(handle.get(), Crowd::each, valet::ref(arrays.id), valet::ref(arrays.place),
                 valet::ref(arrays.weight));
  cells.coordinates(array_columns(valet::ref(arrays.place), 1))
      .weights(array_columns(valet::ref(arrays.weight), 1));
  EXPECT_EQ(go(handle), ZOLTAN_OK);
  bool right = cells.count() == expected.size();
  for (std::size_t k = 0; right && k < expected.size(); ++k)
    right = arrays.id[k] == expected[k] && arrays.place[k] == expected[k];
  EXPECT_TRUE(all_ranks(right));
}

// REPAIR counts slots and no bytes.
TEST_P(AttachedCrowd, OfBlocksOfDifferentSizesIsRefused) {
  if (size() == 1) return;
  RaggedCase c;
  c.before.resize(static_cast<std::size_t>(size()));
  for (std::uint64_t k = 0; k < 40; ++k) c.before[0].push_back({40 + k, 0, k, 0});
  RaggedObjects objects(mine(c), 1, RaggedObjects::room_for(mine(c), 1));
  for (const char* const what : {"REFUSE", "REPAIR"}) {
    SCOPED_TRACE(what);
    AttachedHandle handle({{"LB_METHOD", "RCB"}, {"MIGRATE_WHEN_INFEASIBLE", what}});
    Attached cells(handle.get(), mine(c).size(), objects.storage());
    cells.coordinates(array_columns(objects.places.data(), objects.lengths.size(), 2));
    EXPECT_EQ(go(handle), ZOLTAN_FATAL);
    EXPECT_TRUE(all_ranks(cells.count() == mine(c).size() && objects.has(mine(c))));
  }
}

TEST(AttachedPartition, IsNothingWhereThereAreNoObjects) {
  for (const char* const method : {"RCB", "RIB", "HSFC", "BLOCK", "CYCLIC", "RANDOM"})
    for (const char* const return_lists : {"NONE", "ALL", "PARTS"}) {
      SCOPED_TRACE(std::string(method) + ", " + return_lists);
      AttachedHandle handle(
          {{"LB_METHOD", method}, {"RETURN_LISTS", return_lists}, {"AUTO_MIGRATE", "TRUE"}});
      VectorCloud cloud({}, static_cast<std::size_t>(rank()));  // the first has no slots
      Attached cells = cloud.attach(handle, 0);
      const ZoltanLists lists(handle.get());
      EXPECT_EQ(lists.code(), ZOLTAN_OK);
      EXPECT_FALSE(lists.changes());
      EXPECT_LE(std::max(lists.imports().count, lists.exports().count), 0);
      EXPECT_EQ(cells.count(), 0U);
      EXPECT_FALSE(cells.partition());
      EXPECT_EQ(Zoltan_Migrate(handle.get(), -1, nullptr, nullptr, nullptr, nullptr, 0, nullptr,
                               nullptr, nullptr, nullptr),
                ZOLTAN_OK);
    }
}

// Its objects are at other places, and have other ids and weights, than the attached columns say.
TEST(AttachedPartition, ObeysQueriesOfTheApplication) {
  for (const char* const return_lists : {"NONE", "ALL"})
    for (const bool tells_objects : {true, false}) {
      SCOPED_TRACE(std::string(return_lists) + (tells_objects ? ", objects" : ", places"));
      const std::vector<std::uint32_t> ids = cloud_ids();
      VectorCloud cloud(ids, total_of(ids));
      const ZoltanParameters parameters{
          {"LB_METHOD", "RCB"}, {"OBJ_WEIGHT_DIM", "1"}, {"NUM_GID_ENTRIES", "2"}};
      StockCloud stock(parameters);
      stock.objects = ToldObjects(ids, 1);
      if (!tells_objects) stock.objects.weights = ToldObjects(ids, 0).weights;
      stock.partition();
      AttachedHandle handle(parameters);
      handle.set("AUTO_MIGRATE", "TRUE");
      handle.set("RETURN_LISTS", return_lists);
      if (tells_objects) stock.objects.tell_objects(handle.get());
      stock.objects.tell_places(handle.get());
      Attached cells = cloud.attach(handle, ids.size());
      const ZoltanLists lists(handle.get());
      EXPECT_EQ(lists.code(), ZOLTAN_OK);
      EXPECT_TRUE(all_ranks(
          cloud.has_all(stock.ids_after(Order::any, VectorCloud::block_bytes), cells.count())));
      EXPECT_EQ(lists.gid_entries(), tells_objects ? 2 : 1);
    }
}

// Valet's ids have one word, the application's have two: it has said so before.
TEST(AttachedPartition, GivesBackHowLongIdsAre) {
  for (const bool detaches : {true, false}) {
    SCOPED_TRACE(detaches ? "after it" : "while attached");
    const std::vector<std::uint32_t> ids = cloud_ids();
    VectorCloud cloud(ids, total_of(ids));
    AttachedHandle handle({{"NUM_GID_ENTRIES", "2"}, {"RETURN_LISTS", "PARTS"}});
    Attached cells = cloud.attach(handle, ids.size());
    EXPECT_EQ(ZoltanLists(handle.get()).gid_entries(), 1);
    if (detaches) cells.detach();
    ToldObjects objects(ids, 0);
    objects.tell_objects(handle.get());
    objects.tell_places(handle.get());
    const ZoltanLists lists(handle.get());
    EXPECT_EQ(lists.gid_entries(), 2);
    bool right = lists.exports().count == static_cast<int>(ids.size());
    for (std::size_t k = 0; right && lists.gid_entries() == 2 && k < ids.size(); ++k)
      right = lists.exports().gids[2 * k + 1] == ids[lists.exports().lids[k]];
    EXPECT_TRUE(all_ranks(right));
  }
}

// A View that is resized alone: it is named, and nothing moves.
TEST(AttachedPartition, NamesAnArrayOfAnotherLength) {
  const std::vector<std::uint32_t> ids = cloud_ids();
  VectorCloud cloud(ids, total_of(ids));
  AttachedHandle handle;  // RCB
  Attached cells = cloud.attach(handle, ids.size());
  cloud.weight.resize(cloud.id.size() + 1);
  expect_error(outcome_of([&] { cells.partition(); }), ErrorCode::field_mismatch,
               {"field 2 has ", "all fields of a storage need the same number"});
}

}  // namespace
}  // namespace valet::test
