// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/order_partition.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "geometry/shared_objects.hpp"
#include "mpi/agreement.hpp"
#include "operations/plan.hpp"

#include <cmath>
#include <string>

namespace valet::rebalance {
namespace {

/// Where each part begins: an object belongs to the first part whose share of all objects, and
/// those of the parts below it, reaches the middle of the object. Partitioners add up the shares as
/// numbers of single precision, so this does: who asks one gets the same answer.
void find_bounds(std::span<std::int64_t> bounds, std::int64_t objects) {
  const std::size_t parts = bounds.size() - 1;
  const auto share = static_cast<float>(1.0 / static_cast<float>(parts));
  const auto all = static_cast<double>(objects);
  float below = 0;
  bounds[0] = 0;
  for (std::size_t part = 0; part + 1 < parts; ++part) {
    below += share;
    const double middles = std::floor(static_cast<double>(below) * all - 0.5) + 1;
    bounds[part + 1] = std::clamp(static_cast<std::int64_t>(middles), bounds[part], objects);
  }
  bounds[parts] = objects;
}

}  // namespace

OrderPartition::OrderPartition(const mpi::Channel& communicator, Ledger& ledger,
                               const OrderRule& rule, std::uint64_t count, std::uint64_t objects,
                               const std::optional<ObjectLayout>& from)
    : rank_(communicator.rank()),
      ranks_(communicator.size()),
      count_(static_cast<std::int64_t>(count)),
      objects_(static_cast<std::int64_t>(objects)),
      from_(from) {
  if (!from) {
    first_ = static_cast<std::int64_t>(mpi::sum_of_lower(communicator, count));
  } else {
    std::optional<Diagnostic> wrong;
    if (from->ranks < 0 || from->ranks > ranks_)
      wrong = invalid("the layout that the objects are in is over ", from->ranks,
                      " ranks, but there are ", ranks_);
    else if (count_in(*from) != count_)
      wrong = invalid("the layout that the objects are in gives this rank ", count_in(*from),
                      " of the ", objects_, " objects, but it has ", count_,
                      "; give the layout that they are in, or none");
    else if (from->block_size == 0)
      first_ = layout::balanced_bound(objects_, rank_, from->ranks == 0 ? ranks_ : from->ranks);
    mpi::agree(communicator, wrong);
  }
  if (rule.deals) {
    // A block beyond all objects is as good as one of all of them.
    block_size_ = std::min(rule.block_size, std::max<std::uint64_t>(1, objects));
    return;
  }
  const auto bounds = static_cast<std::size_t>(ranks_) + 1;
  mpi::agree(communicator,
             detail::unless_out_of_memory(
                 [&] { bounds_ = Array<std::int64_t>(ledger, bounds); },
                 [] {
                   return Diagnostic{ErrorCode::out_of_memory, "no memory for 8 bytes per rank"};
                 }));
  if (from_)
    for (std::size_t r = 0; r < bounds; ++r)
      bounds_[r] = layout::balanced_bound(objects_, static_cast<std::int64_t>(r), ranks_);
  else
    find_bounds(std::span(bounds_.data(), bounds), objects_);
}

layout::Dimension OrderPartition::dimension() const {
  return {objects_, static_cast<std::int64_t>(block_size_), ranks_};
}

/// What a layout over at most so many ranks gives this one.
std::int64_t OrderPartition::count_in(const ObjectLayout& layout) const {
  const int ranks = layout.ranks == 0 ? ranks_ : layout.ranks;
  if (rank_ >= ranks) return 0;
  if (layout.block_size == 0)
    return layout::balanced_bound(objects_, rank_ + 1, ranks) -
           layout::balanced_bound(objects_, rank_, ranks);
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(1, objects_));
  return layout::Dimension(objects_, static_cast<std::int64_t>(std::min(layout.block_size, most)),
                           ranks)
      .local_extent(rank_);
}

std::optional<ObjectLayout> OrderPartition::layout() const {
  if (bounds_.size() == 0) return ObjectLayout::cyclic(block_size_);
  for (std::size_t r = 0; r < bounds_.size(); ++r)
    if (bounds_[r] != layout::balanced_bound(objects_, static_cast<std::int64_t>(r), ranks_))
      return std::nullopt;
  return ObjectLayout::balanced();
}

void OrderPartition::write(std::span<int> ranks) const {
  for_each_run([&](int rank, std::uint64_t first, std::uint64_t count) {
    std::ranges::fill(ranks.subspan(first, count), rank);
  });
}

std::uint64_t OrderPartition::count_after() const {
  const auto rank = static_cast<std::size_t>(rank_);
  if (bounds_.size() > 0) return static_cast<std::uint64_t>(bounds_[rank + 1] - bounds_[rank]);
  return static_cast<std::uint64_t>(dimension().local_extent(rank_));
}

Plan OrderPartition::plan(const mpi::Channel& communicator, const BlockStorage& storage,
                          const Options& options) const {
  const auto count = static_cast<std::uint64_t>(count_);
  if (from_)
    return plan_to_layout(
        communicator.get(), storage, count, *from_,
        bounds_.size() > 0 ? ObjectLayout::balanced() : ObjectLayout::cyclic(block_size_), options);
  if (bounds_.size() > 0)
    return operations::plan_to_bounds(communicator.get(), storage, count,
                                      {bounds_.data(), bounds_.size()}, options);
  return plan_to_layout(communicator.get(), storage, count, ObjectLayout::cyclic(block_size_),
                        options);
}

}  // namespace valet::rebalance
