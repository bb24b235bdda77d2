// SPDX-License-Identifier: BSD-3-Clause

#include "cyclic_run.hpp"
#include "instances.hpp"
#include "testing.hpp"

namespace valet::schedule {
namespace {

using test::Instance;
using valet::test::CyclicRun;
using valet::test::run_cyclic;

constexpr std::array both_orders{EdgeOrder::ascending, EdgeOrder::rotated};

CyclicSchedule record(const Instance& instance, EdgeOrder order) {
  return record_cyclic(instance.matrix, instance.free, order);
}

TEST(Cyclic, EveryBlockArrivesInOneStep) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    Instance instance = test::random_instance(random, 9, 30);
    if (seed % 3 == 0) instance.free = test::least_free(instance.matrix);  // even without memory
    const std::uint32_t most_message_blocks = seed % 4 == 0 ? 3 : 1000;
    for (const EdgeOrder order : both_orders) {
      const CyclicSchedule schedule =
          record_cyclic(instance.matrix, instance.free, order, most_message_blocks);
      const CyclicRun run = run_cyclic(instance.matrix, instance.free, schedule);
      ASSERT_EQ(run.violation, "")
          << to_string(order) << ", seed " << seed << ": " << text(instance);
      ASSERT_EQ(run.volume, instance.matrix.volume()) << "seed " << seed;
      for (const auto& actions : schedule)
        for (const Action& action : actions) ASSERT_LE(action.message_blocks, most_message_blocks);
      const CyclicCounts counts = count_actions(schedule);
      ASSERT_EQ(counts.actions, run.actions) << "seed " << seed;
      ASSERT_EQ(counts.messages, run.messages) << "seed " << seed;
      ASSERT_EQ(counts.volume, run.volume) << "seed " << seed;
      ASSERT_EQ(counts.critical_path, run.critical_path) << "seed " << seed;
    }
  }
}

TEST(Cyclic, CriticalPathOfTheEvenTransposeIsLongAscendingAndShortRotated) {
  for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
    const Instance instance = test::even_transpose(ranks, 5, 2);
    const auto path = [&](EdgeOrder order) {
      return run_cyclic(instance.matrix, instance.free, record(instance, order)).critical_path;
    };
    EXPECT_EQ(path(EdgeOrder::ascending), 2 * ranks - 3) << ranks << " ranks";
    EXPECT_EQ(path(EdgeOrder::rotated), ranks - 1) << ranks << " ranks";
  }
}

TEST(Cyclic, RingIsOneCycleInIncrementsOfTheLeastFreeMemory) {
  const TransferMatrix ring(4, {{0, 1, 20}, {1, 2, 20}, {2, 3, 20}, {3, 0, 20}});
  const std::vector<std::uint64_t> free{9, 5, 7, 8};
  const CyclicSchedule schedule = record_cyclic(ring, free, EdgeOrder::ascending);
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(schedule[rank], (std::vector<Action>{{(rank + 3) % 4, (rank + 1) % 4, 20, 5}}));
  EXPECT_EQ(run_cyclic(ring, free, schedule).messages, 16U);
}

TEST(Cyclic, WithoutFreeMemoryTheIncrementIsOneBlock) {
  const TransferMatrix swap(2, {{0, 1, 20}, {1, 0, 20}});
  const std::vector<std::uint64_t> free{0, 0};
  const CyclicSchedule schedule = record_cyclic(swap, free, EdgeOrder::ascending);
  EXPECT_EQ(schedule[0], (std::vector<Action>{{1, 1, 20, 1}}));
}

TEST(Cyclic, ShiftBeginsWithASendAndEndsWithAReceive) {
  const TransferMatrix path(3, {{0, 1, 4}, {1, 2, 6}});
  const std::vector<std::uint64_t> free{0, 2, 6};
  const CyclicSchedule schedule = record_cyclic(path, free, EdgeOrder::ascending);
  EXPECT_EQ(schedule[0], (std::vector<Action>{{no_rank, 1, 4, 2}}));
  EXPECT_EQ(schedule[1], (std::vector<Action>{{0, 2, 4, 2}, {no_rank, 2, 2, 2, 1}}));
  EXPECT_EQ(schedule[2], (std::vector<Action>{{1, no_rank, 4, 2}, {1, no_rank, 2, 2, 1}}));
}

TEST(Cyclic, ShiftFreesSlotsForTheCyclesBehindIt) {
  const TransferMatrix matrix(3, {{0, 1, 4}, {0, 2, 8}, {2, 0, 8}});
  const std::vector<std::uint64_t> free{0, 4, 9};
  const CyclicSchedule schedule = record_cyclic(matrix, free, EdgeOrder::ascending);
  EXPECT_EQ(schedule[0], (std::vector<Action>{{no_rank, 1, 4, 4}, {2, 2, 8, 4, 1}}));
}

