// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which of N numbered objects one rank before and one rank after have in common, where each side
/// is block-cyclic or gives every rank an interval. Local, no MPI.

#include "geometry/cyclic_distribution.hpp"
#include "geometry/intersection.hpp"
#include <valet/dimension.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::layout {

/// Consecutive numbers.
struct Interval {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Where rank r of a balanced layout begins: N r / P, rounded to the nearest integer, halves
/// upwards.
[[nodiscard]] constexpr std::int64_t balanced_bound(std::int64_t objects, std::int64_t rank,
                                                    std::int64_t ranks) {
  return objects / ranks * rank + (2 * (objects % ranks) * rank + ranks) / (2 * ranks);
}

/// How numbered objects lie on ranks, before or after.
class ObjectSide {
 public:
  /// Block-cyclic, rank 0 first.
  explicit ObjectSide(const Dimension& cyclic) : cyclic_(cyclic) {}
  /// Rank r has bounds[r] to bounds[r + 1] - 1. The bounds, one more than ranks, must live on.
  explicit ObjectSide(std::span<const std::int64_t> bounds) : bounds_(bounds) {}

  [[nodiscard]] bool is_cyclic() const { return bounds_.empty(); }
  [[nodiscard]] const Dimension& cyclic() const { return cyclic_; }
  [[nodiscard]] std::int64_t objects() const {
    return is_cyclic() ? cyclic_.extent() : bounds_.back();
  }
  /// Ranks behind these have no objects.
  [[nodiscard]] int ranks() const {
    return is_cyclic() ? cyclic_.ranks() : static_cast<int>(bounds_.size()) - 1;
  }
  /// What a rank has, one of ranks(), where ranks have intervals.
  [[nodiscard]] Interval interval(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {bounds_[r], bounds_[r + 1] - bounds_[r]};
  }
  [[nodiscard]] std::int64_t count(int rank) const {
    if (rank >= ranks()) return 0;
    return is_cyclic() ? cyclic_.local_extent(rank) : interval(rank).count;
  }
  /// Where the rank that has an object has it.
  [[nodiscard]] std::int64_t slot(int rank, std::int64_t number) const {
    return is_cyclic() ? cyclic_.local_index(number) : number - interval(rank).first;
  }

 private:
  Dimension cyclic_;
  std::span<const std::int64_t> bounds_;
};

/// Objects in consecutive slots on both sides.
struct SharedRun {
  std::int64_t number;  ///< of the first one
  std::int64_t slot;    ///< of the first one, on my side
  std::int64_t length;
};

/// What one rank of my side shares with every rank of theirs. The peer, who has the arguments
/// swapped, sees the same objects in the same order: ascending by number, hence also by slot on
/// both sides.
///
/// An interval is cut by a cyclic side as ASPEN cuts a block: its position inside their block says
/// which rank has it, and adjacent pieces belong to adjacent ranks (paper, section 4.4), so that
/// what a rank gets is one number and its runs are a progression. Two cyclic sides are a
/// DimensionIntersection: 40 bytes a family of a period. The others take no memory.
class SharedObjects {
 public:
  /// @param mine, theirs  Have as many objects; must live on. @throws std::bad_alloc.
  SharedObjects(Ledger& ledger, const ObjectSide& mine, int rank, const ObjectSide& theirs)
      : mine_(mine), theirs_(theirs), rank_(rank) {
    if (mine.is_cyclic() && theirs.is_cyclic() && rank < mine.ranks())
      both_ = DimensionIntersection(ledger, DimensionPair(mine.cyclic(), theirs.cyclic()), rank);
  }

  /// Objects shared with a rank. O(log families).
  [[nodiscard]] std::int64_t count(int peer) const {
    if (rank_ >= mine_.ranks() || peer >= theirs_.ranks()) return 0;
    if (mine_.is_cyclic() && theirs_.is_cyclic()) return both_.size(peer);
    if (theirs_.is_cyclic())
      return dealt(mine_.interval(rank_), theirs_).count_of(peer, ranks_of(theirs_));
    if (mine_.is_cyclic())
      return dealt(theirs_.interval(peer), mine_).count_of(rank_, ranks_of(mine_));
    return overlap(peer).count;
  }

  /// Families (FALLS) that describe them.
  [[nodiscard]] std::uint64_t families(int peer) const {
    if (count(peer) == 0) return 0;
    return mine_.is_cyclic() && theirs_.is_cyclic() ? both_.families(peer).size() : 1;
  }

  /// Calls action(SharedRun) for the objects shared with a rank, ascending.
  template <class Action>
  void for_each_run(int peer, Action&& action) const {
    if (count(peer) == 0) return;
    if (mine_.is_cyclic() && theirs_.is_cyclic()) return for_each_of_both(peer, action);
    if (theirs_.is_cyclic()) {
      const Interval own = mine_.interval(rank_);
      dealt(own, theirs_)
          .for_each_run(peer, ranks_of(theirs_), [&](std::int64_t k, std::int64_t length) {
            action(SharedRun{own.first + k, k, length});
          });
    } else if (mine_.is_cyclic()) {
      // The objects of an interval that are mine are in consecutive slots of mine.
      const Interval other = theirs_.interval(peer);
      std::int64_t slot = -1;
      dealt(other, mine_)
          .for_each_run(rank_, ranks_of(mine_), [&](std::int64_t k, std::int64_t length) {
            if (slot < 0) slot = mine_.cyclic().local_index(other.first + k);
            action(SharedRun{other.first + k, slot, length});
            slot += length;
          });
    } else {
      const Interval both = overlap(peer);
      action(SharedRun{both.first, mine_.slot(rank_, both.first), both.count});
    }
  }

 private:
  [[nodiscard]] static int ranks_of(const ObjectSide& side) { return side.cyclic().ranks(); }

  /// How an interval is dealt to the ranks of a cyclic side.
  [[nodiscard]] static CyclicDistribution dealt(const Interval& interval, const ObjectSide& side) {
    const std::int64_t block = side.cyclic().block_size();
    const std::int64_t number = quotient(interval.first, block);
    return {interval.count, block, interval.first - number * block, number % side.cyclic().ranks()};
  }

  [[nodiscard]] Interval overlap(int peer) const {
    const Interval a = mine_.interval(rank_), b = theirs_.interval(peer);
    const std::int64_t first = std::max(a.first, b.first);
    return {first,
            std::max<std::int64_t>(0, std::min(a.first + a.count, b.first + b.count) - first)};
  }

  template <class Action>
  void for_each_of_both(int peer, Action&& action) const {
    both_.for_each_run(peer, [&](std::int64_t number, std::int64_t slot, std::int64_t length) {
      action(SharedRun{number, slot, length});
    });
  }

  const ObjectSide& mine_;
  const ObjectSide& theirs_;
  int rank_;
  DimensionIntersection both_;
};

/// After so many objects everything repeats; all of them, where nothing does.
[[nodiscard]] inline std::int64_t shared_period(const ObjectSide& a, const ObjectSide& b) {
  const std::int64_t all = a.objects();
  if (a.is_cyclic() && b.is_cyclic()) return DimensionPair(a.cyclic(), b.cyclic()).period;
  if (!a.is_cyclic() && !b.is_cyclic()) return all;
  const Dimension& cyclic = a.is_cyclic() ? a.cyclic() : b.cyclic();
  return std::min(all, std::min(cyclic.block_size(), all) * cyclic.ranks());
}

}  // namespace valet::layout
