// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which of N numbered objects one rank before and one rank after have in common, where each side
/// is block-cyclic, has tiles, or gives every rank an interval. Local, no MPI.

#include "geometry/cyclic_distribution.hpp"
#include "geometry/intersection.hpp"
#include "geometry/numbered_array.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/dimension.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  /// The elements of an array, numbered row by row.
  explicit ObjectSide(const BlockCyclic& array)
      : array_(array), objects_(array.elements()), ranks_(array.ranks()) {}
  /// Block-cyclic, rank 0 first.
  explicit ObjectSide(const Dimension& cyclic)
      : ObjectSide(BlockCyclic({cyclic.extent()}, {cyclic.block_size()}, {cyclic.ranks()})) {}
  /// Rank r has bounds[r] to bounds[r + 1] - 1. The bounds, one more than ranks, must live on.
  explicit ObjectSide(std::span<const std::int64_t> bounds)
      : bounds_(bounds), objects_(bounds.back()), ranks_(static_cast<int>(bounds.size()) - 1) {}
  /// The same with balanced bounds.
  ObjectSide(std::int64_t objects, int ranks) : objects_(objects), ranks_(ranks) {}

  [[nodiscard]] bool is_cyclic() const { return array_.has_value(); }
  [[nodiscard]] bool has_tiles() const { return array_ && array_->dimensions() > 1; }
  [[nodiscard]] const BlockCyclic& array() const { return *array_; }
  /// Where it has no tiles.
  [[nodiscard]] const Dimension& cyclic() const { return array_->dimension(0); }
  [[nodiscard]] std::int64_t objects() const { return objects_; }
  /// Ranks behind these have no objects.
  [[nodiscard]] int ranks() const { return ranks_; }
  /// What a rank has, one of ranks(), where ranks have intervals.
  [[nodiscard]] Interval interval(int rank) const {
    return {bound(rank), bound(rank + 1) - bound(rank)};
  }
  [[nodiscard]] std::int64_t count(int rank) const {
    if (rank >= ranks_) return 0;
    return is_cyclic() ? array_->local_elements(rank) : interval(rank).count;
  }
  /// Where a rank has one of its objects.
  [[nodiscard]] std::int64_t slot(int rank, std::int64_t number) const {
    if (!is_cyclic()) return number - interval(rank).first;
    const BlockCyclic::Extents extents = array_->local_extents(rank);
    const BlockCyclic::Extents indices = array_->local_indices(indices_of(*array_, number));
    std::int64_t slot = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) slot = slot * extents[d] + indices[d];
    return slot;
  }
  /// Calls action(ObjectRun) for all that a rank has, one of ranks(), ascending.
  template <class Action>
  void for_each_run(int rank, Action&& action) const {
    if (is_cyclic()) return layout::for_each_run(*array_, rank, action);
    const Interval own = interval(rank);
    if (own.count > 0) action(ObjectRun{own.first, 0, own.count});
  }
  /// Calls action(rank, ObjectRun) for the parts of a run that are with one rank, ascending.
  /// @param row  As layout::cut() has it.
  template <class Action>
  void cut(ArrayRow& row, ObjectRun run, Action&& action) const {
    if (is_cyclic()) return layout::cut(*array_, row, run, action);
    int rank = 0;  // the first one that ends behind the first number
    for (int ranks = ranks_; ranks > 0;) {
      const int half = ranks / 2;
      const bool ends = bound(rank + half + 1) <= run.number;
      rank += ends ? half + 1 : 0;
      ranks = ends ? ranks - half - 1 : half;
    }
    for (; run.length > 0; ++rank) {
      const std::int64_t length = std::min(bound(rank + 1) - run.number, run.length);
      if (length > 0) action(rank, ObjectRun{run.number, run.slot, length});
      run = run.behind(length);
    }
  }

 private:
  [[nodiscard]] std::int64_t bound(int rank) const {
    return bounds_.empty() ? balanced_bound(objects_, rank, ranks_)
                           : bounds_[static_cast<std::size_t>(rank)];
  }

  std::optional<BlockCyclic> array_;
  std::span<const std::int64_t> bounds_;
  std::int64_t objects_;
  int ranks_;
};

/// How the objects of two sides are matched.
enum class Matching {
  product,  ///< two arrays of the same extents: dimension by dimension
  dealing,  ///< an interval, and one dimension in blocks
  walk,     ///< what else there is: run by run
};

[[nodiscard]] inline Matching matching_of(const ObjectSide& a, const ObjectSide& b) {
  if (a.is_cyclic() && b.is_cyclic() && a.array().extents() == b.array().extents())
    return Matching::product;
  const bool one_is_cyclic = a.is_cyclic() != b.is_cyclic();
  return one_is_cyclic && !a.has_tiles() && !b.has_tiles() ? Matching::dealing : Matching::walk;
}

