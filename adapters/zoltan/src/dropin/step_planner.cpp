// SPDX-License-Identifier: BSD-3-Clause
#include "step_planner.hpp"

#include <algorithm>
#include <limits>

namespace valet::zoltan {
namespace {

double fraction_of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

constexpr std::size_t no_pair = std::numeric_limits<std::size_t>::max();

}  // namespace

StepPlanner::StepPlanner(Ledger& ledger, std::span<const Peer> sources, std::span<const int> sizes,
                         std::uint64_t object_bytes, int rank)
    : sources_(sources),
      sizes_(sizes),
      object_bytes_(object_bytes),
      rank_(rank),
      flows_(ledger),
      connections_(sources.begin(), sources.end(), ledger),
      all_(sources.size(), ledger),
      ready_(sources.size(), ledger),
      shares_(sources.size(), ledger),
      parcels_(ledger),
      ranges_(ledger) {
  flows_.reserve(sources.size());
  ranges_.reserve(sources.size());
  restart();
}

void StepPlanner::restart() {
  flows_.clear();
  ranges_.clear();
  objects_left_ = cost_left_ = 0;
  std::uint64_t object = 0;
  std::uint64_t offset = 0;
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const std::uint64_t end = object + sources_[s].count;
    flows_.push_back({.pair = s,
                      .next = object,
                      .offered = end,
                      .end = end,
                      .offset = offset,
                      .objects_left = sources_[s].count,
                      .objects_ready = sources_[s].count});
    all_[s] = 0;
    for (; object < end; ++object) {
      all_[s] += cost_of(object);
      offset += size_of(object);
    }
    ready_[s] = all_[s];
    cost_left_ += all_[s];
    objects_left_ += sources_[s].count;
  }
}

void StepPlanner::withhold() {
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    flows_[f].offered = flows_[f].next;
    flows_[f].objects_ready = 0;
    ready_[f] = 0;
  }
}

std::size_t StepPlanner::flow_of(int rank) const { return plan::flow_from(connections_, rank); }

std::uint64_t StepPlanner::left_of(std::size_t pair) const {
  const Flow& flow = flows_[flow_of(sources_[pair].rank)];
  return flow.end - flow.next;
}

std::uint64_t StepPlanner::first_of(std::size_t pair) const {
  return flows_[flow_of(sources_[pair].rank)].end - sources_[pair].count;
}

void StepPlanner::offer(std::size_t pair, std::uint64_t objects) {
  const std::size_t f = flow_of(sources_[pair].rank);
  Flow& flow = flows_[f];
  for (const std::uint64_t until = flow.next + objects; flow.offered < until; ++flow.offered) {
    ++flow.objects_ready;
    ready_[f] += cost_of(flow.offered);
  }
}

/// The flow of a rank, which may be new.
std::size_t StepPlanner::make_flow(int rank) {
  const std::size_t f = flow_of(rank);
  if (f < connections_.size() && connections_[f].rank == rank) return f;
  const auto at = static_cast<std::ptrdiff_t>(f);
  flows_.insert(flows_.begin() + at, Flow{.pair = no_pair});
  connections_.insert(connections_.begin() + at, Peer{rank, 0});
  for (Vector<std::uint64_t>* costs : {&all_, &ready_, &shares_})
    costs->insert(costs->begin() + at, 0);
  return f;
}

void StepPlanner::moved(std::size_t pair, std::uint64_t objects, int holder) {
  const std::size_t to = make_flow(holder);
  const std::size_t from = flow_of(sources_[pair].rank);
  Flow& flow = flows_[from];
  const auto behind = std::ranges::upper_bound(parcels_, holder, {}, &Parcel::peer);
  parcels_.insert(behind,
                  {holder, static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(flow.next),
                   static_cast<std::uint32_t>(objects), flow.offset});
  std::uint64_t cost = 0;
  for (std::uint64_t k = 0; k < objects; ++k, ++flow.next) {
    cost += cost_of(flow.next);
    flow.offset += size_of(flow.next);
  }
  flow.objects_left -= objects;
  flow.objects_ready -= objects;
  flows_[to].objects_left += objects;
  flows_[to].objects_ready += objects;
  for (Vector<std::uint64_t>* costs : {&all_, &ready_}) {
    (*costs)[from] -= cost;
    (*costs)[to] += cost;
  }
}

/// The parcel that is next in line, or null.
StepPlanner::Parcel* StepPlanner::front_parcel(std::size_t flow) {
  const int rank = connections_[flow].rank;
  auto at = std::ranges::lower_bound(parcels_, rank, {}, &Parcel::peer);
  while (at != parcels_.end() && at->peer == rank && at->count == 0) ++at;
  return at != parcels_.end() && at->peer == rank ? &*at : nullptr;
}

std::uint64_t StepPlanner::next_object(std::size_t flow) {
  const Parcel* const parcel = front_parcel(flow);
  return parcel != nullptr ? parcel->first : flows_[flow].next;
}

