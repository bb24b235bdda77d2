// SPDX-License-Identifier: BSD-3-Clause

// What mid gets in STEPS: the caller's lists in the caller's order, all of them in one step where
// the budget is enough for that, as in stock Zoltan, or a part of them in each step. And what is
// said of applications that are not fit for steps.

#include "object_client.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

/// One of the lists of a call: (global id, local id, rank, part) of each object.
struct List {
  int count = -1;
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs, parts;

  void add(ZOLTAN_ID_TYPE gid, ZOLTAN_ID_TYPE lid, int proc, int part) {
    count = std::max(count, 0) + 1;
    gids.push_back(gid);
    lids.push_back(lid);
    procs.push_back(proc);
    parts.push_back(part);
  }
  void add(const List& from, int first, int number) {
    for (int k = first; k < first + number; ++k) {
      const auto at = static_cast<std::size_t>(k);
      add(from.gids[at], from.lids[at], from.procs[at], from.parts[at]);
    }
  }
  bool operator==(const List&) const = default;
};

List list_of(int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, const int* procs,
             const int* parts) {
  List list;
  list.count = count;
  for (int k = 0; k < count; ++k) {
    if (gids != nullptr) list.gids.push_back(gids[k]);
    if (lids != nullptr) list.lids.push_back(lids[k]);
    if (procs != nullptr) list.procs.push_back(procs[k]);
    if (parts != nullptr) list.parts.push_back(parts[k]);
  }
  return list;
}

/// Objects of one rank, and the lists that a partitioner would give: not sorted by rank, and with
/// objects of which only the part changes.
struct Lists {
  std::vector<ZOLTAN_ID_TYPE> objects;
  List imports, exports;
};

/// @param in_blocks  Whether the objects of each source stand together in the imports.
Lists random_lists(std::uint64_t number, bool in_blocks) {
  Lists lists;
  for (int source = 0; source < size(); ++source) {
    std::mt19937_64 random(seed() + 100 * number + static_cast<std::uint64_t>(source));
    for (int k = 0; k < 200; ++k) {
      const auto gid = static_cast<ZOLTAN_ID_TYPE>(1000 * source + k);
      const int to = static_cast<int>(random() % static_cast<std::uint64_t>(size()));
      const int part = 10 * to + static_cast<int>(random() % 3);
      if (source == rank()) {
        lists.objects.push_back(gid);
        if (to != source || k % 4 == 0) lists.exports.add(gid, gid + 7, to, part);
      }
      if (to == rank() && (to != source || k % 4 == 0))
        lists.imports.add(gid, gid + 7, source, part);
    }
  }
  std::mt19937_64 random(seed() + 7 * number + static_cast<std::uint64_t>(rank()));
  std::vector<int> order(static_cast<std::size_t>(std::max(lists.imports.count, 0)));
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  if (in_blocks)
    std::ranges::stable_sort(order, std::ranges::greater(), [&](int k) {
      return lists.imports.procs[static_cast<std::size_t>(k)] % 3;
    });
  else
    std::shuffle(order.begin(), order.end(), random);
  List imports;
  imports.count = 0;
  for (const int k : order) imports.add(lists.imports, k, 1);
  lists.imports = imports;
  lists.exports.count = std::max(lists.exports.count, 0);
  return lists;
}

int step_bytes_of(ZOLTAN_ID_TYPE gid) { return static_cast<int>(8 + gid % 90); }

/// Keeps its objects by global id and writes down what it is called with.
class StepClient : public ObjectClient {
 public:
  StepClient(const char* method, const char* callbacks, const char* memory)
      : ObjectClient({{"MIGRATE_METHOD", method},
                      {"MIGRATE_CALLBACKS", callbacks},
                      {"MIGRATE_MEMORY", memory}},
                     false) {
    Zoltan_Set_Mid_Migrate_PP_Fn(
        zoltan,
        [](void* data, int, int, int imports, ZOLTAN_ID_PTR import_gids, ZOLTAN_ID_PTR import_lids,
           int* import_procs, int* import_parts, int exports, ZOLTAN_ID_PTR export_gids,
           ZOLTAN_ID_PTR export_lids, int* export_procs, int* export_parts, int* code) {
          *code = ZOLTAN_OK;
          static_cast<StepClient*>(data)->mids.emplace_back(
              list_of(imports, import_gids, import_lids, import_procs, import_parts),
              list_of(exports, export_gids, export_lids, export_procs, export_parts));
        },
        this);
  }