/// What one rank of my side shares with every rank of theirs. The peer, who has the arguments
/// swapped, sees the same objects in the same order: ascending by number, hence also by slot on
/// both sides.
///
/// Two arrays of the same extents are an Intersection, found by ASPEN in each dimension: 40 bytes a
/// family of a period. An interval is cut by a cyclic side as ASPEN cuts a block: its position
/// inside their block says which rank has it, and adjacent pieces belong to adjacent ranks (paper,
/// section 4.4), so that what a rank gets is one number and its runs are a progression; that takes
/// no memory. All others are cut run by run whenever they are asked for, with the counts in 16
/// bytes a rank.
class SharedObjects {
 public:
  /// @param mine, theirs  Have as many objects; must live on. @throws std::bad_alloc.
  SharedObjects(Ledger& ledger, const ObjectSide& mine, int rank, const ObjectSide& theirs)
      : mine_(mine), theirs_(theirs), rank_(rank), matching_(matching_of(mine, theirs)) {
    if (rank >= mine.ranks()) return;
    if (matching_ == Matching::walk) count_walk(ledger);
    if (matching_ != Matching::product) return;
    extents_ = mine.array().local_extents(rank);
    both_.emplace(ledger, mine.array(), rank, theirs.array());
  }

  /// Objects shared with a rank. O(dimensions * log families).
  [[nodiscard]] std::int64_t count(int peer) const {
    if (rank_ >= mine_.ranks() || peer >= theirs_.ranks()) return 0;
    if (matching_ == Matching::product) return both_->elements(peer);
    if (matching_ == Matching::walk) return walked_[static_cast<std::size_t>(peer)].objects;
    if (theirs_.is_cyclic())
      return dealt(mine_.interval(rank_), theirs_).count_of(peer, ranks_of(theirs_));
    return dealt(theirs_.interval(peer), mine_).count_of(rank_, ranks_of(mine_));
  }

  /// Families (FALLS) that describe them, or runs where they are walked.
  [[nodiscard]] std::uint64_t families(int peer) const {
    if (count(peer) == 0) return 0;
    if (matching_ == Matching::walk) return walked_[static_cast<std::size_t>(peer)].runs;
    std::uint64_t families = 1;
    if (matching_ != Matching::product) return families;
    const BlockCyclic::Coordinates place = theirs_.array().coordinates(peer);
    for (std::size_t d = 0; d < place.size(); ++d)
      families *= both_->dimension(d).families(place[d]).size();
    return families;
  }

  /// Whether what is shared with one rank is found among that with all.
  [[nodiscard]] bool is_walked() const { return matching_ == Matching::walk; }
  /// Calls action(ObjectRun) for the objects shared with a rank, ascending.
  template <class Action>
  void for_each_run(int peer, Action&& action) const {
    if (count(peer) == 0) return;
    if (matching_ == Matching::product)
      return for_each_of_both(0, theirs_.array().coordinates(peer), {0, 0, 1}, action);
    if (matching_ == Matching::dealing) return for_each_dealt(peer, action);
    walk([&](int walked, const ObjectRun& run) {
      if (walked == peer) action(run);
    });
  }

  /// Writes the slots of what is shared with a rank, ascending. @return Behind the last one.
  template <class Index>
  Index* list_slots(int peer, Index* next) const {
    if (count(peer) == 0) return next;
    if (matching_ == Matching::product && mine_.array().dimensions() == 1)
      return list_periods(both_->dimension(0), peer, next);
    for_each_run(peer, [&next](const ObjectRun& run) {
      for (std::int64_t k = 0; k < run.length; ++k) *next++ = static_cast<Index>(run.slot + k);
    });
    return next;
  }

  /// Calls action(peer, ObjectRun) for all that this rank has, for each peer ascending.
  template <class Action>
  void for_each_run(Action&& action) const {
    if (rank_ >= mine_.ranks()) return;
    if (matching_ == Matching::walk) return walk(action);
    for (int peer = 0; peer < theirs_.ranks(); ++peer)
      for_each_run(peer, [&](const ObjectRun& run) { action(peer, run); });
  }

 private:
  struct Walked {
    std::int64_t objects = 0;
    std::uint64_t runs = 0;
  };

  [[nodiscard]] static int ranks_of(const ObjectSide& side) { return side.cyclic().ranks(); }

