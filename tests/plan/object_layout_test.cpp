// SPDX-License-Identifier: BSD-3-Clause

// Numbered objects to layouts without a map: where every object ends, by its number, what is
// communicated for it in comparison with a map, the memory, and what is refused.

#include "counted_mpi.hpp"
#include "filled_map.hpp"

namespace valet::test {
namespace {

Numbers in_a_row(const std::vector<std::uint64_t>& counts) {
  Numbers numbers;
  std::uint64_t next = 0;
  for (const std::uint64_t count : counts) {
    auto& own = numbers.emplace_back(count);
    for (std::uint64_t& number : own) number = next++;
  }
  return numbers;
}

/// The objects of this rank.
class Objects : public FilledMap {
 public:
  Objects(const Numbers& before, const Numbers& after, Shape shape, std::uint64_t more = 0)
      : FilledMap(map_between(before, after), rank(), shape, 40,
                  std::max(row_of(before, rank()).size(), row_of(after, rank()).size()) + more),
        count_(row_of(before, rank()).size()),
        count_after_(row_of(after, rank()).size()) {}
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t count_after() const { return count_after_; }
  [[nodiscard]] long long wrong() { return FilledMap::wrong(Form::to_slots, Order::any); }

 private:
  std::uint64_t count_, count_after_;
};

/// Objects, where they are and where they go.
struct Case {
  std::vector<std::uint64_t> counts;  ///< where they are in a row
  std::optional<ObjectLayout> from;
  ObjectLayout to;
  [[nodiscard]] std::uint64_t objects() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }
  [[nodiscard]] Numbers before() const {
    return from ? numbers_of(*from, objects(), size()) : in_a_row(counts);
  }
  [[nodiscard]] Numbers after() const { return numbers_of(to, objects(), size()); }
};

Plan plan_case(const Case& c, Objects& objects, const Options& options) {
  if (c.from)
    return plan_to_layout(MPI_COMM_WORLD, objects.storage(), objects.count(), *c.from, c.to,
                          options);
  return plan_to_layout(MPI_COMM_WORLD, objects.storage(), objects.count(), c.to, options);
}

/// @param extents  Of the objects, as tiles have them.
ObjectLayout random_layout(std::mt19937_64& random, std::uint64_t objects,
                           const BlockCyclic::Extents& extents) {
  const int ranks = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(size())));
  if (extents.size() > 0 && pick(random, 0, 3) > 0)
    return ObjectLayout::tiles(random_tiles(random, extents, size()));
  switch (pick(random, 0, 3)) {
    case 0: return ObjectLayout::balanced(ranks);
    case 1: return ObjectLayout::cyclic(1, ranks);
    case 2: return ObjectLayout::cyclic(pick(random, 1, 9), ranks);
    default: return ObjectLayout::cyclic(pick(random, 1, 2 * objects + 1), ranks);
  }
}

Case random_case(std::mt19937_64& random) {
  Case c;
  for (int r = 0; r < size(); ++r)
    c.counts.push_back(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, 60));
  BlockCyclic::Extents extents;
  if (pick(random, 0, 1) == 0) {
    extents = random_extents(random, c.objects());
    // What the array has less, the ranks have less.
    std::uint64_t less = c.objects() - elements_of(extents);
    for (std::uint64_t& count : c.counts) {
      const std::uint64_t fewer = std::min(count, less);
      count -= fewer;
      less -= fewer;
    }
  }
  if (pick(random, 0, 1) == 0) c.from = random_layout(random, c.objects(), extents);
  c.to = random_layout(random, c.objects(), extents);
  return c;
}

Options random_options(std::mt19937_64& random) {
  constexpr std::array methods{Method::automatic, Method::stream, Method::stream,
                               Method::direct,    Method::phased, Method::cyclic};
  Options options;
  options.method = methods[pick(random, 0, methods.size() - 1)];
  options.share_memory = pick(random, 0, 1) == 0;
  options.verify = pick(random, 0, 3) == 0;
  // Messages are cut as the budget of their sender has it, which the receiver must know.
  constexpr std::array<std::size_t, 4> blocks{1, 2, 7, 100};
  const std::size_t own =
      blocks[(pick(random, 0, 3) + static_cast<std::size_t>(rank())) % blocks.size()];
  options.budget_bytes = 48 * (options.method == Method::direct ? 1000 : own);
  return options;
}

