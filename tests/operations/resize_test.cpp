// SPDX-License-Identifier: BSD-3-Clause

// From some ranks to more or fewer: every block is there once, shares are what a plain computation
// says, and slots that were released may be overwritten at once.

#include "counted_new.hpp"
#include "fair_shares.hpp"
#include "gathered.hpp"
#include "process_memory.hpp"
#include "promise.hpp"
#include "random_options.hpp"
#include <valet/resize.hpp>

namespace valet::test {
namespace {

using Ids = std::vector<std::uint64_t>;

/// Blocks with an id and a name made from it, in two fields; ids ascend over ranks and slots.
class Blocks {
 public:
  Blocks(std::uint64_t slots, std::uint64_t count) : ids_(slots, none), names_(3 * slots, 0) {
    const auto counts = gathered(std::vector<std::uint64_t>{count});
    std::uint64_t first = 0;
    for (int r = 0; r < rank(); ++r) first += row_of(counts, r)[0];
    for (std::uint64_t k = 0; k < count; ++k) {
      ids_[k] = first + k;
      for (std::uint64_t c = 0; c < 3; ++c) names_[3 * k + c] = name(first + k, c);
    }
  }

  [[nodiscard]] BlockStorage storage() { return {field(ids_, 1, "id"), field(names_, 3, "name")}; }
  /// The ids of the first blocks, whose names are right.
  [[nodiscard]] Ids ids(std::uint64_t count) const {
    for (std::uint64_t k = 0; k < 3 * count; ++k)
      EXPECT_EQ(names_[k], name(ids_[k / 3], k % 3)) << "block " << k / 3;
    return {ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  void overwrite(std::uint64_t first, std::uint64_t count) {
    std::fill_n(ids_.begin() + static_cast<std::ptrdiff_t>(first), count, none);
    std::fill_n(names_.begin() + static_cast<std::ptrdiff_t>(3 * first), 3 * count, 0U);
  }
  static constexpr std::size_t bytes = sizeof(std::uint64_t) + 3 * sizeof(std::uint32_t);

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static std::uint32_t name(std::uint64_t id, std::uint64_t component) {
    return static_cast<std::uint32_t>(7 * id + component + 1);
  }
  Ids ids_;
  std::vector<std::uint32_t> names_;
};

std::uint64_t sum_of(const Ids& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// One resize, drawn alike on all ranks: all blocks fit the ranks that are active afterwards.
struct ResizeCase {
  explicit ResizeCase(std::mt19937_64& random)
      : before(some_ranks(random)), after(some_ranks(random)), counts(ranks()), slots(ranks()) {
    for (int r = 0; r < before; ++r) row_of(counts, r) = pick(random, 0, 4) * pick(random, 0, 15);
    for (int r = 0; r < size(); ++r) row_of(slots, r) = row_of(counts, r) + pick(random, 0, 20);
    std::uint64_t room = std::accumulate(slots.begin(), slots.begin() + after, std::uint64_t{0});
    for (; room < sum_of(counts); ++room)
      ++row_of(slots, static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(after - 1))));
    options.balance = pick(random, 0, 1) == 0 ? ResizeBalance::count : ResizeBalance::numbering;
    options.migration.method = all_methods[pick(random, 0, all_methods.size() - 1)];
    options.migration.budget_bytes =
        options.migration.method == Method::direct || options.migration.method == Method::phased
            ? std::size_t{1} << 20
            : Blocks::bytes * random_budget_blocks(random, rank());
    options.migration.verify = pick(random, 0, 3) == 0;
    has_weights = pick(random, 0, 2) == 0;
    for (std::uint64_t k = 0; has_weights && k < sum_of(counts); ++k)
      weights.push_back(static_cast<double>(pick(random, 0, 8)));
  }

  [[nodiscard]] std::uint64_t first() const {
    return std::accumulate(counts.begin(), counts.begin() + rank(), std::uint64_t{0});
  }

  int before, after;
  Ids counts, slots;
  ResizeOptions options;
  bool has_weights = false;
  std::vector<double> weights;  ///< of all blocks

 private:
  static std::size_t ranks() { return static_cast<std::size_t>(size()); }
  static int some_ranks(std::mt19937_64& random) {
    return static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(size())));
  }
};

/// No rank has more weight than its equal share and the heaviest block on either side, unless
/// slots are short.
void check_weights(const ResizeCase& c, const std::vector<Ids>& now) {
  const double all = std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  if (all == 0) return;
  const double most = all / c.after + *std::ranges::max_element(c.weights) + 1e-9;
  for (std::size_t r = 0; r < static_cast<std::size_t>(c.after); ++r) {
    double weight = 0;
    for (const std::uint64_t id : now[r]) weight += c.weights[id];
    bool is_short = false;
    for (std::size_t k = 0; k < static_cast<std::size_t>(c.after); ++k)
      is_short = is_short || now[k].size() == c.slots[k];
    EXPECT_TRUE(is_short || weight <= most) << weight << " on rank " << r;
  }
}

/// Resizes, and compares what all ranks have then with what they should.
void check_resize(ResizeCase& c) {
  const auto self = static_cast<std::size_t>(rank());
  Blocks blocks(c.slots[self], c.counts[self]);
  if (c.has_weights) c.options.weights = std::span(c.weights).subspan(c.first(), c.counts[self]);
  // What was released is not needed any more, and all is in the end.
  Ids told(c.slots[self], 0);
  c.options.released = [&](std::uint64_t first, std::uint64_t slots) {
    for (std::uint64_t slot = first; slot < first + slots; ++slot) told[slot] = 1;
    blocks.overwrite(first, slots);
  };
  const ResizeResult result =
      resize(MPI_COMM_WORLD, blocks.storage(), c.counts[self], c.before, c.after, c.options);
  EXPECT_EQ(result.is_active, rank() < c.after);
  EXPECT_EQ(told, Ids(told.size(), result.is_active ? 0 : 1));
  EXPECT_EQ(result.count, result.report.blocks_after);
  EXPECT_LE(result.report.peak_extra_bytes, result.report.extra_bytes_bound);
  // Phases and cycles, and budgets of a block, list arrivals.
  const std::uint64_t slot_bytes = 16;
  EXPECT_LE(result.report.extra_bytes_bound,
            promised_bytes(result.report.budget_bytes, result.report.neighbours,
                           2 * static_cast<std::uint64_t>(size())) +
                slot_bytes * c.slots[self] + 4 * c.counts[self] + c.slots[self] / 4 + 4);
  const std::vector<Ids> now = gathered(blocks.ids(result.count));
  const bool keeps_order = c.has_weights || c.options.balance == ResizeBalance::numbering;
  std::uint64_t largest = 0, next = 0, moved = 0, beyond = 0;
  for (std::size_t r = 0; r < now.size(); ++r) {
    EXPECT_LE(now[r].size(), r < static_cast<std::size_t>(c.after) ? c.slots[r] : 0);
    largest = std::max<std::uint64_t>(largest, now[r].size());
    beyond += c.counts[r] - std::min<std::uint64_t>(c.counts[r], now[r].size());
    const std::uint64_t first = std::accumulate(
        c.counts.begin(), c.counts.begin() + static_cast<std::ptrdiff_t>(r), std::uint64_t{0});
    for (const std::uint64_t id : now[r]) {
      EXPECT_TRUE(!keeps_order || id == next) << id << " in place of " << next;
      ++next;
      moved += id < first || id >= first + c.counts[r] ? 1 : 0;
    }
  }
  EXPECT_EQ(lost_or_doubled(now[self], result.count, sum_of(c.counts)), 0);
  if (c.has_weights)
    check_weights(c, now);
  else
    EXPECT_EQ(largest,
              least_largest_share(sum_of(c.counts), {c.slots.begin(), c.slots.begin() + c.after}));
  EXPECT_TRUE(keeps_order || moved == beyond) << moved << " blocks move, " << beyond << " must";
}

TEST(Resize, BringsEveryBlockToTheRanksThatAreActive) {
  for (std::uint64_t k = 0; k < cases_wanted(200); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    ResizeCase c(random);
    check_resize(c);
    if (!all_ranks(!HasFailure())) return;
  }
}

// The numbers are those of a job whose ranks are full: what it grows to and shrinks to has just
// enough room.
TEST(Resize, GrowsAndDrainsWithSlotsThatAreNearlyFull) {
  if (size() < 4) GTEST_SKIP() << "needs 4 ranks";
  constexpr std::uint64_t total = 1900;
  const std::uint64_t slots = rank() == 0 ? 2000 : 1000;
  std::uint64_t count = rank() < 2 ? total / 2 : 0;
  Blocks blocks(slots, count);
  int active = 2;
  for (const int next : {4, 3, 1}) {
    const ResizeOptions options{.migration = {.budget_bytes = Blocks::bytes}};
    const ResizeResult result =
        resize(MPI_COMM_WORLD, blocks.storage(), count, active, next, options);
    expect_within_bound(result.report);
    count = result.count;
    active = next;
    const auto share = total / static_cast<std::uint64_t>(next);
    EXPECT_LE(count - (rank() < next ? share : 0), rank() < next ? 1U : 0U);
    EXPECT_EQ(lost_or_doubled(blocks.ids(count), count, total), 0);
  }
}

// What a rank that leaves has told to be free goes back to the system while the others still move.
TEST(Resize, ReturnsTheMemoryOfARankThatLeaves) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  if (size() < 2) GTEST_SKIP() << "needs a rank that leaves";
  // As many fields as a rank with all its quantities has: each has a short part of what is told.
  constexpr std::uint64_t slots = 1 << 17, fields = 40;
  const bool leaves = rank() == size() - 1;
  const std::uint64_t count = leaves ? slots : 0;
  const long long empty = status_bytes("RssAnon");
  // Not touched before blocks arrive.
  const std::unique_ptr<double[]> data(new double[fields * slots]);
  std::vector<Field> columns;
  for (std::uint64_t f = 0; f < fields; ++f) {
    columns.push_back(field(data.get() + f * slots, slots));
    for (std::uint64_t k = 0; k < count; ++k)
      data[f * slots + k] = static_cast<double>(k * fields + f);
  }
  const long long full = status_bytes("RssAnon");
  std::uint64_t told_early = 0;
  ResizeOptions options;
  options.released = [&](std::uint64_t first, std::uint64_t released) {
    for (std::uint64_t f = 0; f < fields; ++f)
      give_back(data.get() + f * slots, sizeof(double), first, released);
    told_early += status_bytes("RssAnon") > empty + (full - empty) / 2 ? 1 : 0;
  };
  const BlockStorage storage{std::span<const Field>(columns)};
  const ResizeResult result = resize(MPI_COMM_WORLD, storage, count, size(), 1, options);
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 0; k < result.count; ++k) {
    const auto name = static_cast<std::uint64_t>(data[k]);
    for (std::uint64_t f = 0; f < fields; ++f)
      wrong += data[f * slots + k] != static_cast<double>(name + f) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
  if (!leaves) return;
  EXPECT_GT(full - empty, static_cast<long long>(fields * sizeof(double) * slots) * 9 / 10);
  // A page at either end of a field may be that of others, too.
  EXPECT_LE(status_bytes("RssAnon") - empty,
            (full - empty) / 10 + static_cast<long long>(result.report.extra_bytes_bound));
  EXPECT_GT(told_early, 1U) << "all of it came in the end";
}

