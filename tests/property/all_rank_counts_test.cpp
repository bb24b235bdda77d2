// SPDX-License-Identifier: BSD-3-Clause

// PHASED in all its ways and CYCLIC, against STREAM and against the definition of the problem, on 2
// to 9 ranks: nine ranks are divided into a group of k and one of 9 - k, which work side by side.

#include "filled_map.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

/// Ranks 0 to `low` - 1 of MPI_COMM_WORLD, and the others.
class Groups {
 public:
  explicit Groups(int low) {
    MPI_Comm_split(MPI_COMM_WORLD, valet::test::rank() < low ? 0 : 1, 0, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() { MPI_Comm_free(&comm_); }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
};

struct Problem {
  GlobalMap map;
  Form form = Form::to_ranks;
  Shape shape = Shape::dense;
  Options options;
};

Problem random_problem(std::mt19937_64& random, int ranks) {
  Problem problem;
  problem.map =
      random_map(random, ranks, std::array<std::uint64_t, 3>{3, 20, 60}[pick(random, 0, 2)],
                 static_cast<Tightness>(pick(random, 0, 2)), false);
  problem.form = pick(random, 0, 2) == 0 ? Form::to_slots : Form::to_ranks;
  problem.shape = all_shapes[pick(random, 0, last_shape)];
  problem.options.order = all_orders[pick(random, 0, 2)];
  problem.options.verify = pick(random, 0, 3) == 0;
  problem.options.message_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 1, 2000);
  return problem;
}

/// Moves the blocks, and returns slots of this rank that are wrong. `memory` gets what is in the
/// slots that must be occupied.
long long carried_out(const Groups& group, const Problem& problem, const Options& options,
                      std::vector<std::byte>& memory) {
  FilledMap filled(problem.map, group.rank(), problem.shape);
  Options scaled = options;
  scaled.budget_bytes *= filled.storage().block_bytes();
  // The matrix of a centralized scheduler must fit the budget of rank 0.
  if (group.rank() == 0 && options.phased.scheduler == Scheduler::centralized)
    scaled.budget_bytes += 16384;
  Plan plan = filled.plan(group.comm(), problem.form, scaled);
  const Report report = execute(plan, filled.storage());
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << describe(scaled);
  const GlobalContent content = filled.content(problem.form, options.order);
  const auto& here = content[static_cast<std::size_t>(group.rank())];
  std::vector<SlotIndex> occupied;
  for (SlotIndex slot = 0; slot < here.size(); ++slot)
    if (here[slot]) occupied.push_back(slot);
  const BlockStorage storage = filled.storage();
  memory.resize(occupied.size() * storage.block_bytes());
  storage.backend().gather(occupied, memory.data());
  return filled.wrong(content);
}

TEST(AllRankCounts, EveryMethodEndsAsStreamAndAsTheMapSays) {
  if (size() != 9) GTEST_SKIP() << "made for nine ranks";
  const std::uint64_t maps = cases_wanted(130);
  if (valet::test::rank() == 0)
    std::cout << maps << " maps of each number of ranks from 2 to 9, seeds " << seed() << " to "
              << seed() + maps - 1 << "\n";
  for (const int low : {2, 3, 4, 8, 9}) {
    const Groups group(low);
    for (std::uint64_t k = 0; k < maps; ++k) {
      std::mt19937_64 random((seed() + k) * 16 + static_cast<std::uint64_t>(group.size()));
      Problem problem = random_problem(random, group.size());
      problem.options.budget_bytes = random_budget_blocks(random, group.rank());
      Options phased = problem.options;
      phased.method = Method::phased;
      choose_phases(random, phased);
      phased.budget_bytes = random_budget_blocks(random, group.rank());
      Options cyclic = problem.options;
      cyclic.method = Method::cyclic;
      cyclic.cyclic.edge_order =
          pick(random, 0, 1) == 0 ? EdgeOrder::ascending : EdgeOrder::rotated;
      cyclic.budget_bytes = random_budget_blocks(random, group.rank());
      std::vector<std::byte> expected, memory;
      long long wrong = carried_out(group, problem, problem.options, expected);
      for (const Options& options : {phased, cyclic}) {
        const long long slots = carried_out(group, problem, options, memory);
        const bool as_stream = memory == expected;
        EXPECT_TRUE(slots == 0 && as_stream)
            << seed_note(seed() + k) << ", " << group.size() << " ranks, " << describe(options)
            << ": " << slots << " wrong slots" << (as_stream ? "" : ", not as with stream");
        wrong += slots + (as_stream ? 0 : 1);
      }
      if (sum_over_ranks(wrong) > 0) return;
    }
  }
}

}  // namespace
}  // namespace valet::test