TEST(ObjectLayout, EveryObjectEndsWhereItsNumberSaysInsideTheMemoryPromised) {
  const std::uint64_t cases = cases_wanted(200);
  for (std::uint64_t number = 0; number < cases; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    const Case c = random_case(random);
    Objects objects(c.before(), c.after(), all_shapes[pick(random, 0, last_shape)],
                    pick(random, 0, 3));
    const Options options = random_options(random);
    Plan plan = plan_case(c, objects, options);
    EXPECT_TRUE(all_ranks(plan.blocks_after() == objects.count_after() &&
                          plan.required_slots() == objects.count_after()));
    const Report report = execute(plan, objects.storage());
    EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
    EXPECT_TRUE(all_ranks(report.plan_from_layout));
    // Objects in a row 12 bytes a slot, else 16 as for a map to slots; 64 a rank for a layout.
    const auto ranks = static_cast<std::uint64_t>(size());
    const std::uint64_t promised = options.budget_bytes + (std::uint64_t{64} << 10) +
                                   256 * report.neighbours + 64 * ranks +
                                   (c.from ? 16 : 12) * objects.storage().slots();
    expect_within_bound(report);
    if (options.method != Method::phased && options.method != Method::cyclic &&
        options.method != Method::automatic) {
      EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
          << report.peak_extra_bytes << " of " << promised;
    }
    ASSERT_TRUE(all_ranks(!HasFailure()));
  }
}

TEST(ObjectLayout, PlanIsExecutedAgainAndGoesBack) {
  const Case there{std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 37),
                   {},
                   ObjectLayout::cyclic(4)};
  const Case back{there.counts, there.to, ObjectLayout::balanced()};
  Objects objects(there.before(), there.after(), Shape::structure, 4);
  Plan plan = plan_case(there, objects, {});
  for (int round = 0; round < 2; ++round) {
    objects.fill();
    execute(plan, objects.storage());
    EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
  }
  Objects returned(back.before(), back.after(), Shape::structure, 4);
  migrate_to_layout(MPI_COMM_WORLD, returned.storage(), returned.count(), back.from.value(),
                    back.to);
  EXPECT_EQ(sum_over_ranks(returned.wrong()), 0);
}

TEST(ObjectLayout, ReportHasSegmentsAndPeriods) {
  const auto ranks = static_cast<std::uint64_t>(size());
  const Case c{std::vector<std::uint64_t>(ranks, 12 * ranks), {}, ObjectLayout::cyclic(3)};
  Objects objects(c.before(), c.after(), Shape::dense);
  const Report report = migrate_to_layout(MPI_COMM_WORLD, objects.storage(), objects.count(), c.to);
  EXPECT_TRUE(all_ranks(report.periods == 4 * ranks)) << "3 objects of each rank in a period";
  EXPECT_TRUE(all_ranks(report.segments == 2 * (ranks - 1))) << "one to and one from each other";
  const Report total = summed_over_ranks(report, MPI_COMM_WORLD);
  EXPECT_EQ(total.segments, ranks * 2 * (ranks - 1));
  EXPECT_EQ(total.periods, 4 * ranks);
  expect_words(total.to_string(), {"planned from the layout"});
}

/// Rows on the ranks, to columns on the ranks, of an array with so many objects a rank and column.
Case rows_to_columns(std::int64_t height) {
  const BlockCyclic::Extents extents{height * size(), std::int64_t{12} * size()};
  return {{},
          ObjectLayout::tiles({extents, {3, 2}, {size(), 1}}),
          ObjectLayout::tiles({extents, {2, 3}, {1, size()}})};
}

TEST(ObjectLayout, TilesAreMatchedDimensionByDimension) {
  const auto ranks = static_cast<std::uint64_t>(size());
  for (const std::int64_t height : {3, 300}) {
    const Case c = rows_to_columns(height);
    Objects objects(c.before(), c.after(), Shape::dense);
    const Report report =
        migrate_to_layout(MPI_COMM_WORLD, objects.storage(), objects.count(), c.from.value(), c.to);
    EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
    EXPECT_TRUE(all_ranks(report.plan_from_layout && report.periods == 1));
    // One family of each dimension to and from each other rank, whatever the height.
    EXPECT_TRUE(all_ranks(report.segments == 2 * (ranks - 1))) << report.segments;
  }
}

/// What is communicated in a plan that `make` makes, on this rank.
template <class Make>
Communication communication_of(Make&& make) {
  static_cast<void>(make());  // the first plan on a communicator finds out more
  communication = {};
  static_cast<void>(make());
  return communication;
}