void StepPlanner::add_to_ranges(std::size_t flow, int peer, const StepRange& object) {
  const auto behind = std::ranges::upper_bound(ranges_, peer, {}, &StepRange::peer);
  if (flows_[flow].begun)
    ++(behind - 1)->end;
  else
    ranges_.insert(behind, object);
  flows_[flow].begun = true;
}

/// A parcel is one range at most, and one of its own objects another, as the sender has them.
void StepPlanner::remove_front(std::size_t f) {
  Flow& flow = flows_[f];
  const int peer = connections_[f].rank;
  if (Parcel* const parcel = front_parcel(f)) {
    const std::uint64_t object = parcel->first;
    add_to_ranges(f, peer, {peer, parcel->pair, object, object + 1, parcel->offset});
    ++parcel->first;
    parcel->offset += size_of(object);
    if (--parcel->count == 0) flow.begun = false;
  } else {
    add_to_ranges(f, peer, {peer, flow.pair, flow.next, flow.next + 1, flow.offset});
    flow.offset += size_of(flow.next);
    ++flow.next;
  }
}

bool StepPlanner::take(std::size_t f, Room& room, PlannedStep& step) {
  const std::uint64_t object = next_object(f);
  const std::uint64_t size = size_of(object);
  const std::uint64_t cost = cost_of(object);
  if (cost > room.cost || size > room.packed) return false;
  remove_front(f);
  room.cost -= cost;
  room.packed -= size;
  Flow& flow = flows_[f];
  --flow.objects_left;
  --flow.objects_ready;
  ++flow.credited;
  ready_[f] -= cost;
  cost_left_ -= cost;
  --objects_left_;
  ++step.objects;
  step.bytes += size;
  return true;
}

/// Every source as far as its share goes; or until it is reached.
void StepPlanner::take_shares(bool until_reached, Room& room, PlannedStep& step) {
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    while (flows_[f].objects_ready > 0) {
      const std::uint64_t cost = cost_of(next_object(f));
      const bool enough = until_reached ? shares_[f] == 0 && cost > 0 : cost > shares_[f];
      if (enough || !take(f, room, step)) break;
      shares_[f] -= std::min(shares_[f], cost);
    }
  }
}

/// What is left of the limit, an object at a time.
void StepPlanner::take_rest(Room& room, PlannedStep& step) {
  const std::size_t first = flow_of(rank_ + 1);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t k = 0; k < flows_.size(); ++k) {
      const std::size_t f = (first + k) % flows_.size();
      if (flows_[f].objects_ready > 0 && take(f, room, step)) progress = true;
    }
  }
}

/// One object that is larger than the limit, of the source that is furthest behind.
void StepPlanner::take_large(bool of_share, std::uint64_t limit, std::uint64_t packed_limit,
                             PlannedStep& step) {
  double most = -1;
  std::size_t chosen = flows_.size();
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    if (flows_[f].objects_ready == 0 || size_of(next_object(f)) > packed_limit) continue;
    if (of_share && shares_[f] == 0) continue;
    const double left = fraction_of(ready_[f], all_[f]);
    if (left <= most) continue;
    most = left;
    chosen = f;
  }
  if (chosen == flows_.size()) return;
  const std::uint64_t cost = cost_of(next_object(chosen));
  Room room{cost, packed_limit};
  take(chosen, room, step);
  step.raised = cost - std::min(cost, limit);
}

void StepPlanner::skip() {
  ranges_.clear();
  std::erase_if(parcels_, [](const Parcel& parcel) { return parcel.count == 0; });
  for (Flow& flow : flows_) {
    flow.credited = 0;
    flow.begun = false;
  }
}

PlannedStep StepPlanner::plan(Division& division, std::uint64_t limit, std::uint64_t packed_limit) {
  skip();
  PlannedStep step;
  division.divide({std::min(limit, packed_limit), cost_left_, ready_, all_}, shares_);
  if (objects_left_ == 0) return step;
  Room room{limit, packed_limit};
  const bool one_source = division.one_source();
  take_shares(one_source, room, step);
  if (!one_source) take_rest(room, step);
  if (step.objects == 0) take_large(one_source, limit, packed_limit, step);
  return step;
}

std::uint64_t StepPlanner::count_steps(Division& division, std::uint64_t limit) {
  std::uint64_t steps = 0;
  for (; objects_left_ > 0; ++steps)
    plan(division, limit, std::numeric_limits<std::uint64_t>::max());
  restart();
  return steps;
}

std::uint64_t StepPlanner::smallest_next() const {
  std::uint64_t smallest = 0;
  bool any = false;
  const auto look_at = [&](std::uint64_t object) {
    smallest = any ? std::min(smallest, size_of(object)) : size_of(object);
    any = true;
  };
  for (const Flow& flow : flows_)
    if (flow.next < flow.end) look_at(flow.next);
  for (const Parcel& parcel : parcels_)
    if (parcel.count > 0) look_at(parcel.first);
  return smallest;
}

}  // namespace valet::zoltan
