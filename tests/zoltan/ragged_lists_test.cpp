// SPDX-License-Identifier: BSD-3-Clause

// Zoltan's lists of objects whose data are blocks of different sizes: every block is where its list
// says, bit for bit, in arenas that are exactly full; what is wrong is one error on all ranks, and
// nothing has moved.

#include "list_objects.hpp"
#include "ragged_case.hpp"

namespace valet::test {
namespace {

using namespace zoltan;

ZOLTAN_ID_TYPE gid_of(const RaggedBlock& block) {
  return ListObjects::number(block.from, block.number);
}
int part_of(const RaggedBlock& block) { return static_cast<int>(block.number % 3) + 100; }

/// The lists of this rank for a case, and what it holds. Before, no object has a part or a name.
struct Listed : OwnBlocks {
  Listed(const RaggedCase& c, bool all)
      : OwnBlocks(c), arrays(OwnBlocks::arrays()), parts(count, -1), gids(count, 0) {
    for (const RaggedBlocks& source : c.before)
      for (const RaggedBlock& block : source) {
        if (block.to == block.from && !all) continue;
        const auto lid = static_cast<ZOLTAN_ID_TYPE>(block.number);
        if (block.from == rank()) exports.add(gid_of(block), lid, block.to, part_of(block));
        if (block.to == rank()) imports.add(gid_of(block), lid, block.from, part_of(block));
      }
    options.migration.order = Order::stable;
    options.migration.verify = true;
    options.parts = parts;
    options.global_ids = gids;
    storage = arrays.storage();
  }

  [[nodiscard]] PartitionLists lists(bool with_imports, bool with_exports) const {
    PartitionLists result;
    if (with_imports) result.imports = imports.list();
    if (with_exports) result.exports = exports.list();
    return result;
  }
  ListMigration migrate(const PartitionLists& given) {
    return zoltan::migrate(MPI_COMM_WORLD, given, before.size(), storage, options);
  }
  /// Blocks that are not where they must be, or have the part or the name of another.
  [[nodiscard]] long long wrong(bool all) {
    long long wrong = arrays.wrong(after);
    for (std::size_t k = 0; k < after.size(); ++k) {
      const bool listed = all || after[k].from != rank();
      const bool right = parts[k] == (listed ? part_of(after[k]) : -1) &&
                         gids[k] == (listed ? gid_of(after[k]) : 0);
      wrong += right ? 0 : 1;
    }
    return wrong;
  }
  [[nodiscard]] bool is_unchanged() {
    return arrays.wrong(before) == 0 &&
           std::ranges::all_of(parts, [](int part) { return part == -1; });
  }