TEST(ObjectLayout, CommunicatesTheNumberOfObjectsAndOneAgreement) {
  using Calls = std::map<std::string, long long>;
  const auto ranks = static_cast<std::size_t>(size());
  const Options options{.method = Method::stream, .share_memory = false};
  const auto communication_in = [&](const Case& c) {
    Objects objects(c.before(), c.after(), Shape::dense);
    return communication_of([&] { return plan_case(c, objects, options); });
  };
  const auto dealt = [&](std::uint64_t each, const std::optional<ObjectLayout>& from) {
    return communication_in({std::vector(ranks, each), from, ObjectLayout::cyclic(2)});
  };
  // Where the ranks number the objects each has to know all counts.
  const Communication in_a_row = dealt(60, {});
  const Calls counts{{"Allgather", 1}, {"Allreduce", 2}};
  EXPECT_TRUE(all_ranks(in_a_row.calls == counts)) << ::testing::PrintToString(in_a_row.calls);
  const Communication layout = dealt(60, ObjectLayout::cyclic(3));
  const Calls sum{{"Allreduce", 2}};
  EXPECT_TRUE(all_ranks(layout.calls == sum)) << ::testing::PrintToString(layout.calls);
  // The number of objects makes no difference.
  EXPECT_TRUE(all_ranks(dealt(6000, {}).bytes == in_a_row.bytes));
  EXPECT_TRUE(all_ranks(dealt(6000, ObjectLayout::cyclic(3)).bytes == layout.bytes));
  EXPECT_TRUE(all_ranks(communication_in(rows_to_columns(6)).calls == layout.calls));
  // The same objects to the same slots by a map.
  const Case c{std::vector<std::uint64_t>(ranks, 60), {}, ObjectLayout::cyclic(2)};
  Objects objects(c.before(), c.after(), Shape::dense);
  std::vector<Address> addresses;
  for (const auto& to : objects.destination())
    if (to) addresses.push_back(*to);
  const Communication map = communication_of([&] {
    return plan_to_slots(MPI_COMM_WORLD, objects.storage(), objects.count(), addresses, options);
  });
  EXPECT_TRUE(all_ranks(in_a_row.all_calls() < map.all_calls() || size() == 1));
  EXPECT_TRUE(all_ranks(in_a_row.bytes < map.bytes || size() == 1))
      << in_a_row.bytes << " and " << map.bytes << " bytes";
}

TEST(ObjectLayout, AsksOnlyNeighboursForTheirMessagesWhereBudgetsDiffer) {
  // Blocks of 2 to blocks of 3 of as many objects as ranks: most ranks share nothing.
  const auto ranks = static_cast<std::uint64_t>(size());
  const Case c{std::vector<std::uint64_t>(ranks, 1), ObjectLayout::cyclic(2),
               ObjectLayout::cyclic(3)};
  Objects objects(c.before(), c.after(), Shape::dense);
  Options options{.method = Method::stream, .share_memory = false};
  if (rank() == 0) options.budget_bytes = 640;
  const Communication words = communication_of([&] { return plan_case(c, objects, options); });
  EXPECT_TRUE(all_ranks(words.calls.count("Allgather") == 0));
  EXPECT_TRUE(all_ranks(words.collective_calls() == 2)) << ::testing::PrintToString(words.calls);
  Plan plan = plan_case(c, objects, options);
  const auto flows = static_cast<long long>(plan.neighbours());
  const long long messages = words.all_calls() - words.collective_calls();
  EXPECT_TRUE(all_ranks(messages <= flows && (messages > 0 || flows == 0 || size() > 2)));
  execute(plan, objects.storage());
  EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
}

