// SPDX-License-Identifier: BSD-3-Clause

// Attached objects that random parameters partition and move, again and again: methods of Zoltan
// and layouts in turn, whatever the lists, the memory and the room. They end in the slots in which
// the oracle has them, or the call is refused on all ranks and nothing has moved.

#include "attached_cloud.hpp"
#include "cyclic_layouts.hpp"

namespace valet::test {
namespace {

using namespace zoltan;

/// What one step does; the same on all ranks.
struct RandomStep {
  ZoltanParameters parameters;
  std::optional<ObjectLayout> layout;  ///< that the method makes
  Order order = Order::any;
  std::string method, lists, when_infeasible;
  int door = 0;  ///< partition(), Zoltan_LB_Partition, Zoltan_LB_Balance, lists and Zoltan_Migrate
  bool may_lack_memory = false;

  RandomStep(std::mt19937_64& random, std::uint64_t objects, bool weighted) {
    const auto one_of = [&random](const std::vector<const char*>& all) {
      return std::string(all[pick(random, 0, all.size() - 1)]);
    };
    choose_method(random, objects, weighted);
    const std::size_t by_order = pick(random, 0, 2);
    order = all_orders[by_order];
    door = static_cast<int>(pick(random, 0, 3));
    lists = door == 3 ? one_of({"ALL", "IMPORT", "EXPORT", "PARTS"})
                      : one_of({"NONE", "NONE", "ALL", "IMPORT", "EXPORT", "PARTS"});
    const bool in_cells = door == 0 || (lists == "NONE" && door != 3);
    when_infeasible = in_cells ? one_of({"REFUSE", "REPAIR", "GROW"}) : one_of({"REFUSE", "GROW"});
    const std::string transport = one_of({"AUTO", "STREAM", "DIRECT", "PHASED", "CYCLIC"});
    const std::string memory = one_of({"64", "300", "4K", "4M"});
    may_lack_memory = memory != "4M" && (transport == "DIRECT" || transport == "PHASED");
    const ZoltanParameters migration{
        {"AUTO_MIGRATE", door == 3 ? "0" : "1"},
        {"RETURN_LISTS", lists},
        {"MIGRATE_ORDER", to_string(order)},
        {"MIGRATE_METHOD", transport},
        {"MIGRATE_MEMORY", memory},
        {"MIGRATE_HEURISTIC",
         one_of({"FIRST_FIT", "MAX_FIRST", "RANDOM", "FORTUNE_WHEEL", "MIN_MAX", "CONTINUOUS"})},
        {"MIGRATE_SCHEDULER", one_of({"DISTRIBUTED", "CENTRALIZED"})},
        {"MIGRATE_PARKING", std::to_string(pick(random, 0, 3))},
        {"MIGRATE_EDGE_ORDER", one_of({"ASCENDING", "ROTATED"})},
        {"MIGRATE_SEED", std::to_string(pick(random, 1, 99))},
        {"MIGRATE_SHARE_MEMORY", one_of({"0", "1"})},
        {"MIGRATE_KEEP_MEMORY", one_of({"0", "1"})},
        {"MIGRATE_VERIFY", one_of({"0", "1"})},
        {"MIGRATE_GRANULARITY", in_cells ? one_of({"DEFAULT", "1", "5"}) : "DEFAULT"},
        {"MIGRATE_WHEN_INFEASIBLE", when_infeasible}};
    parameters = parameters + migration;
  }