/// A root that answers from the matrix, row by row, and watches what it is asked.
class RecordingLink final : public CyclicLink {
 public:
  explicit RecordingLink(const TransferMatrix& matrix)
      : rows_(matrix.ranks()),
        asked_(matrix.ranks(), 0),
        left_(matrix.ranks(), 0),
        schedule_(matrix.ranks()) {
    for (const TransferEntry& transfer : matrix.transfers())
      rows_[transfer.source].push_back({transfer.destination, transfer.blocks});
  }
  Edge next_edge(std::uint32_t rank) override {
    EXPECT_EQ(left_[rank], 0U) << "asked for an edge before the last one was used up";
    const Edge edge = rows_[rank].at(asked_[rank]++);
    left_[rank] = edge.blocks;
    return edge;
  }
  void schedule(std::uint32_t rank, const Action& action) override {
    if (action.destination != no_rank) left_[rank] -= action.blocks;
    schedule_[rank].push_back(action);
  }
  [[nodiscard]] const std::vector<Action>& schedule_of(std::size_t rank) const {
    return schedule_[rank];
  }

  std::vector<std::vector<Edge>> rows_;
  std::vector<std::size_t> asked_;
  std::vector<std::uint64_t> left_;

 private:
  CyclicSchedule schedule_;
};

TEST(Cyclic, IncrementIsTheLeastThatARankOfTheCycleCanTake) {
  const TransferMatrix matrix(3, {{0, 1, 20}, {1, 0, 20}, {2, 1, 20}});
  Ledger ledger;
  CyclicScheduler scheduler(ledger, 3);
  RecordingLink link(matrix);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    scheduler.set(rank, {.edges = 1, .most_message_blocks = 9 - 3 * rank, .free = 50});
  scheduler.run(link);
  EXPECT_EQ(link.schedule_of(0), (std::vector<Action>{{1, 1, 20, 6}}));
  EXPECT_EQ(link.schedule_of(2), (std::vector<Action>{{no_rank, 1, 20, 3, 1}}));
}

TEST(Cyclic, RootHoldsOneEdgePerRankInAFewWords) {
  const Instance instance = test::even_transpose(100, 3, 1);
  RecordingLink link(instance.matrix);
  Ledger ledger;
  CyclicScheduler scheduler(ledger, 100);
  for (std::uint32_t rank = 0; rank < 100; ++rank)
    scheduler.set(rank, {.edges = static_cast<std::uint32_t>(link.rows_[rank].size()), .free = 1});
  scheduler.run(link);
  EXPECT_LE(ledger.peak_bytes(), 48 * 100U) << "9900 edges went through it";
  for (std::size_t rank = 0; rank < 100; ++rank) {
    EXPECT_EQ(link.asked_[rank], link.rows_[rank].size());
    EXPECT_EQ(link.left_[rank], 0U) << "an edge was not scheduled to its end";
  }
}

TEST(CyclicRun, FindsWhatIsWrong) {
  const TransferMatrix swap(2, {{0, 1, 4}, {1, 0, 4}});
  const std::vector<std::uint64_t> free{2, 2};
  const auto violation = [&](const CyclicSchedule& schedule) {
    return run_cyclic(swap, free, schedule).violation;
  };
  EXPECT_EQ(violation({{{1, 1, 4, 2}}, {{0, 0, 4, 2}}}), "");
  EXPECT_EQ(violation({{{1, 1, 4, 3}}, {{0, 0, 4, 3}}}), "rank 1 has 2 free slots for 3 blocks");
  EXPECT_EQ(violation({{{1, 1, 3, 1}}, {{0, 0, 3, 1}}}), "rank 0 keeps 1 blocks for rank 1");
  EXPECT_EQ(violation({{{1, 1, 4, 2}}, {}}), "rank 0 waits for ever");
  EXPECT_EQ(violation({{{no_rank, 1, 4, 2}}, {{no_rank, 0, 4, 2}}}), "rank 0 waits for ever");
  EXPECT_EQ(violation({{{1, 1, 5, 1}}, {{0, 0, 5, 1}}}), "rank 1 has only 4 blocks for rank 0");
}

TEST(EdgeOrder, NamesAreReadBackAndUnknownOnesRefused) {
  for (const EdgeOrder order : both_orders) EXPECT_EQ(parse_edge_order(to_string(order)), order);
  valet::test::expect_thrown(ErrorCode::invalid_argument,
                             {"unknown edge order 'shuffled'; known: ascending, rotated"},
                             [] { (void)parse_edge_order("shuffled"); });
}

}  // namespace
}  // namespace valet::schedule