TEST(ObjectLayout, RefusesOnAllRanksWhatIsNoLayout) {
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), 10);
  Objects objects(in_a_row(counts), in_a_row(counts), Shape::dense);
  const auto outcome = [&](std::uint64_t count, std::optional<ObjectLayout> from,
                           const ObjectLayout& to) {
    return outcome_of([&] {
      if (from)
        static_cast<void>(plan_to_layout(MPI_COMM_WORLD, objects.storage(), count, *from, to));
      else
        static_cast<void>(plan_to_layout(MPI_COMM_WORLD, objects.storage(), count, to));
    });
  };
  const auto expect = [&](const Outcome& got, const std::string& text) {
    expect_error(got, ErrorCode::invalid_argument, {text});
  };
  const bool is_last = rank() == size() - 1;
  expect(outcome(10, {}, ObjectLayout::cyclic(1, size() + 1)),
         "the layout after is over " + std::to_string(size() + 1) + " ranks");
  expect(outcome(10, ObjectLayout::cyclic(1, -1), ObjectLayout::cyclic(1)),
         "the layout before is over -1 ranks");
  expect(outcome(is_last ? 11 : 10, {}, ObjectLayout::cyclic(1)), "11 blocks do not fit the 10");
  expect(outcome(is_last ? 11 : 10, ObjectLayout::cyclic(1), ObjectLayout::cyclic(2)),
         "11 blocks do not fit the 10");
  if (size() == 1) return;
  expect(outcome(10, {}, ObjectLayout::cyclic(is_last ? 2 : 1)), "block size of the layout after");
  expect(outcome(10, ObjectLayout::cyclic(is_last ? 2 : 1), ObjectLayout::cyclic(1)),
         "block size of the layout before");
  expect(outcome(10, is_last ? std::optional(ObjectLayout::cyclic(1)) : std::nullopt,
                 ObjectLayout::cyclic(1)),
         "the layout before");
  expect(outcome(is_last ? 8 : 10, ObjectLayout::cyclic(1), ObjectLayout::cyclic(2)),
         "the layout before gives it");
  // All to one rank, which has no room: known before, refused when it is carried out.
  Plan plan = plan_to_layout(MPI_COMM_WORLD, objects.storage(), 10, ObjectLayout::balanced(1));
  EXPECT_TRUE(all_ranks(plan.required_slots() == (rank() == 0 ? 10U * counts.size() : 0U)));
  const Outcome full = outcome_of([&] { execute(plan, objects.storage()); });
  expect_error(full, ErrorCode::infeasible, {});
  EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
}

TEST(ObjectLayout, RefusesOnAllRanksTilesOfOtherObjectsOrRanks) {
  const std::uint64_t each = 4;
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), each);
  const std::int64_t width = size();
  Objects objects(in_a_row(counts), in_a_row(counts), Shape::dense);
  const auto expect = [&](const std::optional<ObjectLayout>& from, const ObjectLayout& to,
                          const std::vector<std::string>& words) {
    const Outcome got = outcome_of([&] {
      if (from)
        static_cast<void>(plan_to_layout(MPI_COMM_WORLD, objects.storage(), each, *from, to));
      else
        static_cast<void>(plan_to_layout(MPI_COMM_WORLD, objects.storage(), each, to));
    });
    expect_error(got, ErrorCode::invalid_argument, words);
  };
  const auto tiles = [](std::int64_t wide, std::int64_t block, int ranks) {
    return ObjectLayout::tiles({{4, wide}, {block, 1}, {1, ranks}});
  };
  const std::string all = std::to_string(each * counts.size());
  expect({}, tiles(100, 1, 1),
         {"the layout after", "4 x 100 = 400 objects", "there are " + all, "give the extents"});
  expect(tiles(100, 1, 1), ObjectLayout::balanced(), {"the layout before", "4 x 100"});
  const std::string more = std::to_string(size() + 1);
  expect({}, tiles(width, 1, size() + 1),
         {"the layout after is over " + more + " ranks", "at most"});
  expect(tiles(width, 1, size() + 1), ObjectLayout::balanced(), {"the layout before is over"});
  if (size() == 1) return;
  const std::int64_t block = rank() == 0 ? 1 : 2;
  expect({}, tiles(width, block, 1), {"the tiles of the layout after differs"});
  expect(tiles(width, block, size()), ObjectLayout::balanced(),
         {"the tiles of the layout before differs"});
}

TEST(ObjectLayout, BlocksOfAnySizeAreOneBlock) {
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), 5);
  constexpr std::uint64_t endless = ~std::uint64_t{0};
  const Case c{counts, {}, ObjectLayout::cyclic(endless)};
  Objects objects(c.before(), c.after(), Shape::dense);
  migrate_to_layout(MPI_COMM_WORLD, objects.storage(), objects.count(), c.to);
  EXPECT_EQ(sum_over_ranks(objects.wrong()), 0);
}

TEST(ObjectLayout, NoObjectsAreWelcome) {
  Objects objects(in_a_row(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 0)),
                  Numbers(static_cast<std::size_t>(size())), Shape::dense);
  const Report report = migrate_to_layout(MPI_COMM_WORLD, objects.storage(), 0,
                                          ObjectLayout::cyclic(3), ObjectLayout::balanced());
  EXPECT_TRUE(all_ranks(report.blocks_after == 0 && report.periods == 0));
}

}  // namespace
}  // namespace valet::test
