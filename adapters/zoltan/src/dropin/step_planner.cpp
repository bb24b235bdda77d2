// SPDX-License-Identifier: BSD-3-Clause
#include "step_planner.hpp"

#include <algorithm>
#include <limits>

namespace valet::zoltan {
namespace {

double fraction_of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

}  // namespace

StepPlanner::StepPlanner(Ledger& ledger, std::span<const Peer> sources, std::span<const int> sizes,
                         std::uint64_t object_bytes, std::size_t first)
    : sizes_(sizes),
      object_bytes_(object_bytes),
      first_source_(first),
      flows_(LedgerAllocator<Flow>(ledger)),
      bytes_left_(LedgerAllocator<std::uint64_t>(ledger)),
      bytes_granted_(LedgerAllocator<std::uint64_t>(ledger)) {
  flows_.reserve(sources.size());
  std::uint64_t object = 0;
  for (const Peer& source : sources) {
    Flow flow{object, source.count, 0, 0, 0};
    for (; object < flow.first + flow.count; ++object)
      flow.cost += static_cast<std::uint64_t>(sizes[object]) + object_bytes;
    cost_ += flow.cost;
    flows_.push_back(flow);
  }
  restart();
}

void StepPlanner::divide_by(Heuristic heuristic, int rank) {
  heuristic_ = heuristic;
  rank_ = rank;
  bytes_left_.resize(flows_.size());
  bytes_granted_.resize(flows_.size());
  restart();
}

void StepPlanner::restart() {
  random_ = schedule::ReceiverRandom(Options().seed, static_cast<std::uint32_t>(rank_));
  pieces_counted_ = false;
  objects_left_ = 0;
  cost_taken_ = 0;
  for (Flow& flow : flows_) {
    flow.taken = flow.cost_taken = 0;
    objects_left_ += flow.count;
  }
}

bool StepPlanner::take(std::size_t source, Room& room, PlannedStep& step,
                       std::span<std::uint64_t> grants) {
  Flow& flow = flows_[source];
  const std::uint64_t size = next_size(flow);
  const std::uint64_t cost = size + object_bytes_;
  if (cost > room.cost || size > room.packed) return false;
  room.cost -= cost;
  room.packed -= size;
  ++flow.taken;
  flow.cost_taken += cost;
  cost_taken_ += cost;
  --objects_left_;
  ++grants[source];
  ++step.objects;
  step.bytes += size;
  return true;
}

/// Every source as far as its share of what will have been taken after this step.
void StepPlanner::take_shares(std::uint64_t limit, Room& room, PlannedStep& step,
                              std::span<std::uint64_t> grants) {
  const std::uint64_t goal = cost_taken_ + std::min(limit, cost_ - cost_taken_);
  const double fraction = fraction_of(goal, cost_);
  for (std::size_t s = 0; s < flows_.size(); ++s) {
    Flow& flow = flows_[s];
    const auto share = static_cast<std::uint64_t>(fraction * static_cast<double>(flow.cost));
    while (flow.taken < flow.count && flow.cost_taken + next_size(flow) + object_bytes_ <= share)
      if (!take(s, room, step, grants)) break;
  }
}

/// Every source as far as the heuristic lets it.
void StepPlanner::take_granted(std::uint64_t limit, Room& room, PlannedStep& step,
                               std::span<std::uint64_t> grants) {
  if (!pieces_counted_ && limit > 0) {
    pieces_left_ = (cost_ + limit - 1) / limit;
    pieces_counted_ = true;
  }
  for (std::size_t s = 0; s < flows_.size(); ++s)
    bytes_left_[s] = flows_[s].cost - flows_[s].cost_taken;
  schedule::apportion(*heuristic_, {bytes_left_, limit, pieces_left_}, random_, bytes_granted_);
  if (pieces_left_ > 0) --pieces_left_;
  for (std::size_t s = 0; s < flows_.size(); ++s) {
    Flow& flow = flows_[s];
    const std::uint64_t granted = flow.cost_taken + bytes_granted_[s];
    while (flow.taken < flow.count && flow.cost_taken + next_size(flow) + object_bytes_ <= granted)
      if (!take(s, room, step, grants)) break;
  }
}

/// What is left of the limit, an object at a time.
void StepPlanner::take_rest(Room& room, PlannedStep& step, std::span<std::uint64_t> grants) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t k = 0; k < flows_.size(); ++k) {
      const std::size_t s = (first_source_ + k) % flows_.size();
      if (flows_[s].taken < flows_[s].count && take(s, room, step, grants)) progress = true;
    }
  }
}

/// One object that is larger than the limit, of the source that is furthest behind.
void StepPlanner::take_large(std::uint64_t limit, std::uint64_t packed_limit, PlannedStep& step,
                             std::span<std::uint64_t> grants) {
  double least = 2;
  std::size_t chosen = flows_.size();
  for (std::size_t s = 0; s < flows_.size(); ++s) {
    const Flow& flow = flows_[s];
    if (flow.taken == flow.count || next_size(flow) > packed_limit) continue;
    const double fraction = fraction_of(flow.cost_taken, flow.cost);
    if (fraction >= least) continue;
    least = fraction;
    chosen = s;
  }
  if (chosen == flows_.size()) return;
  const std::uint64_t cost = next_size(flows_[chosen]) + object_bytes_;
  Room room{cost, packed_limit};
  take(chosen, room, step, grants);
  step.raised = cost - std::min(cost, limit);
}

PlannedStep StepPlanner::plan(std::uint64_t limit, std::uint64_t packed_limit,
                              std::span<std::uint64_t> grants) {
  std::fill(grants.begin(), grants.end(), 0);
  PlannedStep step;
  if (objects_left_ == 0) return step;
  Room room{limit, packed_limit};
  if (heuristic_)
    take_granted(std::min(limit, packed_limit), room, step, grants);
  else
    take_shares(std::min(limit, packed_limit), room, step, grants);
  take_rest(room, step, grants);
  if (step.objects == 0) take_large(limit, packed_limit, step, grants);
  return step;
}

std::uint64_t StepPlanner::count_steps(std::uint64_t limit, std::span<std::uint64_t> grants,
                                       PlannedStep& largest) {
  std::uint64_t steps = 0;
  while (objects_left_ > 0) {
    const PlannedStep step = plan(limit, std::numeric_limits<std::uint64_t>::max(), grants);
    largest.objects = std::max(largest.objects, step.objects);
    largest.bytes = std::max(largest.bytes, step.bytes);
    largest.raised = std::max(largest.raised, step.raised);
    ++steps;
  }
  restart();
  return steps;
}

std::uint64_t StepPlanner::smallest_next() const {
  std::uint64_t smallest = 0;
  bool any = false;
  for (const Flow& flow : flows_) {
    if (flow.taken == flow.count) continue;
    smallest = any ? std::min(smallest, next_size(flow)) : next_size(flow);
    any = true;
  }
  return smallest;
}

}  // namespace valet::zoltan
