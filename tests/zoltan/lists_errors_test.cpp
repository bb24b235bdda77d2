// SPDX-License-Identifier: BSD-3-Clause

// What is wrong with lists, on whatever rank, is one error on all ranks, and nothing has moved.
// Plain arrays, no Kokkos.

#include "counted_reductions.hpp"
#include "list_objects.hpp"

namespace valet::test {
namespace {

using zoltan::ListOptions;
using zoltan::PartitionLists;

void expect_refused(ListObjects& objects, const PartitionLists& lists, const ListOptions& options,
                    ErrorCode code, const std::vector<std::string>& texts,
                    std::optional<Occupied> occupied = {}) {
  const Outcome outcome = outcome_of([&] {
    zoltan::migrate(MPI_COMM_WORLD, lists, occupied.value_or(objects.count), objects.storage(),
                    options);
  });
  expect_error(outcome, code, texts);
  EXPECT_TRUE(all_ranks(objects.is_unchanged())) << outcome.text;
}

TEST(ListErrors, WithoutMistakesThereAreNone) {
  for (const auto& [imports, exports] : {std::pair(true, true), {true, false}, {false, true}}) {
    ListObjects objects;
    const auto done = zoltan::migrate(MPI_COMM_WORLD, objects.lists(imports, exports),
                                      objects.count, objects.storage(), objects.options());
    EXPECT_TRUE(all_ranks(objects.has_moved(done.count, true)));
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(done.count)), 8LL * size());
  }
}

TEST(ListErrors, OfAStorageAreThoseThatItHasNow) {
  std::vector<int> one(4, rank()), other(3, rank());
  const BlockStorage storage{field(valet::ref(one)), field(valet::ref(other))};
  other.push_back(rank());
  PartitionLists lists;
  lists.exports.count = 0;
  EXPECT_EQ(zoltan::migrate(MPI_COMM_WORLD, lists, 4, storage).count, 4U);
  if (is_odd()) one.clear();
  expect_error(outcome_of([&] { zoltan::migrate(MPI_COMM_WORLD, lists, 0, storage); }),
               ErrorCode::field_mismatch, {odd_name(), "4 slots"});
}

TEST(ListErrors, NoneIsNamed) {
  ListObjects objects;
  expect_refused(objects, {}, objects.options(), ErrorCode::invalid_argument,
                 {"rank 0: ", "RETURN_LISTS NONE", "ALL, IMPORT, EXPORT or PARTS"});
}

TEST(ListErrors, RanksGiveTheSameKindOfLists) {
  if (size() == 1) return;
  ListObjects objects;
  expect_refused(objects, objects.lists(is_odd(), !is_odd()), objects.options(),
                 ErrorCode::invalid_argument,
                 {"the kind of list differs: only import lists on ", ", export lists on ",
                  "-1 for a list that is not given"});
  expect_refused(objects, is_odd() ? PartitionLists() : objects.lists(true, true),
                 objects.options(), ErrorCode::invalid_argument, {odd_name(), "RETURN_LISTS"});
}

TEST(ListErrors, ArraysThatAreMissingAreNamed) {
  using Member = std::function<void(zoltan::PartitionList&)>;
  const std::vector<std::pair<Member, std::string>> cases{
      {[](auto& list) { list.global_ids = nullptr; }, "no array of their global ids"},
      {[](auto& list) { list.local_ids = nullptr; }, "no array of their local ids"},
      {[](auto& list) { list.procs = nullptr; }, "no array of their ranks"}};
  ListObjects objects;
  if (size() == 1) objects.exports.add(0, 0, 0, 0);
  if (size() == 1) objects.imports.add(0, 0, 0, 0);
  for (const auto& [remove, text] : cases)
    for (const bool exports : {true, false}) {
      PartitionLists lists = objects.lists(!exports, exports);
      if (is_odd()) remove(exports ? lists.exports : lists.imports);
      expect_refused(objects, lists, objects.options(), ErrorCode::invalid_argument,
                     {odd_name(), text, exports ? "exports" : "imports"});
    }
}

TEST(ListErrors, RanksThatThereAreNotAreNamed) {
  for (const bool exports : {true, false}) {
    ListObjects objects;
    OwnList& list = exports ? objects.exports : objects.imports;
    if (is_odd()) list.add(ListObjects::number(rank(), 0), 0, size(), 0);
    expect_refused(objects, objects.lists(!exports, exports), objects.options(),
                   ErrorCode::rank_out_of_range,
                   {odd_name(), exports ? "export" : "import", "global id",
                    "names rank " + std::to_string(size()), "ranks count from 0: fix the list"});
  }
}

