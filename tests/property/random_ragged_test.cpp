// SPDX-License-Identifier: BSD-3-Clause

// The promise for blocks of different sizes: every feasible map finishes in arenas without a free
// byte, with the least budget that is not refused, and every block, length and row is where it
// must be, bit for bit, whatever the method, the lengths and the alignments.
//
// VALET_TEST_CASES says how many maps, and with 1 the VALET_TEST_SEED that a failure names runs its
// map again.

#include "delayed_mpi.hpp"
#include "named_budget.hpp"
#include "pages/page_sizes.hpp"
#include "promise.hpp"
#include "ragged_case.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

enum class Lengths { none, tiny, pages, mixture, all_sizes, giants };
constexpr std::uint64_t lengths_known = 6;

std::uint64_t tight_length(std::mt19937_64& random, Lengths kind) {
  switch (kind) {
    case Lengths::none: return pick(random, 0, 5) == 0 ? pick(random, 0, 3) : 0;
    case Lengths::tiny: return pick(random, 0, 40);
    case Lengths::pages: return 512 * pick(random, 1, 4) + pick(random, 0, 2) - 1;
    case Lengths::mixture: return pick(random, 0, pick(random, 0, 9) == 0 ? 20'000 : 100);
    case Lengths::all_sizes: return pick(random, 0, most_bytes >> pick(random, 0, 19));
    case Lengths::giants: return pick(random, 0, 600);
  }
  return 0;
}

/// Where block k of rank r goes.
enum class Pattern { random, shifted, to_one, from_one, half, few_destinations };
constexpr std::uint64_t patterns_known = 6;

int destination(std::mt19937_64& random, Pattern pattern, int from) {
  const auto ranks = static_cast<std::uint64_t>(size());
  const auto any = static_cast<int>(pick(random, 0, ranks - 1));
  switch (pattern) {
    case Pattern::to_one: return size() - 1;
    case Pattern::from_one: return from == 0 ? any : from;
    case Pattern::half: return pick(random, 0, 1) == 0 ? from : any;
    case Pattern::few_destinations: return (from + any % 2) % size();
    default: return any;
  }
}

/// Who sends blocks to whom; lengths come later.
std::vector<RaggedBlocks> random_blocks(std::mt19937_64& random) {
  const auto pattern = static_cast<Pattern>(pick(random, 0, patterns_known - 1));
  const std::uint64_t most = std::array<std::uint64_t, 4>{3, 12, 60, 200}[pick(random, 0, 3)];
  std::vector<RaggedBlocks> all(static_cast<std::size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    const std::uint64_t count = pick(random, 0, 4) == 0 ? 0 : pick(random, 0, most);
    for (std::uint64_t k = 0; k < count; ++k)
      all[static_cast<std::size_t>(r)].push_back({0, r, k, destination(random, pattern, r)});
  }
  if (pattern != Pattern::shifted) return all;
  // All as the first rank's, and block k of each as far: with the same lengths arenas are full
  // afterwards, too.
  for (int r = 1; r < size(); ++r) {
    all[static_cast<std::size_t>(r)] = all[0];
    for (RaggedBlock& block : all[static_cast<std::size_t>(r)]) {
      block.from = r;
      block.to = (block.to + r) % size();
    }
  }
  return all;
}

/// The lengths of one field; of all ranks alike where they have as many blocks.
/// @param have_offsets  By rank.
RaggedCase random_field(std::mt19937_64& random, std::vector<RaggedBlocks> blocks,
                        std::uint64_t number, const std::vector<bool>& have_offsets) {
  RaggedCase result{std::move(blocks), std::uint64_t{1} << pick(random, 0, 6)};
  const auto kind = static_cast<Lengths>(pick(random, 0, lengths_known - 1));
  const std::uint64_t from = random();
  const bool alike = pick(random, 0, 1) == 0;
  for (std::size_t r = 0; r < result.before.size(); ++r) {
    RaggedBlocks& own = result.before[r];
    std::mt19937_64 same(from);
    std::mt19937_64& lengths = alike ? same : random;
    std::uint64_t bytes = 0;
    for (RaggedBlock& block : own) {
      block.length = tight_length(lengths, bytes < most_bytes ? kind : Lengths::tiny);
      bytes += block.length;
      block.number += number << 24;  // so that the bytes of two fields differ
    }
    if (kind == Lengths::giants && !own.empty())
      own[pick(lengths, 0, own.size() - 1)].length = pick(lengths, most_bytes / 8, most_bytes);
    if (have_offsets[r])
      for (RaggedBlock& block : own) block.length = padded(block.length, result.alignment);
  }
  return result;
}

/// A field on this rank: without a free byte or a free length, or with some of them.
class OwnField {
 public:
  OwnField(std::mt19937_64& random, const RaggedCase& all, bool has_offsets)
      : before_(all.before[static_cast<std::size_t>(rank())]),
        after_(all.after(rank())),
        alignment_(all.alignment),
        has_offsets_(has_offsets) {
    const std::uint64_t bytes = pick(random, 0, 2) == 0 ? pick(random, 1, 5000) : 0;
    const std::uint64_t blocks = pick(random, 0, 2) == 0 ? pick(random, 1, 50) : 0;
    arrays_ = std::make_unique<RaggedArrays>(
        before_, all.alignment,
        std::max(bytes_of(before_, all.alignment), bytes_of(after_, all.alignment)) + bytes,
        std::max(before_.size(), after_.size()) + blocks);
    if (!has_offsets) return;
    offsets_.resize(arrays_->lengths.size() + 1);
    for (std::size_t k = 0; k < before_.size(); ++k)
      offsets_[k + 1] = offsets_[k] + before_[k].length;
  }
  [[nodiscard]] RaggedField field() {
    RaggedField result = arrays_->field();
    if (has_offsets_) {
      result.lengths = offsets_.data();
      result.are_offsets = true;
    }
    return result;
  }
  [[nodiscard]] Field names() { return valet::field(arrays_->names); }
  [[nodiscard]] const std::vector<int>& ranks() const { return arrays_->ranks; }
  [[nodiscard]] const RaggedBlocks& after() const { return after_; }
  [[nodiscard]] long long wrong_before() { return wrong(before_); }
  [[nodiscard]] long long wrong_after() { return wrong(after_); }

 private:
  [[nodiscard]] long long wrong(const RaggedBlocks& blocks) {
    long long count = 0;
    if (has_offsets_) {
      count += offsets_[0] == 0 ? 0 : 1;
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        const std::uint64_t bytes = offsets_[k + 1] - offsets_[k];
        const bool is_padded = bytes == padded(blocks[k].length, alignment_);
        arrays_->lengths[k] = is_padded ? blocks[k].length : bytes;
      }
    }
    return count + arrays_->wrong(blocks);
  }

  RaggedBlocks before_, after_;
  std::uint64_t alignment_;
  bool has_offsets_;
  std::unique_ptr<RaggedArrays> arrays_;
  std::vector<std::uint64_t> offsets_;
};

