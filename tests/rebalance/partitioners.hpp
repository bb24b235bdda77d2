// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitioners that are functions of a few lines, and no library.

#include "gathered.hpp"
#include "mpi/agreement.hpp"
#include "rebalance/partitioner.hpp"
#include "test_comm.hpp"

namespace valet::test {

/// Cuts the line of the first coordinate where the weight of the units below it is that of a number
/// of parts.
class LineCuts final : public rebalance::Partitioner {
 public:
  explicit LineCuts(rebalance::PartCounts parts = {}) {
    traits_.name = "LineCuts";
    traits_.basis = rebalance::Basis::coordinates;
    traits_.parts = parts;
    traits_.one_weight = "LineCuts balances one weight only";
  }

  [[nodiscard]] const rebalance::PartitionerTraits& traits() const override { return traits_; }

  bool partition(const mpi::Channel& communicator, Ledger& /*ledger*/,
                 const rebalance::PartRanks& part_ranks, const rebalance::Units& units,
                 std::span<int> ranks, std::span<int> parts) override {
    ++calls;
    units_seen = units.objects.count;
    part_ranks_ = &part_ranks;
    std::vector<Unit> mine(units.objects.count);
    units.objects.failure.attempt("reading", [&] {
      for (std::size_t u = 0; u < mine.size(); ++u)
        mine[u] = {units.objects.coordinates.number(0, u), units.objects.weight(u)};
    });
    mpi::agree(communicator, std::nullopt);
    find_cuts(mine, units.total_weight, part_ranks.count());
    for (std::size_t u = 0; u < mine.size(); ++u) {
      const int part = part_at(mine[u].place);
      ranks[u] = part_ranks.rank_of(part, u);
      if (!parts.empty()) parts[u] = part;
    }
    return knows_cuts;
  }

  [[nodiscard]] std::optional<rebalance::Target> target_at(
      const rebalance::Point& place) const override {
    ++questions;
    if (!knows_cuts) return std::nullopt;
    const int part = part_at(place[0]);
    return rebalance::Target{part_ranks_->rank_of(part, 0), part};
  }

  bool knows_cuts = true;
  int calls = 0;
  mutable long long questions = 0;  ///< calls of target_at()
  std::uint64_t units_seen = 0;

 private:
  struct Unit {
    double place;
    double weight;
  };

  void find_cuts(const std::vector<Unit>& mine, double total, int parts) {
    std::vector<Unit> all;
    for (const auto& theirs : gathered(mine)) all.insert(all.end(), theirs.begin(), theirs.end());
    std::ranges::sort(all, {}, &Unit::place);
    cuts_.clear();
    double below = 0;
    for (const Unit& unit : all) {
      while (static_cast<int>(cuts_.size()) + 1 < parts &&
             below + unit.weight / 2 > total * static_cast<double>(cuts_.size() + 1) / parts)
        cuts_.push_back(unit.place);
      below += unit.weight;
    }
  }
  [[nodiscard]] int part_at(double place) const {
    return static_cast<int>(std::ranges::upper_bound(cuts_, place) - cuts_.begin());
  }

  rebalance::PartitionerTraits traits_;
  const rebalance::PartRanks* part_ranks_ = nullptr;
  std::vector<double> cuts_;
};

/// Asks a function for the rank of each slot.
class ByFunction final : public rebalance::Partitioner {
 public:
  explicit ByFunction(std::function<int(std::uint64_t slot)> rank_of)
      : rank_of_(std::move(rank_of)) {
    traits_.name = "ByFunction";
  }

  [[nodiscard]] const rebalance::PartitionerTraits& traits() const override { return traits_; }
  [[nodiscard]] rebalance::PartitionerTraits& traits() { return traits_; }

  bool partition(const mpi::Channel& communicator, Ledger& /*ledger*/,
                 const rebalance::PartRanks& /*part_ranks*/, const rebalance::Units& units,
                 std::span<int> ranks, std::span<int> /*parts*/) override {
    ++calls;
    coordinates_seen = units.objects.coordinates.size;
    mpi::agree(communicator, finding);
    for (std::uint64_t k = 0; k < units.objects.count; ++k) ranks[k] = rank_of_(k);
    return false;
  }

  std::optional<Diagnostic> finding;  ///< what it finds wrong
  int calls = 0;
  std::size_t coordinates_seen = 0;

 private:
  rebalance::PartitionerTraits traits_;
  std::function<int(std::uint64_t slot)> rank_of_;
};

}  // namespace valet::test