TEST(ListErrors, LocalIdsMustBeSlotsWithAnObject) {
  ListObjects objects;
  if (is_odd()) objects.exports.add(4711, 16, 0, 0);
  expect_refused(objects, objects.lists(false, true), objects.options(),
                 ErrorCode::slot_out_of_range,
                 {odd_name(), "global id 4711", "slot 16 by its local id",
                  "the storage has 16 slots", "option slot_of"});
  if (is_odd()) objects.exports.lids.back() = 8;
  expect_refused(objects, objects.lists(false, true), objects.options(),
                 ErrorCode::invalid_argument,
                 {odd_name(), "global id 4711", "slot 8", "holds no object", "8 objects"});
  std::vector<std::uint8_t> mask(16, 0);
  std::fill_n(mask.begin(), 8, std::uint8_t{1});
  expect_refused(objects, objects.lists(false, true), objects.options(),
                 ErrorCode::invalid_argument,
                 {odd_name(), "slot 8", "holds no object", "mask is 0"}, Occupied::masked(mask));
}

TEST(ListErrors, ImportsAreCheckedWhereTheObjectsAre) {
  ListObjects objects;
  if (is_odd()) objects.imports.add(4711, 99, 0, 0);
  expect_refused(objects, objects.lists(true, false), objects.options(),
                 ErrorCode::slot_out_of_range,
                 {"rank 0: ", "global id 4711",
                  "that rank " + std::to_string(size() - 1) + " imports from here is in", "slot 99",
                  "16 slots"});
}

TEST(ListErrors, ObjectsAreListedOnce) {
  ListObjects objects;
  if (is_odd()) objects.exports.add(4711, 3, 0, 0);
  if (is_odd()) objects.exports.add(4712, 3, 0, 0);
  expect_refused(objects, objects.lists(false, true), objects.options(),
                 ErrorCode::invalid_argument,
                 {odd_name(), "global id 471", "slot 3", "and so is", "list each object once"});
  if (size() == 1) return;
  // Two ranks want the same object of rank 0.
  OwnList all;
  all.add(ListObjects::number(0, 5), 5, 0, 0);
  objects.imports = all;
  expect_refused(objects, objects.lists(true, false), objects.options(),
                 ErrorCode::invalid_argument,
                 {"rank 0: ", "global id 5 that rank 1 imports from here", "and so is",
                  "that rank 0 imports from here; list each object once"});
}

TEST(ListErrors, ImportsAreWhatOthersExport) {
  if (size() == 1) return;
  ListObjects objects;
  const std::string first = "exports " + std::to_string(objects.exports.procs.size()) + " objects";
  if (is_odd()) objects.imports.gids.front() = 4711;
  expect_refused(objects, objects.lists(true, true), objects.options(), ErrorCode::invalid_argument,
                 {odd_name(), "objects to this rank, which imports others from there",
                  "both lists of one partition"});
  objects = ListObjects();
  if (is_odd()) objects.imports = {};
  expect_refused(objects, objects.lists(true, true), objects.options(), ErrorCode::invalid_argument,
                 {odd_name(), "objects to this rank, which imports 0 objects from there"});
  objects = ListObjects();
  if (rank() == 0) objects.exports = {};
  expect_refused(objects, objects.lists(true, true), objects.options(), ErrorCode::invalid_argument,
                 {"rank 1: rank 0 exports 0 objects to this rank, which imports"});
}

TEST(ListErrors, ImportsComeToTheRankThatTheyAreExportedTo) {
  if (size() < 3) return;
  ListObjects objects;
  // Ranks 1 and 2 each expect what rank 0 exports to the other.
  std::vector<ZOLTAN_ID_TYPE>& gids = objects.imports.gids;
  for (std::size_t k = 0; k < gids.size(); ++k)
    if (gids[k] == ListObjects::number(0, 1))
      gids[k] = ListObjects::number(0, 2);
    else if (gids[k] == ListObjects::number(0, 2))
      gids[k] = ListObjects::number(0, 1);
  expect_refused(objects, objects.lists(true, true), objects.options(), ErrorCode::invalid_argument,
                 {"rank 1: rank 0 exports", "which imports others from there"});
}