/// A column whose rows have any number of bytes: those that a block of its name would have.
class OwnColumn {
 public:
  OwnColumn(std::uint64_t row_bytes, const RaggedBlocks& before, std::size_t rows)
      : row_bytes_(row_bytes), rows_(rows), bytes_(row_bytes * rows) {
    for (std::size_t k = 0; k < before.size(); ++k)
      row(before[k]).write(bytes_.bytes().data() + k * row_bytes);
  }
  [[nodiscard]] Field field() { return valet::field(bytes_.bytes().data(), rows_, row_bytes_); }
  [[nodiscard]] long long wrong(const RaggedBlocks& blocks) {
    long long count = bytes_.is_intact() ? 0 : 1;
    for (std::size_t k = 0; k < blocks.size(); ++k)
      count += row(blocks[k]).is_at(bytes_.bytes().data() + k * row_bytes_) ? 0 : 1;
    return count;
  }

 private:
  [[nodiscard]] RaggedBlock row(RaggedBlock block) const {
    block.length = row_bytes_;
    block.number += std::uint64_t{7} << 24;
    return block;
  }

  std::uint64_t row_bytes_;
  std::size_t rows_;
  GuardedBytes bytes_;
};

Options random_options(std::mt19937_64& random) {
  Options options;
  options.method = all_methods[pick(random, 0, all_methods.size() - 1)];
  options.order = pick(random, 0, 1) == 0 ? Order::stable : Order::any;
  options.verify = pick(random, 0, 1) == 0;
  options.share_memory = pick(random, 0, 1) == 0;
  options.keep_memory = pick(random, 0, 1) == 0;
  options.message_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 1, 4000);
  options.stream.window = static_cast<int>(pick(random, 1, 8));
  choose_phases(random, options);
  return options;
}