  RaggedArrays arrays;
  std::vector<int> parts;
  std::vector<ZOLTAN_ID_TYPE> gids;
  OwnList imports, exports;
  ListOptions options;
  RaggedStorage storage{};
};

TEST(RaggedLists, OfEveryKindMoveBlocksWhereTheySay) {
  std::mt19937_64 random(seed());
  for (std::uint64_t k = 0; k < cases_wanted(30) && !::testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    const RaggedCase c = random_case(random, size());
    const bool all = k % 2 == 0;  // RETURN_LISTS PARTS lists them all
    for (const auto& [imports, exports] : {std::pair(true, true), {true, false}, {false, true}}) {
      Listed data(c, all);
      const ListMigration done = data.migrate(data.lists(imports, exports));
      EXPECT_TRUE(all_ranks(done.count == data.after.size()));
      EXPECT_TRUE(all_ranks(done.required_slots == done.count));
      EXPECT_TRUE(all_ranks(done.report.verified));
      EXPECT_EQ(sum_over_ranks(data.wrong(all)), 0);
    }
  }
}

TEST(RaggedLists, GoByAFunctionForSlotsAndATableOfParts) {
  std::mt19937_64 random(seed());
  RaggedCase c = random_case(random, size());
  for (RaggedBlocks& blocks : c.before)
    for (RaggedBlock& block : blocks) block.to = part_of(block) % size();
  Listed data(c, true);
  std::vector<int> table(103);
  for (int part = 0; part < 103; ++part) table[static_cast<std::size_t>(part)] = part % size();
  data.options.part_to_rank = table;
  data.options.slot_of = [](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE*) {
    return std::uint64_t{*gid % ListObjects::numbers_of_rank};
  };
  std::ranges::fill(data.exports.lids, 4711U);
  PartitionLists lists = data.lists(false, true);
  lists.exports.procs = nullptr;
  const ListMigration done = data.migrate(lists);
  EXPECT_TRUE(all_ranks(done.count == data.after.size()));
  EXPECT_EQ(sum_over_ranks(data.wrong(true)), 0);
}

/// Ten blocks a rank of 50 bytes, aligned to 8; each rank sends half of them to the next one. There
/// is room for exactly that.
RaggedCase tidy_case() {
  RaggedCase c;
  c.alignment = 8;
  for (int from = 0; from < size(); ++from) {
    RaggedBlocks blocks;
    for (std::uint64_t k = 0; k < 10; ++k)
      blocks.push_back({50, from, k, k % 2 == 0 ? from : (from + 1) % size()});
    c.before.push_back(std::move(blocks));
  }
  return c;
}

/// What the last rank spoils is one error on all ranks, and nothing has moved.
void expect_error(ErrorCode code, const std::vector<std::string>& texts,
                  const std::function<void(Listed&, std::uint64_t&)>& spoil,
                  bool everywhere = false) {
  Listed data(tidy_case(), false);
  std::uint64_t count = data.before.size();
  if (is_odd() || everywhere) spoil(data, count);
  const std::vector<std::uint64_t> lengths = data.arrays.lengths;
  const Outcome outcome = outcome_of([&] {
    zoltan::migrate(MPI_COMM_WORLD, data.lists(false, true), count, data.storage, data.options);
  });
  expect_error(outcome, code, texts);
  const std::string who = "rank " + std::to_string(everywhere ? 0 : size() - 1) + ": ";
  expect_words(outcome.text, {who});
  EXPECT_TRUE(all_ranks(data.arrays.lengths == lengths)) << outcome.text;
  std::ranges::fill(data.arrays.lengths, 50U);  // that a rank may have spoilt
  EXPECT_TRUE(all_ranks(data.is_unchanged())) << outcome.text;
}

/// Gives another capacity to the storage.
void have(Listed& data, std::uint64_t bytes, std::uint64_t blocks) {
  RaggedField field = data.arrays.field();
  field.capacity_bytes = bytes;
  field.block_capacity = blocks;
  field.label = "records";
  data.storage = {{field}, {valet::field(data.arrays.names)}};
}

/// A storage of references, made before there was a block.
TEST(RaggedLists, LookAgainAtArraysThatWereResized) {
  std::vector<std::uint64_t> values, lengths;
  const RaggedStorage storage({ragged_field(valet::ref(values), valet::ref(lengths))});
  const auto all = static_cast<std::size_t>(2 * size());
  values.assign(all, static_cast<std::uint64_t>(rank()));
  lengths.assign(all, sizeof(std::uint64_t));
  OwnList exports;
  exports.add(ListObjects::number(rank(), 0), 0, 0, 0);
  PartitionLists lists;
  lists.exports = exports.list();
  const ListMigration done = zoltan::migrate(MPI_COMM_WORLD, lists, 2, storage);
  EXPECT_EQ(done.count, rank() == 0 ? static_cast<std::uint64_t>(size()) + 1 : 1U);
  std::vector<std::uint64_t> expected{static_cast<std::uint64_t>(rank())};
  if (rank() == 0)
    for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(size()); ++r) expected.push_back(r);
  values.resize(done.count);
  std::ranges::sort(values);
  EXPECT_EQ(values, expected);
}

TEST(RaggedListErrors, WithoutMistakesThereAreNone) {
  Listed data(tidy_case(), false);
  static_cast<void>(data.migrate(data.lists(true, true)));
  EXPECT_EQ(sum_over_ranks(data.wrong(false)), 0);
}

TEST(RaggedListErrors, NameIdsThatAreNoBlocks) {
  expect_error(ErrorCode::slot_out_of_range,
               {"global id 4711", "slot 10 by its local id", "the storage has 10 slots"},
               [](Listed& data, std::uint64_t&) { data.exports.add(4711, 10, 0, 0); });
  expect_error(ErrorCode::invalid_argument, {"slot 9", "holds no object", "9 objects, from slot 0"},
               [](Listed& data, std::uint64_t& count) {
                 data.exports.add(4711, 9, 0, 0);
                 std::swap(data.exports.lids.front(), data.exports.lids.back());
                 count = 9;
               });
  expect_error(ErrorCode::callback_failed, {"option slot_of", "no such object"},
               [](Listed& data, std::uint64_t&) {
                 data.exports.add(4711, 0, 0, 0);
                 data.options.slot_of = [](const ZOLTAN_ID_TYPE*,
                                           const ZOLTAN_ID_TYPE*) -> std::uint64_t {
                   throw std::runtime_error("no such object");
                 };
               });
}

TEST(RaggedListErrors, NameCountsAndArraysThatDoNotFit) {
  expect_error(ErrorCode::invalid_argument, {"11 objects do not fit the 10 slots of the storage"},
               [](Listed&, std::uint64_t& count) { count = 11; });
  expect_error(ErrorCode::invalid_argument, {"10 objects do not fit the 9 slots of the storage"},
               [](Listed& data, std::uint64_t&) { have(data, data.bytes, 9); });
  expect_error(ErrorCode::invalid_argument, {"10 objects do not fit the 9 slots of the storage"},
               [](Listed& data, std::uint64_t&) {
                 Field names = field(data.arrays.names);
                 names.slots = 9;
                 data.storage = {{data.arrays.field()}, {names}};
               });
  expect_error(ErrorCode::invalid_argument, {"option parts has 9 entries for 10 slots"},
               [](Listed& data, std::uint64_t&) {
                 data.options.parts = {data.parts.data(), 9};
               });
  expect_error(ErrorCode::invalid_argument, {"block 9 of 4000 bytes would start at byte 504"},
               [](Listed& data, std::uint64_t&) { data.arrays.lengths[9] = 4000; });
}

TEST(RaggedListErrors, SayWhatTheBlocksNeed) {
  // The last rank keeps its ten blocks and gets five more.
  const auto keep_all = [](Listed& data) { data.exports = {}; };
  if (size() > 1)
    expect_error(ErrorCode::infeasible,
                 {"it would hold 15 blocks, with 840 bytes in ragged field 0",
                  "required_bytes = 840", "required blocks = 15"},
                 [&](Listed& data, std::uint64_t&) { keep_all(data); });
  expect_error(
      ErrorCode::invalid_argument, {"order fill"},
      [](Listed& data, std::uint64_t&) { data.options.migration.order = Order::fill; }, true);
  expect_error(
      ErrorCode::invalid_argument, {"the storage has no ragged field"},
      [](Listed& data, std::uint64_t&) {
        data.storage = RaggedStorage(std::span<const RaggedField>(), data.storage.columns());
      },
      true);
}

}  // namespace
}  // namespace valet::test