TEST(ListErrors, WordsOfIds) {
  ListObjects objects;
  PartitionLists lists = objects.lists(false, true);
  if (is_odd()) lists.gid_entries = 0;
  expect_refused(objects, lists, objects.options(), ErrorCode::invalid_argument,
                 {odd_name(), "0 words of a global id", "Zoltan_LB_Partition()"});
  lists.gid_entries = 1;
  if (is_odd()) lists.lid_entries = 0;
  expect_refused(objects, lists, objects.options(), ErrorCode::invalid_argument,
                 {odd_name(), "NUM_LID_ENTRIES 0", "option slot_of"});
  if (size() == 1) return;
  lists = {};
  lists.exports.count = 0;
  if (is_odd()) lists.gid_entries = 2;
  expect_refused(objects, lists, {}, ErrorCode::invalid_argument,
                 {"NUM_GID_ENTRIES differs", "set the same on all ranks"});
}

TEST(ListErrors, OfSlotOfAreOnAllRanks) {
  for (const bool exports : {true, false}) {
    ListObjects objects;
    if (size() == 1) (exports ? objects.exports : objects.imports).add(3, 3, 0, 0);
    ListOptions options = objects.options();
    options.slot_of = [](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE*) -> std::uint64_t {
      if (is_odd()) throw std::runtime_error("no such cell");
      return *gid % ListObjects::numbers_of_rank;
    };
    expect_refused(objects, objects.lists(!exports, exports), options, ErrorCode::callback_failed,
                   {odd_name(), "option slot_of failed: no such cell; nothing has moved"});
    options.slot_of = [](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE*) -> std::uint64_t {
      return is_odd() ? ~std::uint64_t{0} : *gid % ListObjects::numbers_of_rank;
    };
    expect_refused(objects, objects.lists(!exports, exports), options, ErrorCode::slot_out_of_range,
                   {odd_name(), "slot 18446744073709551615 (negative: -1) by slot_of"});
  }
}

TEST(ListErrors, EveryPartHasARank) {
  ListObjects objects;
  if (size() == 1) objects.exports.add(3, 3, 0, 1);
  ListOptions options = objects.options();
  const std::vector<int> one{0};
  options.part_to_rank = one;
  expect_refused(objects, objects.lists(false, true), options, ErrorCode::invalid_argument,
                 {"part 1, which has no rank", "for parts 0 to 0"});
  const std::vector<int> table{0, is_odd() ? -1 : 0};
  options.part_to_rank = table;
  if (is_odd()) objects.exports.parts.front() = 1;
  expect_refused(
      objects, objects.lists(false, true), options, ErrorCode::rank_out_of_range,
      {odd_name(), "part 1, which option part_to_rank gives to rank -1", "fix the table"});
}

TEST(ListErrors, ArraysPerSlotFitTheStorage) {
  ListObjects objects;
  ListOptions options = objects.options();
  if (is_odd()) options.parts = options.parts.first(10);
  expect_refused(objects, objects.lists(false, true), options, ErrorCode::invalid_argument,
                 {odd_name(), "option parts has 10 entries for 16 slots"});
  options = objects.options();
  if (is_odd()) options.global_ids = options.global_ids.first(15);
  expect_refused(objects, objects.lists(false, true), options, ErrorCode::invalid_argument,
                 {odd_name(), "option global_ids has 15 entries for 16 slots"});
  if (size() == 1) return;
  options = objects.options();
  if (is_odd()) options.parts = {};
  expect_refused(objects, objects.lists(false, true), options, ErrorCode::invalid_argument,
                 {"option parts differs", "not given on rank"});
}

TEST(ListErrors, TheStorageHoldsTheObjects) {
  ListObjects objects;
  expect_refused(objects, objects.lists(false, true), objects.options(),
                 ErrorCode::invalid_argument, {"17 objects do not fit the 16 slots"},
                 is_odd() ? 17 : 8);
  const std::vector<std::uint8_t> mask(is_odd() ? 15 : 16, 1);
  expect_refused(
      objects, objects.lists(false, true), objects.options(), ErrorCode::invalid_argument,
      {odd_name(), "the mask has 15 entries for a storage of 16 slots"}, Occupied::masked(mask));
  ListObjects tight(8, 8);  // all go to rank 0, which has no room
  for (int& proc : tight.exports.procs) proc = 0;
  if (size() == 1) return;
  expect_refused(tight, tight.lists(false, true), tight.options(), ErrorCode::infeasible,
                 {"rank 0", "required_slots"});
}