/// Everything of one map on this rank.
class Problem {
 public:
  explicit Problem(std::uint64_t case_seed);

  /// Blocks, lengths and rows that are wrong.
  [[nodiscard]] long long carry_out();
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] RaggedStorage storage();
  [[nodiscard]] long long wrong(bool has_moved);
  [[nodiscard]] std::uint64_t promised(const RaggedStorage& all, const Report& report) const;
  void raise_budget(const Outcome& refusal);

  std::vector<OwnField> fields_;
  std::vector<OwnColumn> columns_;
  RaggedBlocks before_, after_;
  bool anything_moves_ = false;  ///< on any rank
  Options options_;
  bool least_budget_ = false;  ///< else a random one
  bool from_below_ = false;    ///< whether the budget just below the least is tried
  bool was_enough_ = false;    ///< a refusal has said what suffices, and all ranks have it
};

Problem::Problem(std::uint64_t case_seed) {
  std::mt19937_64 random(case_seed);
  const std::vector<RaggedBlocks> blocks = random_blocks(random);
  // Now and then as many arrays as there may be.
  const bool has_many = pick(random, 0, 9) == 0;
  const std::uint64_t fields = has_many                  ? pick(random, 4, 10)
                               : pick(random, 0, 2) == 0 ? pick(random, 2, 3)
                                                         : 1;
  std::size_t room = 0;
  for (std::uint64_t f = 0; f < fields; ++f) {
    // On all ranks, on none, or on some.
    const std::uint64_t share = std::array<std::uint64_t, 4>{0, 0, 1, 2}[pick(random, 0, 3)];
    std::vector<bool> have_offsets;
    for (std::size_t r = 0; r < blocks.size(); ++r)
      have_offsets.push_back(pick(random, 0, 1) < share);
    const bool has_offsets = have_offsets[static_cast<std::size_t>(rank())];
    const RaggedCase all = random_field(random, blocks, f, have_offsets);
    // What only this rank has is drawn from a generator of its own.
    std::mt19937_64 own(random() + static_cast<std::uint64_t>(rank()));
    fields_.emplace_back(own, all, has_offsets);
    before_ = all.before[static_cast<std::size_t>(rank())];
    after_ = fields_.back().after();
    room = std::max(before_.size(), after_.size());
  }
  for (std::uint64_t c = pick(random, 0, has_many ? 2 : 1); c > 0; --c)
    columns_.emplace_back(std::array<std::uint64_t, 5>{1, 3, 8, 24, 1000}[pick(random, 0, 4)],
                          before_, room);
  for (std::size_t r = 0; r < blocks.size(); ++r)
    for (const RaggedBlock& block : blocks[r])
      anything_moves_ = anything_moves_ || block.to != static_cast<int>(r);
  options_ = random_options(random);
  least_budget_ = pick(random, 0, 2) > 0;
  from_below_ = pick(random, 0, 1) == 0;
  std::mt19937_64 own(random() + static_cast<std::uint64_t>(rank()));
  options_.budget_bytes = least_budget_ ? 1 : pick(own, 1, std::uint64_t{1} << pick(own, 10, 22));
}

RaggedStorage Problem::storage() {
  std::vector<RaggedField> fields;
  std::vector<Field> columns{fields_.front().names()};
  for (OwnField& field : fields_) fields.push_back(field.field());
  for (std::size_t f = 1; f < fields_.size(); ++f) columns.push_back(fields_[f].names());
  for (OwnColumn& column : columns_) columns.push_back(column.field());
  return RaggedStorage(fields, columns);
}

long long Problem::wrong(bool has_moved) {
  long long count = 0;
  for (OwnField& field : fields_) count += has_moved ? field.wrong_after() : field.wrong_before();
  for (OwnColumn& column : columns_) count += column.wrong(has_moved ? after_ : before_);
  return count;
}

