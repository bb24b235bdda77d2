// SPDX-License-Identifier: BSD-3-Clause

// What sets the methods apart: the swaps they make, what they are chosen by, and the memory they
// get by with.

#include "test_comm.hpp"

namespace valet::test {
namespace {

/// Elements that name their source, destination and place; counts are a function of both ranks.
class Elements {
 public:
  template <class Count>
  explicit Elements(Count&& count, std::uint64_t room = 0) {
    for (int r = 0; r < size(); ++r) {
      send_.push_back(count(rank(), r));
      recv_.push_back(count(r, rank()));
    }
    for (int r = 0; r < size(); ++r)
      for (std::int64_t k = 0; k < send_[static_cast<std::size_t>(r)]; ++k)
        memory_.push_back(name(rank(), r, k));
    memory_.resize(std::max<std::uint64_t>({memory_.size(), after(), room}));
  }

  Report run(const AlltoallOptions& options) {
    return alltoallv_in_place(MPI_COMM_WORLD, {memory_.data(), memory_.size() * 8, 8}, send_, {},
                              options);
  }
  [[nodiscard]] bool right() const {
    std::size_t at = 0;
    bool good = true;
    for (int r = 0; r < size(); ++r)
      for (std::int64_t k = 0; k < recv_[static_cast<std::size_t>(r)]; ++k)
        good = memory_[at++] == name(r, rank(), k) && good;
    return all_ranks(good);
  }

 private:
  [[nodiscard]] std::uint64_t after() const {
    return static_cast<std::uint64_t>(std::accumulate(recv_.begin(), recv_.end(), std::int64_t{0}));
  }
  static std::uint64_t name(int source, int destination, std::int64_t k) {
    return (static_cast<std::uint64_t>(source) * 1000 + static_cast<std::uint64_t>(destination))
               << 32 |
           static_cast<std::uint64_t>(k);
  }

  std::vector<std::int64_t> send_, recv_;
  std::vector<std::uint64_t> memory_;
};

AlltoallOptions options_for(AlltoallMethod method, std::size_t budget = std::size_t{4} << 20) {
  return {.budget_bytes = budget, .method = method};
}

std::uint64_t phases() {
  std::uint64_t p = 0;
  while (std::uint64_t{1} << p < static_cast<std::uint64_t>(size())) ++p;
  return p;
}

TEST(AlltoallMethods, BitonicTakesHalfOfPhasesTimesPhasesPlusOneSwaps) {
  Elements elements([](int i, int j) { return 100 + i + j; }, 300 * static_cast<unsigned>(size()));
  const Report report = elements.run(options_for(AlltoallMethod::bitonic));
  EXPECT_TRUE(elements.right());
  const Report total = summed_over_ranks(report, MPI_COMM_WORLD);
  EXPECT_EQ(total.method, "bitonic");
  EXPECT_EQ(total.swaps, phases() * (phases() + 1) / 2);
  EXPECT_EQ(total.blocks_sent, total.blocks_received);
}

TEST(AlltoallMethods, PairwiseMeetsEveryRankOnce) {
  Elements elements([](int i, int j) { return 100 + i + j; });
  const Report report = elements.run(options_for(AlltoallMethod::pairwise));
  EXPECT_TRUE(elements.right());
  EXPECT_EQ(report.method, "pairwise");
  EXPECT_EQ(report.swaps, static_cast<std::uint64_t>(size() - 1));
}

TEST(AlltoallMethods, PairwiseSendsWhatIsEvenOnlyOnce) {
  Elements elements([](int, int) { return 200; });
  const Report report = elements.run(options_for(AlltoallMethod::pairwise));
  EXPECT_TRUE(elements.right());
  EXPECT_EQ(report.blocks_sent, 200U * static_cast<std::uint64_t>(size() - 1));
}

TEST(AlltoallMethods, AutomaticSendsAllAtOnceWhereEveryBudgetHoldsIt) {
  Elements small([](int, int) { return 1000; });
  const Report report = small.run(options_for(AlltoallMethod::automatic));
  EXPECT_TRUE(small.right());
  EXPECT_EQ(report.method, "direct");
  expect_words(std::string(report.reason), {"budgets hold all that leaves"});
  EXPECT_EQ(report.messages, static_cast<std::uint64_t>(size() - 1));
  if (size() == 1) return;
  Elements again([](int, int) { return 1000; });
  const std::size_t leaving = static_cast<std::size_t>(size() - 1) * 1000 * 8;
  const std::size_t budget = rank() == size() - 1 ? leaving - 1 : std::size_t{4} << 20;
  EXPECT_NE(again.run(options_for(AlltoallMethod::automatic, budget)).method, "direct");
  EXPECT_TRUE(again.right());
}

TEST(AlltoallMethods, AutomaticTakesPagesWhereTheyFit) {
  if (size() == 1) return;
  Elements elements([](int, int) { return 50'000; });
  const Report report =
      elements.run(options_for(AlltoallMethod::automatic, std::size_t{256} << 10));
  EXPECT_TRUE(elements.right());
  EXPECT_EQ(report.method, "stream");
  EXPECT_EQ(report.reason, "pages fit the budgets");
}

// With more ranks the fragments of pages take more memory, those of the other methods do not.
TEST(AlltoallMethods, AutomaticDoesWithoutPagesWhereTheyDoNotFit) {
  if (size() < 17) return;
  const auto count = [](int i, int j) { return 40'000 / size() + i + 3 * j; };
  constexpr std::size_t budget = 22 << 10;
  Elements elements(count, 60'000);
  const Report report = elements.run(options_for(AlltoallMethod::automatic, budget));
  EXPECT_TRUE(elements.right());
  expect_within_bound(report);
  EXPECT_NE(report.method, "stream");
  Elements again(count, 60'000);
  EXPECT_THROW(static_cast<void>(again.run(options_for(AlltoallMethod::stream, budget))), Error);
}

TEST(AlltoallMethods, AllToAllTakesWhatSwapsLess) {
  // Even: pairwise swaps each element once.
  Elements even([](int, int) { return 20'000; });
  EXPECT_EQ(even.run(options_for(AlltoallMethod::swaps)).method, "pairwise");
  EXPECT_TRUE(even.right());
  // The serial case of 3.3: rank 0 has everything of the last rank, the others everything of the
  // rank below. From eight ranks on a sort is shorter than a chain of swaps.
  if (size() < 8) return;
  Elements serial([](int i, int j) {
    return j == (i == 0 ? size() - 1 : i - 1) ? std::int64_t{20'000} : std::int64_t{0};
  });
  EXPECT_EQ(serial.run(options_for(AlltoallMethod::swaps)).method, "bitonic");
  EXPECT_TRUE(serial.right());
}

// The serial case with one element more for every pair: each rank passes on what it got from all
// ranks below, so that a rank in the middle holds about P*P/4 parts by source and destination.
// From 16 ranks on that is more than 4*P. BITONIC's tables stay short.
TEST(AlltoallMethods, PairwiseGivesWayWhereItsTableGetsLong) {
  Elements elements([](int i, int j) {
    return j == (i == 0 ? size() - 1 : i - 1) ? std::int64_t{2000} : std::int64_t{1};
  });
  const Report report = elements.run(options_for(AlltoallMethod::pairwise));
  EXPECT_TRUE(elements.right());
  EXPECT_EQ(report.method, size() >= 16 ? "bitonic" : "pairwise");
}

}  // namespace
}  // namespace valet::test
