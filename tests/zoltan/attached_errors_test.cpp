// SPDX-License-Identifier: BSD-3-Clause

// What is wrong with attached storage, its structure or what the application does with them is one
// error on all ranks, which Zoltan's functions return and print once, and nothing has moved.

#include "attached_line.hpp"

namespace valet::test {
namespace {

using zoltan::Attached;
using zoltan::AttachedOptions;

TEST(AttachedErrors, WithoutMistakesThereAreNone) {
  AttachedLine line;
  line.attach();
  expect_works(line);
}

TEST(AttachedErrors, NullIsNamed) {
  AttachedLine line;
  expect_error(outcome_of([&] { const Attached none(nullptr, 0, line.storage()); }),
               ErrorCode::invalid_argument, {"null pointer", "Zoltan_Create()"});
}

TEST(AttachedErrors, AStructureHasOneStorage) {
  AttachedLine line;
  line.attach();
  expect_error(outcome_of([&] { const Attached again(line.zoltan, 1, line.storage()); }),
               ErrorCode::invalid_argument,
               {"storage is attached", "already", "detach() it first"});
  expect_works(line);
}

TEST(AttachedErrors, ObjectsHaveSlots) {
  AttachedLine line(AttachedLine::each);
  line.attach();
  line.attached->count(AttachedLine::each + (is_odd() ? 1 : 0));
  const std::vector<std::string> words{odd_name(), "13 objects", "12 slots", "count()"};
  const Outcome outcome = outcome_of([&] { line.attached->partition(); });
  expect_error(outcome, ErrorCode::invalid_argument, words);
  line.attached->count(AttachedLine::each);
  EXPECT_TRUE(line.is_untouched());
}

/// What the application says that it has.
struct Said {
  int count = AttachedLine::each;
  int code = ZOLTAN_OK;
  bool throws = false;
  static int answer(void* data, int* code) {
    const Said& said = *static_cast<Said*>(data);
    if (said.throws) throw std::runtime_error("no mesh");
    *code = said.code;
    return said.count;
  }
};

TEST(AttachedErrors, TheApplicationSaysTheSameCount) {
  AttachedLine line;
  line.attach();
  Said said;
  if (is_odd()) Zoltan_Set_Num_Obj_Fn(line.zoltan, Said::answer, &said);
  if (size() == 1) expect_works(line);
  if (size() > 1)
    expect_refused(
        line, ErrorCode::invalid_argument,
        {"which query functions are registered differs", "NUM_OBJ on " + odd_name().substr(0, 6),
         "none on rank", "register the same on all ranks"});
  Zoltan_Set_Num_Obj_Fn(line.zoltan, Said::answer, &said);
  said.count += is_odd() ? 3 : 0;
  expect_all_refused(line, ErrorCode::invalid_argument,
                     {odd_name(), "ZOLTAN_NUM_OBJ_FN says 15 objects", "12 are attached"});
  said = {.code = is_odd() ? ZOLTAN_FATAL : ZOLTAN_OK};
  expect_all_refused(line, ErrorCode::callback_failed,
                     {odd_name(), "Error returned from ZOLTAN_NUM_OBJ_FN"});
  said = {.throws = is_odd()};
  expect_all_refused(line, ErrorCode::callback_failed,
                     {odd_name(), "ZOLTAN_NUM_OBJ_FN failed: no mesh", "nothing has moved"});
}

TEST(AttachedErrors, ObjectsAreNotPackedToo) {
  constexpr std::array functions{
      std::pair(ZOLTAN_OBJ_SIZE_FN_TYPE, "ZOLTAN_OBJ_SIZE_FN"),
      std::pair(ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE, "ZOLTAN_OBJ_SIZE_MULTI_FN"),
      std::pair(ZOLTAN_PACK_OBJ_FN_TYPE, "ZOLTAN_PACK_OBJ_FN"),
      std::pair(ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, "ZOLTAN_PACK_OBJ_MULTI_FN"),
      std::pair(ZOLTAN_UNPACK_OBJ_FN_TYPE, "ZOLTAN_UNPACK_OBJ_FN"),
      std::pair(ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE, "ZOLTAN_UNPACK_OBJ_MULTI_FN")};
  AttachedLine line;
  line.attach();
  for (const auto& [type, name] : functions) {
    SCOPED_TRACE(name);
    // It is not called.
    if (is_odd())
      Zoltan_Set_Fn(
          line.zoltan, type, [] { std::abort(); }, nullptr);
    expect_all_refused(line, ErrorCode::invalid_argument,
                       {odd_name(), std::string("a ") + name + " is registered", "detach"});
    Zoltan_Set_Fn(line.zoltan, type, nullptr, nullptr);
  }
  expect_works(line);
}

TEST(AttachedErrors, ParametersThatSayNothingAboutSlotsAreNamed) {
  AttachedLine line;
  line.attach();
  for (const auto& [name, value] :
       {std::pair("MIGRATE_CALLBACKS", "HOLD"), std::pair("MIGRATE_METHOD", "ZOLTAN")}) {
    Zoltan_Set_Param(nullptr, name, value);  // for objects behind callbacks
    if (is_odd()) line.set(name, value);
    expect_all_refused(line, ErrorCode::invalid_argument,
                       {odd_name(), std::string(name) + " = " + value + " says nothing about",
                        "set it to DEFAULT"});
    line.set(name, "DEFAULT");
  }
  expect_works(line);
  for (const char* const name : {"MIGRATE_CALLBACKS", "MIGRATE_METHOD"})
    Zoltan_Set_Param(nullptr, name, "DEFAULT");
}

TEST(AttachedErrors, ListsHaveEachObjectByItself) {
  AttachedLine line;
  line.attach();
  line.set("AUTO_MIGRATE", "TRUE");
  line.set("MIGRATE_GRANULARITY", "8");
  expect_fatal(line, {"MIGRATE_GRANULARITY is 8", "set RETURN_LISTS NONE for cells"},
               [&] { return line.lb_partition(); });
  line.set("MIGRATE_GRANULARITY", "1");
  EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
  EXPECT_TRUE(line.is_whole());
}

TEST(AttachedErrors, NeighboursHaveIds) {
  AttachedLine line;
  line.attach();
  line.set("LB_METHOD", "GRAPH");
  expect_refused(line, ErrorCode::invalid_argument, {"LB_METHOD GRAPH needs ids", "give ids()"});
}

TEST(AttachedErrors, ListsOfCandidatesAreNone) {
  AttachedLine line;
  line.attach();
  line.set("RETURN_LISTS", "CANDIDATE_LISTS");
  expect_fatal(line, {"CANDIDATE_LISTS says nothing", "ALL, IMPORT, EXPORT, PARTS or NONE"},
               [&] { return line.lb_partition(); });
}

TEST(AttachedErrors, PartsAreInRange) {
  AttachedLine line;
  line.attach();
  line.give_parts();
  line.set("NUM_GLOBAL_PARTS", std::to_string(size()));
  for (const int bad : {-1, size()}) {
    if (is_odd()) line.parts[5] = bad;
    expect_error(outcome_of([&] { line.attached->partition(); }), ErrorCode::invalid_argument,
                 {odd_name(), "the object in slot 5 is in part " + std::to_string(bad),
                  "parts 0 to " + std::to_string(size() - 1), "set NUM_GLOBAL_PARTS"});
    line.parts[5] = rank();
    EXPECT_TRUE(line.is_untouched());
  }
  if (is_odd()) line.parts.resize(line.place.size() - 1);
  expect_all_refused(line, ErrorCode::invalid_argument,
                     {odd_name(), "parts() has 47 entries", "48 slots", "one for each"});
  line.parts.resize(line.place.size(), rank());
  expect_works(line);
}

TEST(AttachedErrors, PartsThatThrowEndOnAllRanks) {
  AttachedLine line;
  line.attach();
  line.give_parts();
  line.attached->parts([&]() -> std::span<int> {
    if (is_odd()) throw std::runtime_error("no parts");
    return line.parts;
  });
  expect_all_refused(line, ErrorCode::callback_failed,
                     {odd_name(), "reading parts() failed: no parts", "nothing has moved"});
}

TEST(AttachedErrors, NumbersOfPartsAreNumbers) {
  AttachedLine line;
  line.attach();
  for (const char* const name : {"NUM_GLOBAL_PARTS", "NUM_GLOBAL_PARTITIONS"}) {  // are the same
    line.set(name, "0");
    expect_refused(line, ErrorCode::invalid_argument, {"NUM_GLOBAL_PARTS", "is 0", "at least 1"});
    line.set(name, "DEFAULT");
  }
  line.set("NUM_LOCAL_PARTS", "0");
  expect_refused(line, ErrorCode::invalid_argument, {"NUM_LOCAL_PARTS is 0 on all ranks"});
}

TEST(AttachedErrors, BalanceTellsNoParts) {
  AttachedLine line;
  line.attach();
  line.set("NUM_GLOBAL_PARTS", "7");
  expect_fatal(line, {"Zoltan_LB_Balance", "NUM_GLOBAL_PARTS", "Zoltan_LB_Partition"}, [&] {
    return line.quietly([&] {
      int changes = 0, gids = 0, lids = 0, imports = 0, exports = 0;
      ZOLTAN_ID_PTR ids[4] = {};
      int* procs[2] = {};
      return Zoltan_LB_Balance(line.zoltan, &changes, &gids, &lids, &imports, &ids[0], &ids[1],
                               &procs[0], &exports, &ids[2], &ids[3], &procs[1]);
    });
  });
}

TEST(AttachedErrors, RepairChangesNoParts) {
  AttachedLine line;
  line.attach();
  line.give_parts();
  line.set("NUM_GLOBAL_PARTS", std::to_string(size()));
  line.set("MIGRATE_WHEN_INFEASIBLE", "REPAIR");
  expect_refused(line, ErrorCode::invalid_argument,
                 {"MIGRATE_WHEN_INFEASIBLE REPAIR", "REFUSE or GROW"});
}

TEST(AttachedErrors, RepairChangesNoLists) {
  AttachedLine line;
  line.attach();
  line.set("AUTO_MIGRATE", "1");
  line.set("RETURN_LISTS", "ALL");
  line.set("MIGRATE_WHEN_INFEASIBLE", "REPAIR");
  expect_fatal(line, {"what lists say", "RETURN_LISTS NONE"}, [&] { return line.lb_partition(); });
  expect_fatal(line, {"what lists say", "REFUSE or GROW"}, [&] { return line.migrate_on(); });
}

/// Set for all structures or in the environment, it may be for others.
TEST(AttachedErrors, WhatIsSetForOtherStructuresTooIsLeftOut) {
  for (const bool repairs : {false, true}) {
    AttachedLine line;
    line.attach();
    const char* const name = repairs ? "MIGRATE_WHEN_INFEASIBLE" : "MIGRATE_GRANULARITY";
    const char* const value = repairs ? "REPAIR" : "8";
    Zoltan_Set_Param(nullptr, name, value);
    line.set("AUTO_MIGRATE", "1");
    line.set("RETURN_LISTS", "ALL");
    line.set("MIGRATE_VERBOSE", "1");
    EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
    if (rank() == 0 && size() > 1)
      expect_words(line.printed, {std::string("; ignores ") + name + " = " + value});
    EXPECT_TRUE(!repairs || all_ranks(line.migrate_on() == ZOLTAN_OK)) << line.printed;
    EXPECT_TRUE(line.is_whole());
    Zoltan_Set_Param(nullptr, name, "DEFAULT");
  }
}

TEST(AttachedErrors, ObjectsThatTheApplicationTellsAreInNoCells) {
  AttachedLine line;
  line.attach();
  PackedObjects told;
  told.ids.resize(AttachedLine::each);
  std::iota(told.ids.begin(), told.ids.end(), 0U);  // slots
  told.register_with(line.zoltan);
  line.set("MIGRATE_GRANULARITY", "8");
  expect_refused(line, ErrorCode::invalid_argument,
                 {"MIGRATE_GRANULARITY is 8", "functions of the application", "leave it out"});
  line.set("MIGRATE_GRANULARITY", "DEFAULT");
  Zoltan_Set_Param(nullptr, "MIGRATE_GRANULARITY", "8");
  line.set("MIGRATE_VERBOSE", "1");
  line.set("RETURN_LISTS", "NONE");
  EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
  if (rank() == 0 && size() > 1) expect_words(line.printed, {"; ignores MIGRATE_GRANULARITY = 8"});
  EXPECT_TRUE(line.is_whole());
  Zoltan_Set_Param(nullptr, "MIGRATE_GRANULARITY", "DEFAULT");
}

TEST(AttachedErrors, RepairCountsNoBytes) {
  AttachedLine line;
  std::vector<std::byte> arena(1000);
  std::vector<std::uint64_t> lengths(2 * AttachedLine::each, 8);
  line.attached.emplace(
      line.zoltan, AttachedLine::each,
      RaggedStorage({ragged_field(std::span(arena), std::span(lengths))}, {field(line.place)}));
  line.attached->coordinates(array_columns(valet::ref(line.place), 1));
  line.set("MIGRATE_WHEN_INFEASIBLE", "REPAIR");
  expect_refused(line, ErrorCode::invalid_argument,
                 {"REPAIR counts slots and no bytes", "REFUSE or GROW"});
}

TEST(AttachedErrors, WeightsAreThoseOfTheParameter) {
  AttachedLine line;
  line.attach();
  line.set("OBJ_WEIGHT_DIM", "2");
  expect_refused(line, ErrorCode::invalid_argument,
                 {"OBJ_WEIGHT_DIM is 2, but 0 weights", "give weights(), or leave it out"});
  line.attached->weights(array_columns(valet::ref(line.work), 1));
  expect_refused(line, ErrorCode::invalid_argument, {"OBJ_WEIGHT_DIM is 2, but 1 weights"});
  line.set("OBJ_WEIGHT_DIM", "1");
  expect_works(line);
}

void no_coordinates(void*, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, double*, int*) {
  std::abort();
}

TEST(AttachedErrors, RanksSetAndRegisterTheSame) {
  if (size() == 1) return;
  const auto refused = [](const std::string& what, const std::string& odds,
                          const std::string& others, const auto& differ) {
    SCOPED_TRACE(what);
    AttachedLine line;
    line.attach();
    line.set("AUTO_MIGRATE", "1");
    if (is_odd()) differ(line);
    expect_fatal(
        line,
        {what + " differs", odds + " on rank " + std::to_string(odd_rank()), others + " on rank"},
        [&] { return line.lb_partition(); });
  };
  for (const auto& [name, value, others] :
       {std::tuple("LB_METHOD", "HSFC", "DEFAULT"), std::tuple("AUTO_MIGRATE", "0", "1"),
        std::tuple("RETURN_LISTS", "NONE", "DEFAULT"), std::tuple("OBJ_WEIGHT_DIM", "0", "DEFAULT"),
        std::tuple("IMBALANCE_TOL", "1.25", "DEFAULT"), std::tuple("KEEP_CUTS", "1", "DEFAULT"),
        std::tuple("NUM_GID_ENTRIES", "3", "DEFAULT")})
    refused(name, value, others, [&](AttachedLine& line) { line.set(name, value); });
  refused("migration.order", "stable", "any",
          [](AttachedLine& line) { line.set("MIGRATE_ORDER", "STABLE"); });
  refused("whether there are NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS", "yes", "no",
          [](AttachedLine& line) { line.set("NUM_GLOBAL_PARTS", "9"); });
  refused("which query functions are registered", "GEOM_MULTI", "none", [](AttachedLine& line) {
    Zoltan_Set_Geom_Multi_Fn(line.zoltan, no_coordinates, nullptr);
  });
  refused("whether parts() are given", "yes", "no", [](AttachedLine& line) { line.give_parts(); });
  refused("the number of weights of an object", "1", "0", [](AttachedLine& line) {
    line.attached->weights(array_columns(valet::ref(line.work), 1));
  });
  refused("the number of entries of a global id", "1", "2",
          [](AttachedLine& line) { line.attached->ids(array_columns(valet::ref(line.id), 1)); });
  refused("the number of coordinates of an object", "2", "1", [](AttachedLine& line) {
    line.attached->coordinates(array_columns(line.place.data(), 24, 2));
  });
}

TEST(AttachedErrors, MethodsOfMigrationAreTheSame) {
  if (size() == 1) return;
  AttachedLine line;
  line.attach();
  line.set("MIGRATE_METHOD", is_odd() ? "PHASED" : "STREAM");
  expect_all_refused(line, ErrorCode::invalid_argument, {"method differs", "phased on rank"});
  if (is_odd()) line.set("MIGRATE_WHEN_INFEASIBLE", "REPAIR");
  expect_refused(line, ErrorCode::invalid_argument,
                 {"when_infeasible differs", "repair on rank", "refuse on rank"});
  line.set("MIGRATE_WHEN_INFEASIBLE", "DEFAULT");
  if (is_odd()) line.set("MIGRATE_GRANULARITY", "1");
  expect_refused(line, ErrorCode::invalid_argument, {"granularity differs", "1 on rank"});
}

/// Exports of the odd rank, one of which is bent.
struct Exports {
  std::vector<ZOLTAN_ID_TYPE> gids{1, 2}, lids{1, 2};
  std::vector<int> procs{0, 0}, parts{0, 0};

