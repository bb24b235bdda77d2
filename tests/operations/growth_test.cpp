// SPDX-License-Identifier: BSD-3-Clause

// Storages that grow: a rank that gets more than it has slots for enlarges its arrays, once and no
// more than it must, by every call that moves blocks. What fails on one rank fails on all, and
// nothing has moved.

#include "filled_map.hpp"
#include "random_options.hpp"
#include "shared_folder.hpp"

#include <limits>
#include <new>
#include <stdexcept>

namespace valet::test {
namespace {

/// A vector that counts how often it is resized, and may refuse.
struct CountedVector : std::vector<std::int64_t> {
  using std::vector<std::int64_t>::vector;
  int resized = 0;
  bool refuses = false;

  void resize(std::size_t size) {
    if (refuses) throw std::bad_alloc();
    ++resized;
    std::vector<std::int64_t>::resize(size);
  }
};

/// Blocks whose values say where they began, in arrays that are just as long as they must be.
struct Grown {
  std::uint64_t count = 0;
  CountedVector origin, slot;

  explicit Grown(std::uint64_t blocks) : count(blocks), origin(blocks), slot(blocks) { fill(); }
  void fill() {
    for (std::uint64_t k = 0; k < count; ++k) {
      origin[k] = rank();
      slot[k] = static_cast<std::int64_t>(k);
    }
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(growing(origin), 1, "origin"), growing(slot, 1, "slot")};
  }
  [[nodiscard]] long long wrong(const GlobalContent& content) const {
    return wrong_slots(
        content[static_cast<std::size_t>(rank())], [this](std::uint64_t k, const Address& from) {
          return origin[k] == from.rank && slot[k] == static_cast<std::int64_t>(from.slot);
        });
  }
  [[nodiscard]] bool is_untouched() const {
    for (std::uint64_t k = 0; k < count; ++k)
      if (origin[k] != rank() || slot[k] != static_cast<std::int64_t>(k)) return false;
    return true;
  }
};

/// Counts and ranks that every rank draws alike; nobody has a free slot, many get more than they
/// have.
struct Case {
  GlobalMap map;
  Options options;

  explicit Case(std::mt19937_64& random) {
    std::vector<std::uint64_t> counts;
    for (int r = 0; r < size(); ++r) counts.push_back(pick(random, 0, 2) * pick(random, 0, 60));
    map = empty_map(counts);
    const int favourite = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(size() - 1)));
    std::vector<std::uint64_t> next(counts.size(), 0);
    for (auto& row : map.destination)
      for (auto& to : row) {
        const bool is_any = pick(random, 0, 2) == 0;
        const int there =
            is_any ? static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(size() - 1)))
                   : favourite;
        to = Address{there, next[static_cast<std::size_t>(there)]++};
      }
    options.method = all_methods[pick(random, 0, all_methods.size() - 1)];
    options.order = all_orders[pick(random, 0, 2)];
    options.verify = pick(random, 0, 1) == 0;
  }
  [[nodiscard]] std::vector<int> ranks() const {
    std::vector<int> result;
    for (const auto& to : map.destination[static_cast<std::size_t>(rank())])
      result.push_back(to->rank);
    return result;
  }
  [[nodiscard]] std::uint64_t arriving(int there = rank()) const {
    std::uint64_t sum = 0;
    for (const auto& row : map.destination)
      for (const auto& to : row) sum += to && to->rank == there ? 1 : 0;
    return sum;
  }
  /// As of a map with all the slots that there are in the end.
  [[nodiscard]] GlobalContent content() const {
    GlobalMap grown = map;
    for (int r = 0; r < size(); ++r) {
      auto& row = grown.destination[static_cast<std::size_t>(r)];
      row.resize(std::max<std::size_t>(row.size(), arriving(r)));
      grown.slots[static_cast<std::size_t>(r)] = row.size();
    }
    return content_by_ranks(grown, options.order, 2 * sizeof(std::int64_t));
  }
};

