// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank in the middle of a rebalance: its n-th allocation, or that
// and all that follow, n = 1 until a call makes fewer. All ranks throw out_of_memory and nothing
// has moved, or all have balanced objects. Nobody is left waiting.

#include "gathered.hpp"
#include "refused_call.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// Objects on a line, all of them on the first half of it at first, which say where they began.
class Line {
 public:
  explicit Line(std::uint64_t count)
      : count_(count), place_(2 * count), weight_(2 * count), number_(2 * count) {}

  void fill() {
    here_ = count_;
    for (std::uint64_t k = 0; k < count_; ++k) {
      place_[k] = static_cast<double>(k * k % 1009) + (rank() == 0 ? 0.25 : 0.75);
      weight_[k] = place_[k] < 500 ? 2 : 1;
      number_[k] = number(k);
    }
  }
  [[nodiscard]] Rebalancer rebalancer(const RebalancerOptions& options) const {
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    rebalancer.coordinates(array_columns(place_.data(), place_.size(), 1));
    rebalancer.weights(array_columns(weight_.data(), weight_.size(), 1));
    return rebalancer;
  }
  [[nodiscard]] std::uint64_t count() const { return here_; }
  void has_moved(std::uint64_t count) { here_ = count; }
  [[nodiscard]] const BlockStorage& storage() const { return storage_; }

  [[nodiscard]] bool is_unchanged() const {
    for (std::uint64_t k = 0; k < count_; ++k)
      if (number_[k] != number(k)) return false;
    return here_ == count_;
  }
  /// Every object is somewhere, once.
  [[nodiscard]] bool is_whole() const {
    return lost_or_doubled(number_, here_, count_ * static_cast<std::uint64_t>(size())) == 0;
  }

 private:
  [[nodiscard]] std::uint64_t number(std::uint64_t k) const {
    return count_ * static_cast<std::uint64_t>(rank()) + k;
  }

  std::uint64_t count_;
  std::uint64_t here_ = 0;
  std::vector<double> place_, weight_;
  std::vector<std::uint64_t> number_;
  const BlockStorage storage_{field(place_), field(weight_), field(number_)};
};

/// Every object is somewhere, once, whatever becomes of a call.
RefusedCall refused(Line& line, const std::function<void()>& call) {
  return {[call](MPI_Comm) { call(); }, [&line] { line.fill(); },
          [&line] { return line.is_whole() && line.is_unchanged(); },
          [&line] { return line.is_whole(); }};
}

/// Few objects, and more than what is held back for hard times has room for.
constexpr std::uint64_t few = 60, many = 9000;
class RefusedAllocationInARebalancer : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RefusedAllocationInARebalancer, EndsARebalanceOnAllRanks) {
  for (const char* const method : {"RCB", "BLOCK", "CYCLIC"}) {
    if (std::string(method) != "RCB" && GetParam() > few) continue;
    SCOPED_TRACE(method);
    Line line(GetParam());
    const RebalancerOptions options{.method = method};
    Rebalancer rebalancer = line.rebalancer(options);
    survives_all(refused(
        line, [&] { line.has_moved(rebalancer.rebalance(line.count(), line.storage()).count); }));
  }
}

TEST_P(RefusedAllocationInARebalancer, EndsARepairedPartitionOnAllRanks) {
  Line line(GetParam());
  const RebalancerOptions options{.when_infeasible = WhenInfeasible::repair};
  Rebalancer rebalancer = line.rebalancer(options);
  survives_all(refused(line, [&] {
    Partition partition = rebalancer.partition(line.count());
    for (std::uint64_t k = 0; k < partition.count(); ++k) partition.ranks()[k] = 0;
    rebalancer.evaluate(partition);
    static_cast<void>(rebalancer.required_slots(partition));
    repair(MPI_COMM_WORLD, partition.count(), partition.ranks(), line.storage().slots());
    line.has_moved(rebalancer.migrate(std::move(partition), line.storage()).count);
  }));
}

TEST_P(RefusedAllocationInARebalancer, EndsTheStartOfARebalancerOnAllRanks) {
  Line line(GetParam());
  survives_all(refused(line, [] { const Rebalancer rebalancer(MPI_COMM_WORLD); }));
}

INSTANTIATE_TEST_SUITE_P(Objects, RefusedAllocationInARebalancer, testing::Values(few, many),
                         ParameterName());

}  // namespace
}  // namespace valet::test
