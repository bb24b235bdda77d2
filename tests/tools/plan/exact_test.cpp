// SPDX-License-Identifier: BSD-3-Clause

// The paper's own examples, solved. Without CBC these tests are skipped.

#include "exact.hpp"

#include "problem.hpp"
#include "solver.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

#include <chrono>

namespace valet::plan {
namespace {

constexpr double seconds = 60;

class Exact : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_solver()) GTEST_SKIP() << "built without CBC";
  }
};

std::uint64_t all_free(const Problem& problem) {
  return std::accumulate(problem.free.begin(), problem.free.end(), std::uint64_t{0});
}

/// The least number of phases, looked for between the bounds.
ExactMinimum minimum(const Problem& problem) {
  const schedule::PhaseBounds bounds =
      schedule::phase_bounds(problem.matrix.volume(), all_free(problem));
  return find_minimum(problem, bounds.lower, bounds.upper, seconds);
}

/// By trying all schedules, phase by phase, on problems of a few blocks: states are the blocks on
/// every rank by destination.
class BruteForce {
 public:
  explicit BruteForce(const Problem& problem)
      : ranks_(problem.matrix.ranks()), start_(ranks_ * ranks_, 0), free_(problem.free) {
    for (const schedule::TransferEntry& t : problem.matrix.transfers())
      start_[t.source * ranks_ + t.destination] = static_cast<int>(t.blocks);
  }

  /// Breadth first over phases.
  std::uint64_t phases() {
    std::vector<State> frontier{start_};
    std::vector<State> seen{start_};
    for (std::uint64_t phase = 0;; ++phase) {
      for (const State& state : frontier)
        if (is_done(state)) return phase;
      std::vector<State> next;
      for (const State& state : frontier) expand(state, state, room_of(state), 0, next);
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      frontier.clear();
      std::set_difference(next.begin(), next.end(), seen.begin(), seen.end(),
                          std::back_inserter(frontier));
      std::vector<State> merged;
      std::set_union(seen.begin(), seen.end(), next.begin(), next.end(),
                     std::back_inserter(merged));
      seen = std::move(merged);
    }
  }

 private:
  using State = std::vector<int>;

  [[nodiscard]] bool is_done(const State& state) const {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t target = 0; target < ranks_; ++target)
        if (rank != target && state[rank * ranks_ + target] > 0) return false;
    return true;
  }

  [[nodiscard]] std::vector<int> room_of(const State& state) const {
    std::vector<int> room(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const auto count = [&](const State& s) {
        return std::accumulate(s.begin() + static_cast<std::ptrdiff_t>(rank * ranks_),
                               s.begin() + static_cast<std::ptrdiff_t>((rank + 1) * ranks_), 0);
      };
      room[rank] = static_cast<int>(free_[rank]) + count(start_) - count(state);
    }
    return room;
  }

  /// Decides for the blocks of `from`, kind by kind from `kind` on, where they go; `to` collects.
  void expand(const State& from, const State& to, const std::vector<int>& room, std::size_t kind,
              std::vector<State>& next) const {
    if (kind == ranks_ * ranks_) {
      next.push_back(to);
      return;
    }
    send(from, to, room, kind, from[kind], 0, next);
  }

  void send(const State& from, const State& to, const std::vector<int>& room, std::size_t kind,
            int left, std::size_t place, std::vector<State>& next) const {
    if (place == ranks_ || left == 0 || kind / ranks_ == kind % ranks_) {
      expand(from, to, room, kind + 1, next);
      return;
    }
    for (int blocks = 0; blocks <= std::min(left, room[place]); ++blocks) {
      if (blocks > 0 && place == kind / ranks_) break;
      State state = to;
      std::vector<int> rest = room;
      state[kind] -= blocks;
      state[place * ranks_ + kind % ranks_] += blocks;
      rest[place] -= blocks;
      send(from, state, rest, kind, left - blocks, place + 1, next);
    }
  }

  std::size_t ranks_;
  State start_;
  std::vector<std::uint64_t> free_;
};

TEST_F(Exact, AgreesWithTryingAllSchedules) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::uint32_t>(2 + random() % 2);
    std::vector<schedule::TransferEntry> transfers;
    for (int block = 0; block < 5; ++block)
      transfers.push_back({static_cast<std::uint32_t>(random() % ranks),
                           static_cast<std::uint32_t>(random() % ranks), 1});
    Problem problem{"random", schedule::TransferMatrix(ranks, transfers), {}};
    problem.free = schedule::least_free(problem.matrix, 0);
    ++problem.free[random() % ranks];
    const ExactMinimum found = minimum(problem);
    ASSERT_TRUE(found.proved) << found.why << ", seed " << seed;
    ASSERT_EQ(found.upper, BruteForce(problem).phases()) << "seed " << seed;
  }
}

TEST_F(Exact, Figure5TakesThreePhases) {
  const ExactMinimum found = minimum(make_pattern({.name = "figure5"}));
  EXPECT_TRUE(found.proved) << found.why;
  EXPECT_EQ(found.upper, 3U);
}