TEST(Growth, IsWhatIsNeededAndOnce) {
  const std::uint64_t cases = cases_wanted(200);
  for (std::uint64_t k = 0; k < cases; ++k) {
    std::mt19937_64 random(seed() + k);
    const Case c(random);
    SCOPED_TRACE(seed_note(seed() + k) + ", " + describe(c.options));
    Grown blocks(c.map.slots[static_cast<std::size_t>(rank())]);
    const std::vector<int> to = c.ranks();
    const Report report = migrate(MPI_COMM_WORLD, blocks.storage(), blocks.count, to, c.options);
    ASSERT_EQ(report.blocks_after, c.arriving());
    EXPECT_EQ(sum_over_ranks(blocks.wrong(c.content())), 0);
    expect_within_bound(report);
    const bool grows = report.blocks_after > blocks.count;
    EXPECT_EQ(blocks.origin.resized, grows ? 1 : 0);
    EXPECT_EQ(blocks.slot.size(), std::max(blocks.count, report.blocks_after));
    EXPECT_EQ(blocks.slot.capacity(), blocks.slot.size()) << "a vector has taken more";
  }
}

/// What a function returns is the storage from then on, also where it has been copied to.
TEST(Growth, ByAFunctionThatReturnsTheStorage) {
  constexpr std::uint64_t blocks = 10;
  std::vector<std::int64_t> small(blocks, rank()), large;
  int calls = 0;
  const BlockStorage storage =
      BlockStorage{field(small)}.growing([&](std::uint64_t required) -> BlockStorage {
        ++calls;
        large.assign(required, -1);
        std::ranges::copy(small, large.begin());
        return {field(large)};
      });
  const BlockStorage copy = storage;
  BlockStorage assigned = copy;  // by the function that it holds
  assigned = copy.growing([&](std::uint64_t required) {
    large.assign(required, -1);
    return assigned = BlockStorage{field(large)};
  });
  migrate(MPI_COMM_WORLD, assigned, blocks, std::vector<int>(blocks, 0));
  EXPECT_EQ(assigned.slots(), rank() == 0 ? blocks * static_cast<std::uint64_t>(size()) : blocks);
  std::ranges::fill(small, rank());
  const std::vector<int> to(blocks, 0);
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, blocks, to);
  execute(plan, storage);
  const bool grows = rank() == 0 && size() > 1;
  EXPECT_EQ(calls, grows ? 1 : 0);
  if (!grows) return;
  EXPECT_EQ(copy.slots(), blocks * static_cast<std::uint64_t>(size()));
  for (int r = 0; r < size(); ++r) EXPECT_EQ(std::ranges::count(large, r), blocks);
}

/// Executions in parts and bound plans.
TEST(Growth, ByEveryExecution) {
  for (const bool bound : {false, true}) {
    Grown blocks(5);
    const std::vector<int> to(5, size() - 1);
    Plan plan = plan_to_ranks(MPI_COMM_WORLD, blocks.storage(), 5, to);
    if (bound) plan.bind(blocks.storage());
    Execution execution = bound ? start(plan) : start(plan, blocks.storage());
    const Report report = execution.wait();
    EXPECT_EQ(blocks.origin.size(), std::max<std::uint64_t>(5, report.blocks_after));
  }
}

/// What a temporary storage has grown to is kept by the execution alone.
TEST(Growth, OfAStorageThatOnlyItsExecutionKnows) {
  constexpr std::uint64_t blocks = 50;
  std::vector<std::int64_t> small(blocks, rank()), others(blocks, rank()), large, larger;
  const auto made = [&] {
    return BlockStorage{field(small), field(others)}.growing(
        [&](std::uint64_t required) -> BlockStorage {
          large.assign(required, -1);
          std::ranges::copy(small, large.begin());
          larger = large;
          return {field(large), field(larger)};
        });
  };
  const std::vector<int> to(blocks, 0);
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, made(), blocks, to);
  Execution execution = start(plan, made());
  std::vector<std::vector<char>> elsewhere(64,
                                           std::vector<char>(64, 'x'));  // what was freed is used
  while (!execution.progress()) {
  }
  execution.wait();
  if (rank() > 0 || size() == 1) return;
  for (int r = 0; r < size(); ++r) EXPECT_EQ(std::ranges::count(large, r), blocks);
  EXPECT_EQ(large, larger);
}