  int migrate(List imports, List exports) {
    const auto data = [](auto& list) { return list.empty() ? nullptr : list.data(); };
    return Zoltan_Migrate(zoltan, imports.count, data(imports.gids), data(imports.lids),
                          data(imports.procs), data(imports.parts), exports.count,
                          data(exports.gids), data(exports.lids), data(exports.procs),
                          data(exports.parts));
  }

  std::vector<std::pair<List, List>> mids;  ///< imports, exports
  std::vector<ZOLTAN_ID_TYPE> unpacked;

 private:
  int size_of(Id gid, Id) override { return step_bytes_of(gid); }
  void pack(Id gid, Id, int, int, char* to) override {
    std::memset(to, static_cast<int>(gid), static_cast<std::size_t>(step_bytes_of(gid)));
  }
  void unpack(Id gid, int, char*) override { unpacked.push_back(gid); }
};

/// Which lists the caller gives.
enum class Given { both, exports, imports };

List when(bool given, const List& list) { return given ? list : List(); }

/// Whether it is the list with some left out.
bool is_part_of(const List& part, const List& all) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < part.gids.size(); ++k, ++at) {
    while (at < all.gids.size() && all.gids[at] != part.gids[k]) ++at;
    if (at == all.gids.size() || part.lids[k] != all.lids[at] || part.procs[k] != all.procs[at] ||
        part.parts[k] != all.parts[at])
      return false;
  }
  return true;
}

List without_order(List list) {
  std::map<ZOLTAN_ID_TYPE, std::size_t> places;
  for (std::size_t k = 0; k < list.gids.size(); ++k) places[list.gids[k]] = k;
  List sorted;
  sorted.count = 0;
  for (const auto& [gid, k] : places) sorted.add(list, static_cast<int>(k), 1);
  return sorted;
}

class StepLists : public ::testing::TestWithParam<const char*> {};

TEST_P(StepLists, OfOneStepAreThoseOfStockZoltan) {
  if (std::string(GetParam()) == "CYCLIC") return;  // takes from one rank at a time
  for (std::uint64_t number = 0; number < 8; ++number)
    for (const Given given : {Given::both, Given::exports, Given::imports}) {
      SCOPED_TRACE(seed_note(seed() + number) + ", given " +
                   std::to_string(static_cast<int>(given)));
      const Lists lists = random_lists(number, number % 2 == 0);
      const bool imports = given != Given::exports, exports = given != Given::imports;
      StepClient stock("ZOLTAN", "HOLD", "4M"), steps(GetParam(), "STEPS", "4M");
      for (StepClient* const client : {&stock, &steps})
        EXPECT_TRUE(all_ranks(client->migrate(when(imports, lists.imports),
                                              when(exports, lists.exports)) == ZOLTAN_OK));
      ASSERT_EQ(stock.mids.size(), 1U);
      EXPECT_TRUE(all_ranks(steps.mids.size() == 1));
      const bool leads_alike = exports ? steps.mids[0].second == stock.mids[0].second
                                       : steps.mids[0].first == stock.mids[0].first;
      EXPECT_TRUE(all_ranks(leads_alike));
      EXPECT_TRUE(all_ranks(steps.unpacked == stock.unpacked));
      if (given == Given::both && std::string(GetParam()) == "STREAM") {
        EXPECT_TRUE(all_ranks(steps.mids == stock.mids));
      }
    }
}