/// The promise of ragged.md and memory.md for this rank, from the map, the capacities and the
/// budgets alone.
std::uint64_t Problem::promised(const RaggedStorage& all, const Report& report) const {
  std::vector<int> destinations, sources;
  for (const RaggedBlock& block : before_) destinations.push_back(block.to);
  for (const RaggedBlock& block : after_) sources.push_back(block.from);
  const auto distinct = [](std::vector<int> ranks) {
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  };
  const std::uint64_t to = distinct(destinations).size(), from = distinct(sources).size();
  const std::uint64_t arenas = 2 * all.fields().size() + all.columns().size();
  const std::uint64_t lists = pages::ragged_list_bytes(to + from, arenas);
  const std::uint64_t budget = options_.budget_bytes;
  const auto page = static_cast<std::uint64_t>(-max_over_ranks(
      -static_cast<long long>(pages::ragged_page_bytes(budget - std::min(budget, lists), to))));
  std::uint64_t pages = arenas;
  for (const RaggedField& field : all.fields())
    pages += field.capacity_bytes / page + field.block_capacity * 8 / page;
  for (const Field& column : all.columns()) pages += column.slots * column.element_bytes / page;
  std::vector<int> neighbours = std::move(destinations);
  neighbours.insert(neighbours.end(), sources.begin(), sources.end());
  neighbours = distinct(std::move(neighbours));
  std::erase(neighbours, rank());
  const bool asks_root =
      report.method == "cyclic" ||
      (report.method == "phased" &&
       (options_.phased.parking > 0 || options_.phased.heuristic == Heuristic::continuous ||
        options_.phased.scheduler == Scheduler::centralized));
  const bool is_root = rank() == 0 && anything_moves_ && asks_root;
  return promised_bytes(
             budget, neighbours.size(),
             is_root || report.plan_from_layout ? static_cast<std::uint64_t>(size()) : 0) +
         (options_.method == Method::phased ? 32 : 20) * pages;
}

/// To what a refusal names: enough for all ranks, whatever they have.
void Problem::raise_budget(const Outcome& refusal) {
  const bool is_same = same_on_all_ranks(refusal);
  ASSERT_TRUE(is_same && refusal.code == ErrorCode::budget_too_small) << refusal.text;
  const std::size_t named = named_budget(refusal.text);
  ASSERT_GT(named, 0U) << refusal.text;
  // One byte less on the rank that needs most may be refused, or else is as good.
  ASSERT_FALSE(was_enough_) << refusal.text;
  was_enough_ = !from_below_;
  options_.budget_bytes =
      std::max<std::size_t>(options_.budget_bytes, named - (from_below_ ? 1 : 0));
  from_below_ = false;
}

long long Problem::carry_out() {
  const RaggedStorage all = storage();
  Report report;
  for (int refusals = 0;; ++refusals) {
    const Outcome outcome = outcome_of([&] {
      report = migrate(MPI_COMM_WORLD, all, before_.size(), fields_.front().ranks(), options_);
    });
    if (all_ranks(outcome.code == ErrorCode::success)) break;
    raise_budget(outcome);
    const bool is_untouched = wrong(false) == 0;
    EXPECT_TRUE(is_untouched) << "after a refusal: " << outcome.text;
    const bool goes_on = refusals < 200 && is_untouched && !::testing::Test::HasFailure();
    if (!all_ranks(goes_on)) return 1;
  }
  EXPECT_EQ(report.blocks_before, before_.size());
  EXPECT_EQ(report.blocks_after, after_.size());
  EXPECT_EQ(report.verified, options_.verify);
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
  EXPECT_EQ(report.extra_bytes_bound, promised(all, report));
  return wrong(true);
}

std::string Problem::describe() const {
  return test::describe(options_) + ", " + std::to_string(fields_.size()) + " fields, " +
         std::to_string(columns_.size()) + " more columns";
}

TEST(RandomRagged, EveryBlockArrivesWithoutAFreeByte) {
  const std::uint64_t maps = cases_wanted(63);
  for (std::uint64_t k = 0; k < maps; ++k) {
    SCOPED_TRACE(seed_note(seed() + k) + ", map " + std::to_string(k));
    working_on(seed() + k);
    Problem problem(seed() + k);
    SCOPED_TRACE(problem.describe());
    const long long wrong = sum_over_ranks(problem.carry_out());
    EXPECT_EQ(wrong, 0);
    if (!all_ranks(!::testing::Test::HasFailure())) return;
  }
}

}  // namespace
}  // namespace valet::test