  /// The families of one period. In all others each slot is as far behind that of the period
  /// before.
  template <class Index>
  static Index* list_periods(const DimensionIntersection& shared, int peer, Index* next) {
    const std::int64_t all = shared.size(peer);
    const std::int64_t once = std::min(all, shared.size_of_period(peer));
    const std::int64_t stride = shared.pair().local_stride();
    std::int64_t done = 0;
    for (const DimensionIntersection::Family& family : shared.families(peer)) {
      const std::int64_t runs = std::min(family.count, once - done);
      if (family.length == 1) {
        for (std::int64_t k = 0; k < runs; ++k)
          next[done + k] = static_cast<Index>(family.local + k * stride);
        done += runs;
        continue;
      }
      for (std::int64_t run = 0; run < runs; ++run)
        for (std::int64_t k = 0; k < family.length && done < once; ++k)
          next[done++] = static_cast<Index>(family.local + run * stride + k);
    }
    const auto step = static_cast<Index>(shared.pair().local_period());
    for (; done < all; ++done) next[done] = static_cast<Index>(next[done - once] + step);
    return next + all;
  }

  /// How an interval is dealt to the ranks of a cyclic side.
  [[nodiscard]] static CyclicDistribution dealt(const Interval& interval, const ObjectSide& side) {
    const Dimension& cyclic = side.cyclic();
    const std::int64_t number = quotient(interval.first, cyclic.block_size());
    return {interval.count, cyclic.block_size(), interval.first - number * cyclic.block_size(),
            (number + cyclic.first_rank()) % cyclic.ranks()};
  }

  template <class Action>
  void for_each_dealt(int peer, Action& action) const {
    if (theirs_.is_cyclic()) {
      const Interval own = mine_.interval(rank_);
      dealt(own, theirs_)
          .for_each_run(peer, ranks_of(theirs_), [&](std::int64_t k, std::int64_t length) {
            action(ObjectRun{own.first + k, k, length});
          });
      return;
    }
    // The objects of an interval that are mine are in consecutive slots of mine.
    const Interval other = theirs_.interval(peer);
    std::int64_t slot = -1;
    dealt(other, mine_)
        .for_each_run(rank_, ranks_of(mine_), [&](std::int64_t k, std::int64_t length) {
          if (slot < 0) slot = mine_.cyclic().local_index(other.first + k);
          action(ObjectRun{other.first + k, slot, length});
          slot += length;
        });
  }

  /// The dimensions from d on of these rows, as layout::for_each_run() has them.
  template <class Action>
  void for_each_of_both(std::size_t d, const BlockCyclic::Coordinates& peer, const ObjectRun& rows,
                        Action& action) const {
    const DimensionIntersection& shared = both_->dimension(d);
    for (std::int64_t row = 0; row < rows.length; ++row)
      shared.for_each_run(peer[d], [&](auto number, auto slot, auto length) {
        const ObjectRun run{(rows.number + row) * shared.pair().extent + number,
                            (rows.slot + row) * extents_[d] + slot, length};
        if (d + 1 == peer.size())
          action(run);
        else
          for_each_of_both(d + 1, peer, run, action);
      });
  }

  template <class Action>
  void walk(Action&& action) const {
    ArrayRow row;
    mine_.for_each_run(rank_, [&](const ObjectRun& run) { theirs_.cut(row, run, action); });
  }
  void count_walk(Ledger& ledger) {
    walked_ = Array<Walked>(ledger, static_cast<std::size_t>(theirs_.ranks()));
    std::ranges::fill(walked_, Walked{});
    walk([&](int peer, const ObjectRun& run) {
      Walked& walked = walked_[static_cast<std::size_t>(peer)];
      walked.objects += run.length;
      ++walked.runs;
    });
  }

  const ObjectSide& mine_;
  const ObjectSide& theirs_;
  int rank_;
  Matching matching_;
  BlockCyclic::Extents extents_;      ///< of my part
  std::optional<Intersection> both_;  ///< product
  Array<Walked> walked_;              ///< walk: of each rank of theirs
};

/// How often what two sides have in common repeats, the last time perhaps not whole; 0 without
/// objects.
[[nodiscard]] inline std::int64_t shared_periods(const ObjectSide& a, const ObjectSide& b) {
  if (a.objects() == 0) return 0;
  const auto periods = [](std::int64_t extent, std::int64_t period) {
    return quotient(extent + period - 1, period);
  };
  const Matching matching = matching_of(a, b);
  std::int64_t product = 1;
  if (matching == Matching::product)
    for (std::size_t d = 0; d < a.array().dimensions(); ++d) {
      const DimensionPair pair(a.array().dimension(d), b.array().dimension(d));
      product *= periods(pair.extent, pair.period);
    }
  if (matching != Matching::dealing) return product;
  const Dimension& cyclic = a.is_cyclic() ? a.cyclic() : b.cyclic();
  return periods(cyclic.extent(), std::min(cyclic.block_size(), cyclic.extent()) * cyclic.ranks());
}

}  // namespace valet::layout