TEST_P(StepLists, OfManyStepsAreInTheOrderOfTheCaller) {
  for (std::uint64_t number = 0; number < 6; ++number)
    for (const Given given : {Given::exports, Given::imports}) {
      SCOPED_TRACE(seed_note(seed() + number) + ", given " +
                   std::to_string(static_cast<int>(given)));
      const Lists lists = random_lists(number, number % 2 == 0);
      const bool exports = given == Given::exports;
      StepClient steps(GetParam(), "STEPS", "1K");
      EXPECT_TRUE(all_ranks(
          steps.migrate(when(!exports, lists.imports), when(exports, lists.exports)) == ZOLTAN_OK));
      List in, out;
      in.count = out.count = 0;
      bool in_order = true;
      for (const auto& [imports, leaving] : steps.mids) {
        in_order = in_order && (exports ? is_part_of(leaving, lists.exports)
                                        : is_part_of(imports, lists.imports));
        in.add(imports, 0, imports.count);
        out.add(leaving, 0, leaving.count);
      }
      EXPECT_TRUE(all_ranks(in_order));
      EXPECT_TRUE(all_ranks(size() < 3 || steps.mids.size() > 1));
      // Each object of the list once, those that stay as well.
      EXPECT_TRUE(all_ranks((exports ? out.count : in.count) ==
                            (exports ? lists.exports.count : lists.imports.count)));
      EXPECT_TRUE(all_ranks(exports ? without_order(out) == without_order(lists.exports)
                                    : without_order(in) == without_order(lists.imports)));
      Valet_Migration_Report report{};
      Valet_Get_Report(steps.zoltan, &report);
      expect_within_bound(report);
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, StepLists, ::testing::Values("STREAM", "PHASED", "CYCLIC"),
                         ParameterName());

/// An application with its objects in an array, whose places are the local ids.
class Elements : public ObjectClient {
 public:
  enum class Drops { compacting_in_mid, marked_in_mid, in_post, after_the_call };

  Elements(Drops when, const char* callbacks, const char* memory, const char* verify)
      : ObjectClient({{"MIGRATE_METHOD", "STREAM"},
                      {"MIGRATE_CALLBACKS", callbacks},
                      {"MIGRATE_MEMORY", memory},
                      {"MIGRATE_VERIFY", verify},
                      {"OBJ_WEIGHT_DIM", "2"}},
                     false),
        drops(when) {
    for (int k = 0; k < 400; ++k) {
      ids.push_back(1000 * rank() + k);
      // Most go to rank 0, so that the arrays of the others become shorter.
      const int to = rank() == 0 ? k / 350 * (k % size()) : k < 300 ? 0 : rank();
      if (to != rank()) export_to(to, static_cast<Id>(ids.back()), static_cast<Id>(k));
    }
    Zoltan_Set_Num_Obj_Fn(zoltan, count, this);
    Zoltan_Set_Obj_List_Fn(zoltan, list, this);
    if (drops == Drops::compacting_in_mid || drops == Drops::marked_in_mid)
      Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, drop, this);
    if (drops == Drops::in_post) Zoltan_Set_Post_Migrate_PP_Fn(zoltan, drop, this);
  }

  Drops drops;
  std::vector<int> ids;  ///< below 0: no object
  bool count_fails = false;

 private:
  static Elements& of(void* data) { return *static_cast<Elements*>(data); }
  int size_of(Id, Id) override { return 48; }
  void pack(Id, Id lid, int, int, char* to) override {
    std::memcpy(to, &ids[lid % ids.size()], sizeof(int));
  }
  void unpack(Id, int, char* from) override {
    int id = 0;
    std::memcpy(&id, from, sizeof id);
    ids.push_back(id);
  }
  static int count(void* data, int* code) {
    *code = of(data).count_fails ? ZOLTAN_FATAL : ZOLTAN_OK;
    return static_cast<int>(std::ranges::count_if(of(data).ids, [](int id) { return id >= 0; }));
  }
  static void list(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int dimension,
                   float* weights, int* code) {
    *code = dimension == 2 && weights != nullptr ? ZOLTAN_OK : ZOLTAN_FATAL;
    std::size_t listed = 0;
    for (std::size_t k = 0; k < of(data).ids.size(); ++k) {
      if (of(data).ids[k] < 0) continue;
      gid[listed] = static_cast<ZOLTAN_ID_TYPE>(of(data).ids[k]);
      lid[listed] = static_cast<ZOLTAN_ID_TYPE>(k);
      weights[2 * listed] = weights[2 * listed + 1] = 1;
      ++listed;
    }
  }
  /// Mid or post.
  static void drop(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int exports,
                   ZOLTAN_ID_PTR, ZOLTAN_ID_PTR places, int*, int*, int* code) {
    *code = ZOLTAN_OK;
    Elements& self = of(data);
    for (int k = 0; k < exports; ++k)
      if (places[k] < self.ids.size()) self.ids[places[k]] = -1;
    if (self.drops != Drops::marked_in_mid) std::erase_if(self.ids, [](int id) { return id < 0; });
  }
};

using Drops = Elements::Drops;