TEST(Resize, TakesWhatItPromisesAtMost) {
  constexpr std::uint64_t slots = 100'000;
  const std::uint64_t count = rank() == 0 ? slots : 0;
  std::vector<std::uint64_t> data(slots, 1);
  const BlockStorage storage{field(data)};
  for (const ResizeBalance balance : {ResizeBalance::count, ResizeBalance::numbering}) {
    const OwnComm comm;
    const ResizeOptions options{.balance = balance, .migration = {.budget_bytes = 64 << 10}};
    const std::uint64_t map = balance == ResizeBalance::count ? 4 : 0;
    const AskedBytes asked;
    const ResizeResult result = resize(comm, storage, count, 1, size(), options);
    EXPECT_LE(asked.most(), promised_bytes(64 << 10, static_cast<std::uint64_t>(size()),
                                           static_cast<std::uint64_t>(2 * size())) +
                                (12 + map) * slots);
    EXPECT_LE(result.report.peak_extra_bytes, result.report.extra_bytes_bound);
  }
}

/// An error that all ranks get alike; the blocks stay as they were.
void expect_refused(std::uint64_t count, int before, int after, const ResizeOptions& options,
                    ErrorCode code, const std::vector<std::string>& words) {
  Blocks blocks(10, std::min<std::uint64_t>(count, 10));
  const Ids held = blocks.ids(std::min<std::uint64_t>(count, 10));
  expect_error(
      outcome_of([&] {
        static_cast<void>(resize(MPI_COMM_WORLD, blocks.storage(), count, before, after, options));
      }),
      code, words);
  EXPECT_EQ(blocks.ids(held.size()), held);
}