TEST(Growth, OntoRanksWithoutASlot) {
  Grown blocks(rank() == 0 ? 60 : 0);
  const ResizeResult result = resize(MPI_COMM_WORLD, blocks.storage(), blocks.count, 1, size());
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(result.count)), 60);
  EXPECT_LE(max_over_ranks(static_cast<long long>(result.count)), 60 / size() + 1);
  Grown numbered(rank() == 0 ? 60 : 0);
  Plan plan =
      plan_to_layout(MPI_COMM_WORLD, numbered.storage(), numbered.count, ObjectLayout{.ranks = 0});
  execute(plan, numbered.storage());
  EXPECT_EQ(numbered.slot.size(), rank() == 0 ? 60 : plan.blocks_after());
}

/// Lists of as many values as their number, and a column; some arenas by offsets.
TEST(Growth, OfBlocksOfDifferentSizes) {
  for (const bool offsets : {false, true}) {
    std::vector<std::uint64_t> lengths, values, number;
    for (std::uint64_t k = 0; k < 6; ++k) {
      lengths.push_back(8 * k);
      number.push_back(k);
      values.insert(values.end(), k, k);
    }
    if (offsets) {
      lengths.insert(lengths.begin(), 0);
      std::partial_sum(lengths.begin(), lengths.end(), lengths.begin());
    }
    const RaggedStorage storage(
        {offsets ? ragged_field_by_offsets(growing(values), growing(lengths))
                 : ragged_field(growing(values), growing(lengths))},
        {growing(number, 1)});
    const std::vector<int> to(6, size() - 1);
    const Report report = migrate(MPI_COMM_WORLD, storage, 6, to);
    const bool has_all = rank() == size() - 1;
    const auto all = static_cast<std::uint64_t>(has_all ? size() : 1);
    EXPECT_EQ(report.blocks_after, has_all ? 6 * all : 0);
    EXPECT_EQ(values.size(), 15 * all);
    EXPECT_EQ(number.size(), 6 * all);
    EXPECT_EQ(lengths.size(), 6 * all + (offsets ? 1 : 0));
    if (!has_all) continue;
    std::uint64_t at = 0;
    for (const std::uint64_t k : number)
      for (std::uint64_t v = 0; v < k; ++v) EXPECT_EQ(values[at++], k);
  }
}

TEST(Growth, OfWhatComesFromAFile) {
  const SharedFolder folder;
  const std::string path = folder.path("state.valet");
  Junction file = Junction::create(MPI_COMM_WORLD, path);
  Grown blocks(4);
  file.put(blocks.storage(), 4, "blocks").wait();
  std::vector<std::uint64_t> lengths(2, 8), values(2, static_cast<std::uint64_t>(rank()));
  file.put(RaggedStorage({ragged_field(std::span(values), std::span(lengths))}), 2, "lists").wait();
  file.close();
  file = Junction::open(MPI_COMM_WORLD, path);
  Grown got(0);
  const std::uint64_t all = 4 * static_cast<std::uint64_t>(size());
  EXPECT_EQ(file.get(got.storage(), BlockRange{0, all}, "blocks").wait().blocks_after, all);
  EXPECT_EQ(got.origin.size(), all);
  values.clear();
  lengths.clear();
  const RaggedStorage lists({ragged_field(growing(values), growing(lengths))});
  file.get(lists, "lists").wait();
  EXPECT_EQ(values, std::vector<std::uint64_t>(2, static_cast<std::uint64_t>(rank())));
}

/// The last rank alone, whatever is wrong there.
class RefusedGrowth : public ::testing::Test {
 protected:
  static constexpr std::uint64_t count = 7;
  Grown blocks{count};
  const std::vector<int> to = std::vector<int>(count, size() - 1);
  const bool is_odd = rank() == size() - 1;

  void expect(const BlockStorage& storage, ErrorCode code, std::vector<std::string> words) {
    if (size() == 1) return;
    words.push_back("rank " + std::to_string(size() - 1) + ":");
    words.emplace_back("nothing has moved");
    expect_error(outcome_of([&] { migrate(MPI_COMM_WORLD, storage, count, to); }), code, words);
    EXPECT_TRUE(blocks.is_untouched());
    EXPECT_EQ(blocks.origin.size(), count) << "as large as others of its storage";
    // The same storage serves where there is room.
    const std::vector<int> own(count, rank());
    migrate(MPI_COMM_WORLD, storage, count, own);
  }
};