TEST(Applications, ThatAreNotFitForStepsAreWarnedOfOrRefused) {
  if (size() == 1) return;
  Elements warned(Drops::compacting_in_mid, "STEPS", "8K", "0");
  EXPECT_TRUE(all_ranks(warned.migrate_quietly() == ZOLTAN_WARN)) << warned.report.message;
  expect_words(warned.report.message,
               {"by ZOLTAN_NUM_OBJ_FN all ranks together had " + std::to_string(400 * size()) +
                    " objects before the migration and have ",
                "use MIGRATE_CALLBACKS HOLD"});
  EXPECT_EQ(contains(warned.printed, "Zoltan WARNING in Zoltan_Migrate"), rank() == 0);

  Elements refused(Drops::compacting_in_mid, "STEPS", "8K", "1");
  EXPECT_TRUE(all_ranks(refused.migrate_quietly() == ZOLTAN_FATAL));
  expect_words(refused.report.message, {" has not left, but ZOLTAN_OBJ_LIST_FN lists it no "
                                        "more with the local id that it had",
                                        "with global id "});
  EXPECT_EQ(refused.report.verified, 0);
}

TEST(Applications, ThatAreNotFitForStepsNeedNoListToBeRefused) {
  if (size() == 1) return;
  Elements refused(Drops::compacting_in_mid, "STEPS", "8K", "1");
  Zoltan_Set_Obj_List_Fn(refused.zoltan, nullptr, nullptr);
  EXPECT_TRUE(all_ranks(refused.migrate_quietly() == ZOLTAN_FATAL));
  expect_words(refused.report.message, {"by ZOLTAN_NUM_OBJ_FN all ranks together had "});
}

TEST(Applications, ThatAreFitForStepsAreNotWarnedOf) {
  for (const Drops drops : {Drops::marked_in_mid, Drops::in_post})
    for (const char* const memory : {"8K", "4M"})
      for (const char* const verify : {"0", "1"}) {
        Elements fit(drops, "STEPS", memory, verify);
        EXPECT_TRUE(all_ranks(fit.migrate_quietly() == ZOLTAN_OK)) << fit.report.message;
        EXPECT_STREQ(fit.report.message, "");
        expect_within_bound(fit.report);
      }
  // One step is as in HOLD, and HOLD is for all.
  for (const auto& [callbacks, memory] : {std::pair{"STEPS", "4M"}, std::pair{"HOLD", "8K"}}) {
    Elements held(Drops::compacting_in_mid, callbacks, memory, "1");
    EXPECT_TRUE(all_ranks(held.migrate_quietly() == ZOLTAN_OK)) << held.report.message;
  }
}

TEST(Applications, ThatDropObjectsAfterTheCallAreWarnedOfInStepsOnly) {
  if (size() == 1) return;
  Elements steps(Drops::after_the_call, "STEPS", "8K", "0");
  EXPECT_TRUE(all_ranks(steps.migrate_quietly() == ZOLTAN_WARN));
  expect_words(steps.report.message, {"Drop exported objects by the end of post"});
  Elements verified(Drops::after_the_call, "STEPS", "8K", "1");
  EXPECT_TRUE(all_ranks(verified.migrate_quietly() == ZOLTAN_FATAL));
  Elements hold(Drops::after_the_call, "HOLD", "8K", "1");
  EXPECT_TRUE(all_ranks(hold.migrate_quietly() == ZOLTAN_OK)) << hold.report.message;
  // Not on all ranks: nothing can be compared.
  Elements some(Drops::after_the_call, "STEPS", "8K", "1");
  if (rank() == 0) Zoltan_Set_Num_Obj_Fn(some.zoltan, nullptr, nullptr);
  EXPECT_TRUE(all_ranks(some.migrate_quietly() == ZOLTAN_OK)) << some.report.message;
}

TEST(Applications, WhoseCountFailsAreToldSo) {
  for (const char* const verify : {"0", "1"}) {
    Elements failing(Drops::in_post, "STEPS", "8K", verify);
    failing.count_fails = rank() == size() - 1;
    const bool is_error = *verify == '1';
    EXPECT_TRUE(all_ranks(failing.migrate_quietly() == (is_error ? ZOLTAN_FATAL : ZOLTAN_WARN)));
    expect_words(failing.report.message,
                 {is_error ? "Error returned from ZOLTAN_NUM_OBJ_FN function"
                           : "ZOLTAN_NUM_OBJ_FN fails on 1 ranks"});
  }
}

}  // namespace