TEST(ResizeErrors, SaysHowManyRanksOrSlotsWouldDo) {
  if (size() < 3) GTEST_SKIP() << "needs 3 ranks";
  expect_refused(rank() < 3 ? 10 : 0, 3, 2, {}, ErrorCode::infeasible,
                 {"the 30 blocks do not fit into the 20 slots of ranks 0 to 1; make 3 ranks "
                  "active, or give each of these ranks 15 slots; nothing has moved"});
}

TEST(ResizeErrors, NamesRanksThatThereAreNot) {
  const std::string ranks = "give 1 to " + std::to_string(size()) + ", the ranks of the";
  expect_refused(0, size(), 0, {}, ErrorCode::invalid_argument, {"active_after is 0; " + ranks});
  expect_refused(0, size() + 1, 1, {}, ErrorCode::invalid_argument,
                 {"active_before is " + std::to_string(size() + 1) + "; " + ranks});
  if (size() == 1) return;
  expect_refused(0, 1, is_odd() ? 1 : 2, {}, ErrorCode::invalid_argument,
                 {"active_after differs: 1 on rank " + std::to_string(odd_rank())});
  expect_refused(is_odd() ? 3 : 0, size() - 1, 1, {}, ErrorCode::invalid_argument,
                 {odd_name() + "it has 3 blocks, but only the first " + std::to_string(size() - 1) +
                  " ranks are active; give a larger active_before"});
}

