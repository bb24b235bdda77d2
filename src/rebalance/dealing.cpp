// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/dealing.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace valet::rebalance {
namespace {

constexpr int most_rounds = 16;
/// Another round must be worth it: it halves what is above the mean where it can do anything.
constexpr double least_gain = 1e-3;

Diagnostic no_memory_for_parts(std::size_t parts) {
  return {ErrorCode::out_of_memory,
          "no memory to add up the weights of " + std::to_string(parts) + " parts"};
}

}  // namespace

/// There are two kinds of what may move: first what is not at one place, then what is.
struct Dealing::Tables {
  Tables(Ledger& ledger, std::size_t parts)
      : count(parts),
        below(ledger, 2 * parts),
        all(ledger, 2 * parts),
        surplus_until(ledger, parts),
        room_until(ledger, parts),
        kept(ledger, parts) {}

  std::size_t count;
  Array<double> below;          ///< weight of each kind and part on lower ranks, and here so far
  Array<double> all;            ///< on all ranks
  Array<double> surplus_until;  ///< of parts up to this one
  Array<double> room_until;
  Array<double> kept;  ///< of the weight that may move, what stays
};

Dealing::Dealing(const mpi::Channel& communicator, Ledger& ledger, int parts, double total)
    : communicator_(communicator), ledger_(ledger), mean_(total / parts) {
  const auto count = static_cast<std::size_t>(parts);
  mpi::agree(communicator,
             detail::unless_out_of_memory([&] { loads_ = Array<double>(ledger, count); },
                                          [&] { return no_memory_for_parts(count); }));
}

double Dealing::imbalance(const Objects& units, std::span<const int> part_of) {
  std::fill(loads_.begin(), loads_.end(), 0);
  units.failure.attempt(Objects::activity, [&] {
    units.for_each_weight([&](std::uint64_t unit, double weight) {
      loads_[static_cast<std::size_t>(part_of[unit])] += weight;
    });
  });
  mpi::sum(communicator_, std::span(loads_.data(), loads_.size()));
  return *std::max_element(loads_.begin(), loads_.end()) / mean_;
}

void Dealing::fill(Tables& tables, const PartsOfUnits& parts, double tolerance) const {
  std::fill(tables.all.begin(), tables.all.end(), 0);
  parts.units.failure.attempt(Objects::activity, [&] {
    parts.units.for_each_weight([&](std::uint64_t unit, double weight) {
      const auto part = static_cast<std::size_t>(parts.part_of[unit]);
      if (may_move(part, weight))
        tables.all[part + (parts.is_at_one_point(unit) ? tables.count : 0)] += weight;
    });
  });
  const std::span<double> all(tables.all.data(), tables.all.size());
  mpi::sum_of_lower(communicator_, all, {tables.below.data(), tables.below.size()});
  mpi::sum(communicator_, all);
  double surplus = 0;
  double room = 0;
  for (std::size_t part = 0; part < tables.count; ++part) {
    const double movable = tables.all[part] + tables.all[part + tables.count];
    const double too_much = std::clamp(loads_[part] - tolerance * mean_, 0.0, movable);
    tables.kept[part] = movable - too_much;
    tables.surplus_until[part] = surplus += too_much;
    tables.room_until[part] = room += std::max(0.0, mean_ - loads_[part]);
  }
}

void Dealing::move(Tables& tables, const PartsOfUnits& parts) const {
  parts.units.failure.attempt(Objects::activity, [&] {
    parts.units.for_each_weight([&](std::uint64_t unit, double weight) {
      const auto part = static_cast<std::size_t>(parts.part_of[unit]);
      if (!may_move(part, weight)) return;
      const bool at_one_point = parts.is_at_one_point(unit);
      double& below = tables.below[part + (at_one_point ? tables.count : 0)];
      const double middle = (at_one_point ? tables.all[part] : 0) + below + weight / 2;
      below += weight;
      if (middle <= tables.kept[part]) return;
      const double position =
          (part == 0 ? 0 : tables.surplus_until[part - 1]) + middle - tables.kept[part];
      const auto* const to =
          std::upper_bound(tables.room_until.begin(), tables.room_until.end(), position);
      if (to != tables.room_until.end())
        parts.move(unit, static_cast<int>(to - tables.room_until.begin()));
    });
  });
}

double Dealing::deal(const PartsOfUnits& parts, double tolerance) {
  double reached = imbalance(parts.units, parts.part_of);
  std::optional<Tables> tables;
  mpi::agree(communicator_,
             detail::unless_out_of_memory([&] { tables.emplace(ledger_, loads_.size()); },
                                          [&] { return no_memory_for_parts(loads_.size()); }));
  for (const double movable : {0.5, 1.0}) {
    movable_ = movable;
    double before = 2 * reached;
    for (int round = 0; round < most_rounds && reached > tolerance && reached < before - least_gain;
         ++round) {
      fill(*tables, parts, tolerance);
      move(*tables, parts);
      before = reached;
      reached = imbalance(parts.units, parts.part_of);
    }
  }
  return reached;
}

}  // namespace valet::rebalance
