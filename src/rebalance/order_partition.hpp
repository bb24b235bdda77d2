// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitions by the order of ranks and slots, which are arithmetic: no partitioner is asked, and
/// no rank per object is written down unless somebody wants to see it.

#include "mpi/channel.hpp"
#include <valet/block_storage.hpp>
#include <valet/ledger.hpp>
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
    never,               ///< there is no partitioner for it
    if_it_is_told_more,  ///< see PartitionerTraits::is_told_more
    always,              ///< the partitioner has been told more
  };
  Asked asked = Asked::never;    ///< when the partitioner is asked nevertheless
  bool deals = false;            ///< blocks to the ranks in turn; or one run each, without weights
  std::uint64_t block_size = 1;  ///< of what is dealt
};

/// All objects, numbered through by rank and slot, dealt to the ranks in blocks, or cut into one
/// block for each rank.
class OrderPartition {
 public:
  /// Collective. @throws Error out_of_memory.
  /// @param objects  How many all ranks have. [global]
  OrderPartition(const mpi::Channel& communicator, Ledger& ledger, const OrderRule& rule,
                 std::uint64_t count, std::uint64_t objects);

  /// Calls action(rank, first, count) for runs of slots of this rank that go to the same rank,
  /// ascending.
  template <class Action>
  void for_each_run(Action&& action) const;
  /// The rank of each object. Local.
  void write(std::span<int> ranks) const;
  /// Objects that this rank will have. Local.
  [[nodiscard]] std::uint64_t count_after() const;
  /// Collective. @throws Error as plan_to_layout().
  [[nodiscard]] Plan plan(const mpi::Channel& communicator, const BlockStorage& storage,
                          const Options& options) const;

 private:
  int rank_;
  int ranks_;
  std::int64_t count_, objects_;
  std::int64_t first_;            ///< number of the object in slot 0
  std::uint64_t block_size_ = 0;  ///< dealt
  Array<std::int64_t> bounds_;    ///< cut: rank r gets bounds[r] to bounds[r + 1] - 1
};

template <class Action>
void OrderPartition::for_each_run(Action&& action) const {
  const std::int64_t behind = first_ + count_;
  const auto block = static_cast<std::int64_t>(block_size_);
  int rank = bounds_.size() > 0
                 ? static_cast<int>(std::ranges::upper_bound(bounds_, first_) - bounds_.begin()) - 1
                 : static_cast<int>(first_ / block % ranks_);
  for (std::int64_t number = first_; number < behind;) {
    const std::int64_t end = bounds_.size() > 0 ? bounds_[static_cast<std::size_t>(rank) + 1]
                                                : (number / block + 1) * block;
    const std::int64_t run = std::min(end, behind) - number;
    if (run > 0)
      action(rank, static_cast<std::uint64_t>(number - first_), static_cast<std::uint64_t>(run));
    number += run;
    if (++rank == ranks_) rank = 0;
  }
}

}  // namespace valet::rebalance