TEST(ResizeErrors, NamesCountsThatDoNotFit) {
  expect_refused(is_odd() ? 11 : 10, size(), size(), {}, ErrorCode::invalid_argument,
                 {odd_name() + "count is 11, but the storage has 10 slots; give the number"});
}

TEST(ResizeErrors, NamesWeightsThatAreNone) {
  std::vector<double> weights(5, 1);
  ResizeOptions options{.weights = weights};
  if (is_odd()) weights[3] = -2;
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {odd_name() + "the weight of block 3 is -2.0", "finite weights that are not"});
  if (is_odd()) weights[3] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {odd_name() + "the weight of block 3 is "});
  std::ranges::fill(weights, std::numeric_limits<double>::max());
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {"the sum of all weights is infinite; give smaller ones"});
  std::ranges::fill(weights, 1.0);
  if (is_odd()) options.weights = options.weights.first(4);
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {odd_name() + "there are 4 weights for 5 blocks; give one for each"});
  if (size() == 1) return;
  options.weights = is_odd() ? std::span<const double>() : weights;
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {"whether there are weights differs: no on rank " + std::to_string(odd_rank()),
                  "give weights on all ranks that have blocks, or on none"});
}

TEST(ResizeErrors, NamesDifferentBalances) {
  if (size() == 1) return;
  const ResizeOptions options{.balance =
                                  is_odd() ? ResizeBalance::numbering : ResizeBalance::count};
  expect_refused(5, size(), size(), options, ErrorCode::invalid_argument,
                 {"balance differs: count on ", "numbering on rank "});
}

/// A function of the application that cannot be copied any more.
struct Uncopiable {
  Uncopiable() = default;
  Uncopiable(const Uncopiable& other) : copies(other.copies) {
    if (++*copies > 1) throw std::runtime_error("copied");
  }
  void operator()(std::uint64_t, std::uint64_t) const {}
  std::shared_ptr<int> copies = std::make_shared<int>(0);
};

TEST(Resize, CopiesNoFunctionOfOneRankAlone) {
  Blocks blocks(20, is_odd() ? 7 : 0);
  const Uncopiable function;
  ResizeOptions options;
  options.released = function;
  *function.copies = 1;
  const ResizeResult result =
      resize(MPI_COMM_WORLD, blocks.storage(), is_odd() ? 7 : 0, size(), 1, options);
  EXPECT_EQ(lost_or_doubled(blocks.ids(result.count), result.count, 7), 0);
}

TEST(Resize, MovesNothingWhereAllIsBalanced) {
  const std::uint64_t count = rank() == 0 && size() > 1 ? 9 : 10;
  for (const ResizeBalance balance : {ResizeBalance::count, ResizeBalance::numbering}) {
    Blocks blocks(10, count);
    const ResizeResult result =
        resize(MPI_COMM_WORLD, blocks.storage(), count, size(), size(), {.balance = balance});
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(result.report.blocks_sent)), 0);
  }
}

