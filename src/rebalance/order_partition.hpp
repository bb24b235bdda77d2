// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitions by the order of ranks and slots, which are arithmetic: no partitioner is asked, and
/// no rank per object is written down unless somebody wants to see it.

#include "mpi/channel.hpp"
#include <valet/block_storage.hpp>
#include <valet/dimension.hpp>
#include <valet/ledger.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>

#include <algorithm>
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
};

/// All objects, numbered through by rank and slot, dealt to the ranks in blocks, or cut into one
/// block for each rank.
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
  [[nodiscard]] layout::Dimension dimension() const;
  [[nodiscard]] std::int64_t count_in(const ObjectLayout& layout) const;
  /// Cuts objects that are numbered through, in slots from `slot`, by where they go.
  template <class Action>
  void cut(std::int64_t number, std::int64_t slot, std::int64_t count, Action&& action) const;

  int rank_;
  int ranks_;
  std::int64_t count_, objects_;
  std::optional<ObjectLayout> from_;
  std::int64_t first_ = 0;        ///< number of the object in slot 0, unless they are in blocks
  std::uint64_t block_size_ = 0;  ///< dealt
  Array<std::int64_t> bounds_;    ///< cut: rank r gets bounds[r] to bounds[r + 1] - 1
};

template <class Action>
void OrderPartition::cut(std::int64_t number, std::int64_t slot, std::int64_t count,
                         Action&& action) const {
  const std::int64_t behind = number + count;
  const auto block = static_cast<std::int64_t>(block_size_);
  int rank = bounds_.size() > 0
                 ? static_cast<int>(std::ranges::upper_bound(bounds_, number) - bounds_.begin()) - 1
                 : static_cast<int>(number / block % ranks_);
  while (number < behind) {
    const std::int64_t end = bounds_.size() > 0 ? bounds_[static_cast<std::size_t>(rank) + 1]
                                                : (number / block + 1) * block;
    const std::int64_t run = std::min(end, behind) - number;
    if (run > 0) action(rank, static_cast<std::uint64_t>(slot), static_cast<std::uint64_t>(run));
    number += run;
    slot += run;
    if (++rank == ranks_) rank = 0;
  }
}

template <class Action>
void OrderPartition::for_each_run(Action&& action) const {
  const auto all = static_cast<std::uint64_t>(std::max<std::int64_t>(1, objects_));
  const auto block = static_cast<std::int64_t>(from_ ? std::min(from_->block_size, all) : 0);
  if (block == 0) return cut(first_, 0, count_, action);
  const std::int64_t ranks = from_->ranks == 0 ? ranks_ : from_->ranks;
  for (std::int64_t slot = 0; slot < count_; slot += block)
    cut((slot / block * ranks + rank_) * block, slot, std::min(block, count_ - slot), action);
}

}  // namespace valet::rebalance