 private:
  void choose_method(std::mt19937_64& random, std::uint64_t objects, bool weighted) {
    const std::array methods{"RCB",   "RIB",    "HSFC",         "RANDOM",
                             "BLOCK", "CYCLIC", "BLOCK_CYCLIC", "BLOCK_CYCLIC"};
    method = methods[pick(random, 0, methods.size() - 1)];
    parameters = {{"LB_METHOD", method}, {"LB_GRID", "DEFAULT"}, {"LB_EXTENTS", "DEFAULT"}};
    if (method == "BLOCK" && !weighted) layout = ObjectLayout::balanced();
    if (method == "CYCLIC") layout = ObjectLayout::cyclic(1);
    if (method != "BLOCK_CYCLIC") return;
    // A plane as near to a square as the number of objects allows.
    const auto all = static_cast<std::int64_t>(objects);
    std::int64_t rows = 1;
    for (std::int64_t r = 1; r * r <= all; ++r) rows = all % r == 0 ? r : rows;
    const auto number = [&random](int most) {
      return static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(most)));
    };
    const int across = number(size()), down = number(size() / across);
    const int high = number(9), wide = number(9);
    const auto in_plane = [](auto a, auto b) {
      return std::to_string(a) + "x" + std::to_string(b);
    };
    if (pick(random, 0, 1) == 0) {
      layout = ObjectLayout::cyclic(static_cast<std::uint64_t>(high), across);
      parameters = parameters + ZoltanParameters{{"LB_BLOCK_SIZE", std::to_string(high)},
                                                 {"LB_GRID", std::to_string(across)}};
    } else {
      layout = ObjectLayout::tiles(BlockCyclic{{rows, all / rows}, {high, wide}, {down, across}});
      parameters = parameters + ZoltanParameters{{"LB_BLOCK_SIZE", in_plane(high, wide)},
                                                 {"LB_GRID", in_plane(down, across)},
                                                 {"LB_EXTENTS", in_plane(rows, all / rows)}};
    }
  }
};

/// The objects of all ranks in the order in which a layout numbers them: that of the last one, or
/// by rank and slot.
std::vector<std::uint64_t> in_order(const Numbers& now, const std::optional<ObjectLayout>& known,
                                    std::uint64_t objects) {
  std::vector<std::uint64_t> all(objects);
  if (known) {
    const Numbers places = numbers_of(*known, objects, size());
    for (int r = 0; r < size(); ++r)
      for (std::size_t slot = 0; slot < row_of(places, r).size(); ++slot)
        all[row_of(places, r)[slot]] = row_of(now, r).at(slot);
  } else {
    auto next = all.begin();
    for (const auto& row : now) next = std::ranges::copy(row, next).out;
  }
  return all;
}

class RandomCloud {
 public:
  explicit RandomCloud(std::mt19937_64& random)
      : random_(random),
        weighted_(pick(random, 0, 1) == 0),
        mine_(cloud_ids()),
        objects_(static_cast<std::uint64_t>(sum_over_ranks(static_cast<long long>(mine_.size())))),
        cloud_(mine_, slots()) {
    AttachedOptions options;
    options.grow = [this](std::uint64_t slots) { cloud_.resize(slots); };
    cells_.emplace(cloud_.attach(zoltan_, mine_.size(), options));
    if (!weighted_) zoltan_.set("OBJ_WEIGHT_DIM", "0");
  }

  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  void step() {
    const RandomStep next(random_, objects_, weighted_);
    std::string text = "door " + std::to_string(next.door);
    for (const auto& [name, value] : next.parameters) {
      text.append(", ").append(name).append(" ").append(value);
      zoltan_.set(name, value);
    }
    SCOPED_TRACE(text);
    ASSERT_EQ(zoltan_.code(), ZOLTAN_OK);
    const Numbers before = here();
    const auto known = cells_->layout();
    const std::uint64_t slots_before = cloud_.id.size();
    const bool is_refused = !pass(next);
    ASSERT_TRUE(all_ranks(is_refused) || all_ranks(!is_refused)) << printed_;
    const Numbers now = here();
    ASSERT_TRUE(all_ranks(is_whole(row_of(now, rank()))));
    if (is_refused) return expect_refusal(next, before, now);
    const RebalanceResult& result = cells_->result();
    EXPECT_TRUE(all_ranks(result.report.peak_extra_bytes <= result.report.extra_bytes_bound));
    const bool may_be_repaired = next.layout && next.when_infeasible == "REPAIR" &&
                                 !all_ranks(count_in(*next.layout) <= slots_before);
    if (next.layout && !may_be_repaired)
      expect_layout(next, before, known, now);
    else
      expect_slots(next, before, now);
  }

