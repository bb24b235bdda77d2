// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/order_partition.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "operations/plan.hpp"
#include "plan/object_planner.hpp"

#include <algorithm>
#include <cmath>

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
    const char* const name = "the layout that the objects are in";
    std::optional<Diagnostic> wrong = plan::check_layout(*from, name, objects, ranks_);
    if (!wrong) before_ = plan::side_of(*from, objects, ranks_);
    if (before_ && before_->count(rank_) != count_)
      wrong =
          invalid(name, " gives this rank ", before_->count(rank_), " of the ", objects_,
                  " objects, but it has ", count_, "; give the layout that they are in, or none");
    mpi::agree(communicator, wrong);
  }
  if (rule.deals || from) {
    const std::uint64_t most = std::max<std::uint64_t>(1, objects);
    to_ = !rule.deals  ? ObjectLayout::balanced()
          : rule.tiles ? ObjectLayout::tiles(*rule.tiles)
                       : ObjectLayout::cyclic(std::min(rule.block_size, most), rule.ranks);
    // The same on all ranks.
    if (auto wrong = plan::check_layout(*to_, "the layout after", objects, ranks_))
      throw Error(wrong->code, wrong->text);
    after_ = plan::side_of(*to_, objects, ranks_);
    return;
  }
  const auto bounds = static_cast<std::size_t>(ranks_) + 1;
  mpi::agree(communicator,
             detail::unless_out_of_memory([&] { bounds_ = Array<std::int64_t>(ledger, bounds); },
                                          "no memory for 8 bytes per rank"));
  find_bounds(std::span(bounds_.data(), bounds), objects_);
  after_.emplace(std::span<const std::int64_t>(bounds_.data(), bounds));
}

std::optional<ObjectLayout> OrderPartition::layout() const {
  if (to_) return to_;
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
  return static_cast<std::uint64_t>(after_->count(rank_));
}

Plan OrderPartition::plan(const mpi::Channel& communicator, const BlockStorage& storage,
                          const Options& options) const {
  plan::ObjectMove move{.from = from_, .objects = static_cast<std::uint64_t>(objects_)};
  if (to_)
    move.to = *to_;
  else
    move.bounds = {bounds_.data(), bounds_.size()};
  return operations::plan_objects(communicator.get(), storage, static_cast<std::uint64_t>(count_),
                                  move, options);
}

}  // namespace valet::rebalance