  int migrate(AttachedLine& line, bool with_parts) {
    const int count = is_odd() ? 2 : 0;
    return line.quietly([&] {
      return Zoltan_Migrate(line.zoltan, -1, nullptr, nullptr, nullptr, nullptr, count, gids.data(),
                            lids.data(), procs.data(), with_parts ? parts.data() : nullptr);
    });
  }
};

TEST(AttachedErrors, ListsAreChecked) {
  AttachedLine line;
  line.attach();
  line.give_parts();
  const auto refused = [&](const Exports& bent, const std::vector<std::string>& words,
                           bool with_parts = false) {
    expect_fatal(line, words, [&] { return Exports(bent).migrate(line, with_parts); });
  };
  refused({.lids = {1, 48}}, {odd_name(), "global id 2", "slot 48", "48 slots"});
  refused({.lids = {1, 12}}, {odd_name(), "global id 2", "slot 12", "holds no object"});
  refused({.lids = {1, 1}}, {odd_name(), "slot 1", "list each object once"});
  refused({.procs = {0, size()}},
          {odd_name(), "global id 2", "names rank " + std::to_string(size())});
  refused({.procs = {-1, 0}}, {odd_name(), "global id 1", "names rank -1"});
  refused({.parts = {0, size()}},
          {odd_name(), "the object at place 1 is in part " + std::to_string(size()),
           "parts 0 to " + std::to_string(size() - 1)},
          true);
  expect_fatal(line, {"neither import nor export lists", "RETURN_LISTS"}, [&] {
    return line.quietly([&] {
      return Zoltan_Migrate(line.zoltan, -1, nullptr, nullptr, nullptr, nullptr, -1, nullptr,
                            nullptr, nullptr, nullptr);
    });
  });
  line.set("NUM_LID_ENTRIES", "0");
  refused({}, {"no local ids (NUM_LID_ENTRIES 0)"});
  line.set("NUM_LID_ENTRIES", "1");
  EXPECT_TRUE(all_ranks(Exports().migrate(line, true) == ZOLTAN_OK)) << line.printed;
  EXPECT_TRUE(line.is_whole());
}

TEST(AttachedErrors, WhatDoesNotFitIsRefusedWithTheSlotsThatItTakes) {
  if (size() == 1) return;
  AttachedLine line(AttachedLine::each);
  line.attach();
  line.give_parts();
  const std::vector<std::string> words{"slots"};
  const auto all_to_rank_0 = [&] {
    std::vector<ZOLTAN_ID_TYPE> ids(AttachedLine::each);
    std::iota(ids.begin(), ids.end(), 0U);
    std::vector<int> procs(ids.size(), 0);
    return line.quietly([&] {
      return Zoltan_Migrate(line.zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                            static_cast<int>(ids.size()), ids.data(), ids.data(), procs.data(),
                            nullptr);
    });
  };
  expect_fatal(
      line,
      {"rank 0", std::to_string(AttachedLine::each * static_cast<unsigned>(size())), "12 slots"},
      all_to_rank_0);
  line.set("MIGRATE_WHEN_INFEASIBLE", "GROW");
  expect_fatal(line, {"there is no grow"}, all_to_rank_0);
}

/// What a function for growth does wrong, and where parts have moved to meanwhile.
TEST(AttachedErrors, GrowthThatFailsLeavesEverythingInPlace) {
  if (size() == 1) return;
  for (const bool throws : {true, false}) {
    AttachedLine line(AttachedLine::each + 1);
    AttachedOptions options{.when_infeasible = WhenInfeasible::grow};
    options.grow = [&](std::uint64_t slots) {
      line.parts = std::vector<int>(line.parts);
      line.parts.resize(4 * slots, rank());
      if (throws) throw std::runtime_error("no room");
    };
    line.attach(options);
    line.give_parts();
    line.set("NUM_GLOBAL_PARTS", std::to_string(size()));
    line.make_uneven();
    expect_refused(line, throws ? ErrorCode::callback_failed : ErrorCode::infeasible,
                   {throws ? "enlarging the storage (grow) failed: no room"
                           : "grow returned a storage of 13 slots",
                    "nothing has moved"});
  }
}

}  // namespace
}  // namespace valet::test