 private:
  [[nodiscard]] std::size_t slots() {
    const std::array<std::size_t, 3> spare{0, 10, 200};
    const auto even = static_cast<std::size_t>(objects_) / static_cast<std::size_t>(size());
    return std::max(mine_.size(), even + spare[pick(random_, 0, 2)]);
  }
  [[nodiscard]] std::uint64_t count_in(const ObjectLayout& layout) const {
    const Numbers all = numbers_of(layout, objects_, size());
    return row_of(all, rank()).size();
  }
  [[nodiscard]] Numbers here() const {
    return gathered(std::vector<std::uint64_t>(
        cloud_.id.begin(), cloud_.id.begin() + static_cast<std::ptrdiff_t>(cells_->count())));
  }
  [[nodiscard]] bool is_whole(const std::vector<std::uint64_t>& ids) const {
    bool whole = lost_or_doubled(ids, ids.size(), objects_) == 0;
    for (std::size_t k = 0; k < ids.size(); ++k)
      whole = whole && cloud_.has(k, static_cast<std::uint32_t>(ids[k]), 0);
    return whole;
  }
  /// @return Whether it succeeded.
  bool pass(const RandomStep& step) {
    testing::internal::CaptureStderr();
    bool good = true;
    if (step.door == 0) {
      const Outcome outcome = outcome_of([this] { cells_->partition(); });
      good = outcome.code == ErrorCode::success;
      std::fputs(outcome.text.c_str(), stderr);
    } else {
      const ZoltanLists lists(zoltan_.get(), step.door == 2);
      good = lists.code() == ZOLTAN_OK;
      if (good && step.door == 3) good = lists.migrate(zoltan_.get()) == ZOLTAN_OK;
    }
    printed_ = testing::internal::GetCapturedStderr();
    return good;
  }
  void expect_refusal(const RandomStep& step, const Numbers& before, const Numbers& now) {
    ++refused_;
    EXPECT_EQ(before, now) << printed_;
    const bool lacks_slots = printed_.find("[infeasible]") != std::string::npos;
    const bool may_be = lacks_slots ? step.when_infeasible != "GROW" : step.may_lack_memory;
    EXPECT_TRUE(all_ranks(may_be || rank() > 0)) << printed_;
  }
  /// Where the ranks are known only from what came out.
  void expect_slots(const RandomStep& step, const Numbers& before, const Numbers& now) {
    EXPECT_EQ(sum_over_ranks(wrong_slots_of(row_of(before, rank()), row_of(now, rank()), step.order,
                                            VectorCloud::block_bytes)),
              0);
  }
  void expect_layout(const RandomStep& step, const Numbers& before,
                     const std::optional<ObjectLayout>& known, const Numbers& now) {
    const std::vector<std::uint64_t> order = in_order(before, known, objects_);
    Numbers expected = numbers_of(*step.layout, objects_, size());
    for (auto& row : expected)
      for (std::uint64_t& number : row) number = order[number];
    // Lists that the user brings say nothing of slots.
    if (step.order == Order::any && step.door != 3) {
      EXPECT_EQ(now, expected);
      return;
    }
    expect_slots(step, before, now);
    for (int r = 0; r < size(); ++r)
      EXPECT_TRUE(std::ranges::is_permutation(row_of(now, r), row_of(expected, r)));
  }

  std::mt19937_64& random_;
  bool weighted_;
  std::vector<std::uint32_t> mine_;
  std::uint64_t objects_;
  VectorCloud cloud_;
  ZoltanHandle zoltan_;
  std::optional<Attached> cells_;
  std::string printed_;
  std::uint64_t refused_ = 0;
};

TEST(RandomAttached, EndWhereTheOracleHasThemOrStay) {
  const std::uint64_t cases = cases_wanted(40), steps = 6;
  std::uint64_t refused = 0;
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k) + ", case " + std::to_string(k));
    std::mt19937_64 random(seed() + k);
    RandomCloud cloud(random);
    for (std::uint64_t step = 0; step < steps && !HasFailure(); ++step) cloud.step();
    if (HasFailure()) return;
    refused += cloud.refused();
  }
  EXPECT_LT(refused, cases * steps / 2);
}

}  // namespace
}  // namespace valet::test