TEST_F(Exact, Figure6TakesOneAndAHalfTimesTheLowerBound) {
  for (const std::uint32_t ranks : {3U, 5U, 7U}) {
    const Problem problem = make_pattern({.name = "figure6", .ranks = ranks});
    const ExactMinimum found = minimum(problem);
    EXPECT_TRUE(found.proved) << found.why;
    EXPECT_EQ(found.upper, 3 * (ranks - 1) / 2);
    EXPECT_EQ(schedule::phase_bounds(problem.matrix.volume(), 1).lower, ranks - 1);
  }
}

TEST_F(Exact, CounterexampleToTheBoundIsNoCounterexampleForTheMinimum) {
  // Eight phases of first fit with parking are more than the seven of Theorem 4; six would do.
  const Problem problem = make_pattern({.name = "counterexample", .ranks = 9});
  const ExactMinimum found = minimum(problem);
  EXPECT_TRUE(found.proved) << found.why;
  EXPECT_EQ(found.upper, 6U);
  const PhasedOptions first_fit{.heuristic = Heuristic::first_fit, .parking = 1};
  EXPECT_EQ(schedule::count_phases(problem.matrix, problem.free, first_fit).phases, 8U);
}

bool has_circuit(const schedule::TransferMatrix& graph) {
  const auto has_edge = [&](std::uint32_t from, std::uint32_t to) {
    return std::ranges::count(graph.transfers(), schedule::TransferEntry{from, to, 1}) > 0;
  };
  std::vector<std::uint32_t> order(graph.ranks());
  std::iota(order.begin(), order.end(), 0U);
  do {
    bool all = has_edge(order.back(), order.front());
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      all = all && has_edge(order[i], order[i + 1]);
    if (all) return true;
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return false;
}

TEST_F(Exact, GadgetTakesOnePhaseMoreThanVerticesExactlyIfThereIsACircuit) {
  int with = 0;
  int without = 0;
  for (std::uint64_t seed = 0; with + without < 16; ++seed) {
    std::mt19937_64 random(seed);
    const auto vertices = static_cast<std::uint32_t>(3 + random() % 3);
    std::vector<schedule::TransferEntry> edges;
    for (std::uint32_t from = 0; from < vertices; ++from)
      for (std::uint32_t to = 0; to < vertices; ++to)
        if (from != to && random() % 5 < 2) edges.push_back({from, to, 1});
    const schedule::TransferMatrix graph(vertices, edges);
    std::vector<int> into(vertices, 0);
    for (const schedule::TransferEntry& edge : edges) ++into[edge.destination];
    if (std::count(into.begin(), into.end(), 0) > 0 || std::count(into.begin(), into.end(), 1) == 0)
      continue;
    const bool circuit = has_circuit(graph);
    if (circuit ? with >= 8 : without >= 8) continue;
    const ExactMinimum found = minimum(hamiltonian_gadget(graph, default_start(graph)));
    ASSERT_TRUE(found.proved) << found.why << ", seed " << seed;
    ASSERT_GE(found.upper, vertices + 1) << "seed " << seed;
    ASSERT_EQ(found.upper == vertices + 1, circuit) << "seed " << seed;
    ++(circuit ? with : without);
  }
  std::printf("%d graphs with and %d without a Hamiltonian circuit\n", with, without);
}

TEST_F(Exact, SaysWhenTimeIsUp) {
  const Problem problem = make_pattern({.name = "transpose", .ranks = 12, .blocks = 40});
  const schedule::PhaseBounds bounds =
      schedule::phase_bounds(problem.matrix.volume(), all_free(problem));
  const auto start = std::chrono::steady_clock::now();
  const ExactMinimum found = find_minimum(problem, bounds.lower, bounds.upper, 0.5);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(found.proved);
  EXPECT_EQ(found.why, "time limit");
  EXPECT_EQ(found.lower, bounds.lower);
  EXPECT_LT(spent.count(), 10) << "the solver is ended in the middle of a step";
}

TEST(ExactMinimum, NeedsNoSolverWhereBoundsMeet) {
  const ExactMinimum found = find_minimum(make_pattern({.name = "ring"}), 10, 10, 0);
  EXPECT_TRUE(found.proved);
  EXPECT_EQ(found.upper, 10U);
}

TEST(ExactMinimum, SaysWhatKeptItFromBeingProved) {
  const ExactMinimum found = find_minimum(make_pattern({.name = "figure5"}), 2, 4, 0);
  EXPECT_FALSE(found.proved);
  EXPECT_EQ(found.why, has_solver() ? "not asked for" : "built without CBC");
  if (!has_solver()) return;
  const Problem large = make_pattern({.name = "transpose", .ranks = 300});
  EXPECT_EQ(find_minimum(large, 2, 4, 1).why, "too large: more than 500000 unknowns");
}

}  // namespace
}  // namespace valet::plan