TEST(Lists, WhatStaysIsNoImport) {
  ListObjects objects;
  for (std::uint64_t s = 0; s < objects.count; ++s)
    if (ListObjects::rank_after(rank(), s) == rank())
      objects.exports.add(ListObjects::number(rank(), s), static_cast<ZOLTAN_ID_TYPE>(s), rank(),
                          0);
  const auto done =
      zoltan::migrate(MPI_COMM_WORLD, objects.lists(true, true), objects.count, objects.storage());
  EXPECT_TRUE(all_ranks(objects.has_moved(done.count, false)));
}

// Then there is nothing to compare with.
TEST(Lists, SomeRanksGiveNoImports) {
  ListObjects objects;
  const auto done = zoltan::migrate(MPI_COMM_WORLD, objects.lists(!is_odd(), true), objects.count,
                                    objects.storage());
  EXPECT_TRUE(all_ranks(objects.has_moved(done.count, false)));
}

TEST(Lists, RanksWithoutSlotsTakePart) {
  if (size() == 1) return;
  ListObjects objects;
  const bool none = rank() == 1;
  for (std::size_t k = 0; k < objects.exports.procs.size(); ++k) {
    int& proc = objects.exports.procs[k];
    if (proc == 1) proc = 0;
  }
  if (none) objects = ListObjects(0, 0), objects.exports = {};
  const auto done = zoltan::migrate(MPI_COMM_WORLD, objects.lists(false, true), objects.count,
                                    objects.storage(), objects.options());
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(done.count)), 8LL * (size() - 1));
}

TEST(Lists, WithoutPartsThePartIsTheRank) {
  for (const bool exports : {true, false}) {
    ListObjects objects;
    zoltan::PartitionLists lists = objects.lists(!exports, exports);
    lists.imports.parts = lists.exports.parts = nullptr;
    const auto done =
        zoltan::migrate(MPI_COMM_WORLD, lists, objects.count, objects.storage(), objects.options());
    long long wrong = 0;
    for (std::uint64_t s = 0; s < done.count; ++s) {
      const bool stayed =
          objects.values[s] / ListObjects::numbers_of_rank == static_cast<unsigned>(rank());
      wrong += objects.parts[s] == (stayed ? -1 : rank()) ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(wrong), 0);
  }
}

// A rank that gives none where others do imports to the part of its own number.
TEST(Lists, ImportsWithPartsOnSomeRanks) {
  ListObjects objects;
  zoltan::PartitionLists lists = objects.lists(true, false);
  if (is_odd()) lists.imports.parts = nullptr;
  const auto done =
      zoltan::migrate(MPI_COMM_WORLD, lists, objects.count, objects.storage(), objects.options());
  long long wrong = 0;
  for (std::uint64_t s = 0; s < done.count; ++s) {
    const ZOLTAN_ID_TYPE number = objects.values[s];
    if (number / ListObjects::numbers_of_rank == static_cast<unsigned>(rank())) continue;
    const int part = ListObjects::part_after(number % ListObjects::numbers_of_rank);
    wrong += objects.parts[s] == (is_odd() ? rank() : part) ? 0 : 1;
  }
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

// What the ranks agree upon, beyond planning and moving.
TEST(Lists, TakeFewReductions) {
  ListObjects objects;
  const std::vector<int> ranks(objects.count, rank());
  const auto counted = [](auto&& call) {
    reductions = 0;
    call();
    return reductions;
  };
  const auto core = [&] { migrate(MPI_COMM_WORLD, objects.storage(), objects.count, ranks); };
  core();
  const int of_core = counted(core);
  const auto of_lists = [&](bool imports, bool exports) {
    ListObjects fresh;
    return counted([&] {
             zoltan::migrate(MPI_COMM_WORLD, fresh.lists(imports, exports), fresh.count,
                             fresh.storage(), fresh.options());
           }) -
           of_core;
  };
  EXPECT_EQ(of_lists(false, true), 1);
  EXPECT_EQ(of_lists(true, true), 2);
  EXPECT_EQ(of_lists(true, false), 3);
}

}  // namespace
}  // namespace valet::test
