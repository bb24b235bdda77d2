// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitions by the order of ranks and slots, which are arithmetic: no partitioner is asked, and
/// no rank per object is written down unless somebody wants to see it.

#include "geometry/shared_objects.hpp"
#include "mpi/channel.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/block_storage.hpp>
#include <valet/ledger.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::rebalance {

/// What a partition is where it follows from the order of the objects.
struct OrderRule {
  enum class Asked {
    never,                ///< there is no partitioner for it
    if_it_may_know_more,  ///< see PartitionerTraits::may_know_more
    always,               ///< the partitioner has been told more
  };
  Asked asked = Asked::never;    ///< when the partitioner is asked nevertheless
  bool deals = false;            ///< blocks to the ranks in turn; or one run each, without weights
  std::uint64_t block_size = 1;  ///< of what is dealt
  int ranks = 0;                 ///< the first ones, to which it is dealt; 0: all
  std::optional<BlockCyclic> tiles = {};  ///< in place of both
};

/// All objects, numbered through by rank and slot, dealt to the ranks in blocks or tiles, or cut
/// into one block for each rank.
class OrderPartition {
 public:
  /// Collective. @throws Error out_of_memory, invalid_argument where the objects are not in `from`.
  /// @param objects  How many all ranks have. [global]
  /// @param from     The layout that they are in, which numbers them; none: by rank and slot.
  ///                 [global]
  OrderPartition(const mpi::Channel& communicator, Ledger& ledger, const OrderRule& rule,
                 std::uint64_t count, std::uint64_t objects,
                 const std::optional<ObjectLayout>& from = {});

  /// Calls action(rank, first, count) for runs of slots of this rank that go to the same rank,
  /// ascending.
  template <class Action>
  void for_each_run(Action&& action) const;
  /// The rank of each object. Local.
  void write(std::span<int> ranks) const;
  /// Objects that this rank will have. Local.
  [[nodiscard]] std::uint64_t count_after() const;
  /// The layout that the objects have afterwards; none if its bounds are not those of a layout.
  [[nodiscard]] std::optional<ObjectLayout> layout() const;
  /// Collective. @throws Error as plan_to_layout().
  [[nodiscard]] Plan plan(const mpi::Channel& communicator, const BlockStorage& storage,
                          const Options& options) const;

 private:
  int rank_;
  int ranks_;
  std::int64_t count_, objects_;
  std::optional<ObjectLayout> from_, to_;  ///< before and after, if they are known
  std::int64_t first_ = 0;                 ///< number of the object in slot 0 without `from`
  Array<std::int64_t> bounds_;             ///< without `to`
  std::optional<layout::ObjectSide> before_, after_;  ///< before: with `from`
};

template <class Action>
void OrderPartition::for_each_run(Action&& action) const {
  if (count_ == 0) return;
  layout::ArrayRow row;
  const auto cut = [&](const layout::ObjectRun& run) {
    after_->cut(row, run, [&](int rank, const layout::ObjectRun& part) {
      action(rank, static_cast<std::uint64_t>(part.slot), static_cast<std::uint64_t>(part.length));
    });
  };
  if (before_)
    before_->for_each_run(rank_, cut);
  else
    cut({first_, 0, count_});
}

}  // namespace valet::rebalance