TEST(ResizeErrors, NamesStoragesOfNoMemory) {
  Blocks blocks(0, 0);
  const ResizeResult result = resize(MPI_COMM_WORLD, blocks.storage(), 0, size(), 1);
  EXPECT_EQ(result.count, 0U);
}

TEST(ResizeErrors, KeepsAllBlocksWhereTheCallbackThrows) {
  if (size() == 1) return;
  Blocks blocks(20, is_odd() ? 7 : 0);
  ResizeOptions options;
  options.released = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("no more"); };
  expect_error(outcome_of([&] {
                 static_cast<void>(resize(MPI_COMM_WORLD, blocks.storage(), is_odd() ? 7 : 0,
                                          size(), 1, options));
               }),
               ErrorCode::callback_failed,
               {"rank 1: callback released", "no more", "every block is where it"});
  const std::uint64_t count = rank() == 0 ? 7 : 0;
  EXPECT_EQ(lost_or_doubled(blocks.ids(count), count, 7), 0);
}

/// Blocks of different sizes: block k of a rank has its number and rank, k % 5 + 1 times.
TEST(RaggedResize, BringsBlocksOfDifferentSizes) {
  constexpr std::uint64_t each = 12;
  const auto all = each * static_cast<std::uint64_t>(size());
  std::vector<std::uint64_t> values(5 * all), lengths(all), ids(all);
  std::uint64_t end = 0;
  std::vector<double> weights(each);
  for (std::uint64_t k = 0; k < each; ++k) {
    ids[k] = each * static_cast<std::uint64_t>(rank()) + k;
    weights[k] = static_cast<double>(ids[k] % 5 + 1);
    lengths[k] = 8 * (ids[k] % 5 + 1);
    for (std::uint64_t n = 0; n <= ids[k] % 5; ++n) values[end++] = 100 * ids[k] + n;
  }
  const RaggedStorage storage({ragged_field(std::span(values), std::span(lengths))}, {field(ids)});
  std::uint64_t count = each;
  int active = size();
  for (const int next : {1, size(), (size() + 1) / 2}) {
    ResizeOptions options;
    if (next == 1) options.weights = weights;
    if (next > 1) options.balance = ResizeBalance::numbering;
    const ResizeResult result = resize(MPI_COMM_WORLD, storage, count, active, next, options);
    expect_within_bound(result.report);
    EXPECT_EQ(result.is_active, rank() < next);
    count = result.count;
    active = next;
    const auto ranks = static_cast<std::uint64_t>(next);
    EXPECT_LE(count - (rank() < next ? all / ranks : 0), rank() < next ? 1U : 0U);
    end = 0;
    for (std::uint64_t k = 0; k < count; ++k)
      for (std::uint64_t n = 0; n <= ids[k] % 5; ++n) EXPECT_EQ(values[end++], 100 * ids[k] + n);
    EXPECT_EQ(lost_or_doubled(ids, count, all), 0);
  }
}

TEST(RaggedResize, RefusesToTellOfSlots) {
  std::vector<std::uint64_t> values(6, 5), lengths(20, 0);
  const RaggedStorage storage({ragged_field(std::span(values), std::span(lengths))});
  ResizeOptions options;
  if (is_odd()) options.released = [](std::uint64_t, std::uint64_t) {};
  expect_error(outcome_of([&] {
                 static_cast<void>(resize(MPI_COMM_WORLD, storage, 0, size(), 1, options));
               }),
               ErrorCode::invalid_argument,
               {odd_name() + "callback released is not called for blocks of different sizes",
                "leave it out"});
}

TEST(RaggedResize, RefusesArenasThatAreTooSmall) {
  if (size() == 1) return;
  std::vector<std::uint64_t> values(rank() == 0 ? 4 : 6, 5), lengths(20, 0);
  const std::uint64_t count = rank() == 1 ? 3 : 0;
  std::fill_n(lengths.begin(), count, 16U);
  const RaggedStorage storage({ragged_field(std::span(values), std::span(lengths))});
  expect_error(outcome_of([&] { static_cast<void>(resize(MPI_COMM_WORLD, storage, count, 2, 1)); }),
               ErrorCode::infeasible, {"rank 0: it would hold 3 blocks, with 48 bytes"});
}

}  // namespace
}  // namespace valet::test