TEST_F(RefusedGrowth, WithoutMemory) {
  blocks.slot.refuses = is_odd;
  expect(blocks.storage(), ErrorCode::out_of_memory,
         {"no memory for enlarging the storage (grow)"});
}

TEST_F(RefusedGrowth, ByAFunctionThatThrows) {
  const auto fails = [](std::uint64_t slots) -> BlockStorage {
    throw std::runtime_error("no room for " + std::to_string(slots));
  };
  expect(BlockStorage{field(blocks.origin), field(blocks.slot)}.growing(fails),
         ErrorCode::callback_failed,
         {"enlarging the storage (grow) failed: no room for " +
          std::to_string(count * static_cast<std::uint64_t>(size()))});
}

TEST_F(RefusedGrowth, ByAFunctionThatGivesTooLittle) {
  const auto fails = [&](std::uint64_t) {
    return BlockStorage{field(blocks.origin), field(blocks.slot)};
  };
  expect(BlockStorage{field(blocks.origin), field(blocks.slot)}.growing(fails),
         ErrorCode::infeasible,
         {"grow returned a storage of 7 slots",
          std::to_string(count * static_cast<std::uint64_t>(size())) + " are required"});
}

TEST_F(RefusedGrowth, WhereOnlySomeArraysGrow) {
  expect({growing(blocks.origin, 1, "origin"), field(valet::ref(blocks.slot), 1, "slot")},
         ErrorCode::callback_failed, {"field 'slot' cannot be resized", "let all of them grow"});
}

TEST_F(RefusedGrowth, WithOtherFieldsThanPlanned) {
  std::vector<double> other;
  const auto makes = [&](std::uint64_t slots) {
    other.resize(3 * slots);
    return BlockStorage{field(other, 3)};
  };
  if (size() == 1) return;
  expect_error(outcome_of([&] {
                 migrate(MPI_COMM_WORLD,
                         BlockStorage{field(blocks.origin), field(blocks.slot)}.growing(makes),
                         count, to);
               }),
               ErrorCode::block_size_mismatch, {"24 bytes"});
  EXPECT_TRUE(blocks.is_untouched());
}

/// Growth must not make them agree.
TEST_F(RefusedGrowth, OfArraysThatDoNotFitTogetherAnyMore) {
  if (size() == 1) return;
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, blocks.storage(), count, to);
  const auto outcome = [&] { return outcome_of([&] { execute(plan, blocks.storage()); }); };
  if (is_odd) blocks.slot.resize(count - 2);
  expect_error(outcome(), ErrorCode::field_mismatch, {"'slot' has 5 slots"});
  if (is_odd) blocks.origin.resize(count - 2);
  expect_error(outcome(), ErrorCode::infeasible, {"but has 5 slots"});
  EXPECT_EQ(blocks.origin.size(), is_odd ? count - 2 : count);
}

TEST_F(RefusedGrowth, OfListsByAFunctionThatReturnsOthers) {
  if (size() == 1) return;
  std::vector<std::uint64_t> values(count, 1), lengths(count, 8), more;
  std::vector<std::uint32_t> narrow;
  const RaggedStorage lists =
      RaggedStorage({ragged_field(std::span(values), std::span(lengths))}, {field(blocks.slot)})
          .growing([&](const RaggedRoom& required) {
            more.resize(required.bytes[0] / 8);
            narrow.resize(required.blocks);
            lengths.resize(required.blocks);
            return RaggedStorage({ragged_field(std::span(more), std::span(lengths))},
                                 {field(narrow)});
          });
  expect_error(outcome_of([&] { migrate(MPI_COMM_WORLD, lists, count, to); }),
               ErrorCode::field_mismatch,
               {"rank " + std::to_string(size() - 1) + ":", "grow_ragged returned other arrays",
                "nothing has moved"});
  EXPECT_EQ(values, std::vector<std::uint64_t>(count, 1));
}

TEST_F(RefusedGrowth, OfStoragesThatDoNotGrow) {
  if (size() == 1) return;
  const BlockStorage storage{field(blocks.origin), field(blocks.slot)};
  EXPECT_FALSE(storage.grows());
  expect_error(outcome_of([&] { migrate(MPI_COMM_WORLD, storage, count, to); }),
               ErrorCode::infeasible, {"but has 7 slots", "give a storage that grows"});
}

}  // namespace
}  // namespace valet::test
