// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which objects a rank takes in a step: from sizes and limits alone, never from the order in which
/// anything arrives. Local, but for a Division that asks a root.

#include "objects/division.hpp"
#include "objects/sizes.hpp"
#include "objects/transport.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace valet::objects {

struct PlannedStep {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;   ///< packed
  std::uint64_t raised = 0;  ///< by how much the one object that was taken passes the limit
};

/// Objects of one pair of ranks that a step moves from one rank to another.
struct StepRange {
  int peer = 0;              ///< the other rank of the move
  std::size_t pair = 0;      ///< the place of the other rank among all sources or destinations
  std::uint64_t first = 0;   ///< among all objects, sorted by the other rank of the pair
  std::uint64_t end = 0;     ///< behind the last
  std::uint64_t offset = 0;  ///< imports: packed bytes of all objects before the first
};

/// Knows what every rank still has for this one: its own objects in the order of its list, and
/// before them what waits there for this rank, parcel by parcel. So both ranks of a move know the
/// objects from their number alone.
class StepPlanner {
 public:
  /// @param sizes         Packed sizes of all imports, by source.
  /// @param object_bytes  What an object costs on top of its size.
  /// @param rank          This one. Ranks behind it are served first when scratch is left over.
  StepPlanner(Ledger& ledger, std::span<const Peer> sources, const ObjectSizes& sizes,
              std::uint64_t object_bytes, int rank)
      : sources_(sources),
        sizes_(sizes),
        object_bytes_(object_bytes),
        rank_(rank),
        flows_(ledger),
        connections_(sources.begin(), sources.end(), ledger),
        all_(sources.size(), ledger),
        left_(sources.size(), ledger),
        ready_(sources.size(), ledger),
        shares_(sources.size(), ledger),
        parcels_(ledger),
        ranges_(ledger) {
    flows_.reserve(sources.size());
    ranges_.reserve(sources.size());
    restart();
  }

  /// From now on sources can send only what they offer. Called before the first step.
  void withhold() {
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      flows_[f].offered = flows_[f].next;
      flows_[f].objects_ready = 0;
      ready_[f] = 0;
    }
  }

  /// Source number `pair` can send its next `objects` objects now.
  void offer(std::size_t pair, std::uint64_t objects) {
    const std::size_t f = flow_of(sources_[pair].rank);
    Flow& flow = flows_[f];
    for (const std::uint64_t until = flow.next + objects; flow.offered < until; ++flow.offered) {
      ++flow.objects_ready;
      ready_[f] += cost_of(flow.offered);
    }
  }

  /// The next objects of source number `pair` have gone to rank `holder`, where they wait.
  void moved(std::size_t pair, std::uint64_t objects, int holder) {
    const std::size_t to = make_flow(holder);
    const std::size_t from = flow_of(sources_[pair].rank);
    Flow& flow = flows_[from];
    const auto behind = std::ranges::upper_bound(parcels_, holder, {}, &Parcel::peer);
    parcels_.insert(
        behind, {holder, static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(flow.next),
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
    for (Vector<std::uint64_t>* costs : {&all_, &left_, &ready_}) {
      (*costs)[from] -= cost;
      (*costs)[to] += cost;
    }
  }

  /// Decides the next step.
  ///
  /// @param limit        Cost of what is taken; a single object may pass it.
  /// @param packed_limit Packed bytes of what is taken; obeyed.
  PlannedStep plan(Division& division, std::uint64_t limit, std::uint64_t packed_limit) {
    skip();
    PlannedStep step;
    division.divide({std::min(limit, packed_limit), cost_left_, ready_, all_, left_}, shares_);
    if (objects_left_ == 0) return step;
    Room room{limit, packed_limit};
    const bool one_source = division.one_source();
    take_shares(one_source, room, step);
    if (!one_source) take_rest(room, step);
    if (step.objects == 0) take_large(one_source, limit, packed_limit, step);
    return step;
  }

  /// A step in which this rank takes nothing.
  void skip() {
    ranges_.clear();
    std::erase_if(parcels_, [](const Parcel& parcel) { return parcel.count == 0; });
    for (Flow& flow : flows_) {
      flow.credited = 0;
      flow.begun = false;
    }
  }

  /// The steps that it takes with this limit alone. Called before the first step; `division` keeps
  /// no state.
  [[nodiscard]] std::uint64_t count_steps(Division& division, std::uint64_t limit) {
    std::uint64_t steps = 0;
    for (; objects_left_ > 0; ++steps)
      plan(division, limit, std::numeric_limits<std::uint64_t>::max());
    restart();
    return steps;
  }

  /// What the step takes: by ascending peer, and in the order in which that sends it.
  [[nodiscard]] std::span<const StepRange> ranges() const { return ranges_; }
  /// The ranks that objects come from; `count` is ignored. By ascending rank.
  [[nodiscard]] std::span<const Peer> connections() const { return connections_; }
  /// Objects of a connection that the step takes, and those that it has besides.
  [[nodiscard]] std::uint64_t credited(std::size_t connection) const {
    return flows_[connection].credited;
  }
  [[nodiscard]] std::uint64_t left(std::size_t connection) const {
    return flows_[connection].objects_left;
  }
  /// Own objects that source number `pair` still has.
  [[nodiscard]] std::uint64_t left_of(std::size_t pair) const {
    const Flow& flow = flows_[flow_of(sources_[pair].rank)];
    return flow.end - flow.next;
  }

  /// The first object of source number `pair`, sent or not.
  [[nodiscard]] std::uint64_t first_of(std::size_t pair) const {
    return flows_[flow_of(sources_[pair].rank)].end - sources_[pair].count;
  }

  [[nodiscard]] std::span<const Peer> sources() const { return sources_; }
  [[nodiscard]] std::uint64_t objects_left() const { return objects_left_; }
  [[nodiscard]] std::uint64_t cost_left() const { return cost_left_; }
  /// The smallest object that is next in line at some source; 0 when there is none.
  [[nodiscard]] std::uint64_t smallest_next() const {
    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t smallest = none;
    for (const Flow& flow : flows_)
      if (flow.next < flow.end) smallest = std::min(smallest, size_of(flow.next));
    for (const Parcel& parcel : parcels_)
      if (parcel.count > 0) smallest = std::min(smallest, size_of(parcel.first));
    return smallest == none ? 0 : smallest;
  }

 private:
  struct Flow {
    std::size_t pair = std::numeric_limits<std::size_t>::max();  ///< none: only parcels
    std::uint64_t next = 0;                                      ///< its own objects
    std::uint64_t offered = 0;                                   ///< behind those it can send now
    std::uint64_t end = 0;
    std::uint64_t offset = 0;         ///< where `next` begins, in packed bytes
    std::uint64_t objects_left = 0;   ///< with those that wait there
    std::uint64_t objects_ready = 0;  ///< those of them that it can send now
    std::uint64_t credited = 0;
    bool begun = false;  ///< its last range goes on
  };
  struct Parcel {
    int peer = 0;
    std::uint32_t pair = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t offset = 0;
  };
  struct Room {
    std::uint64_t cost;
    std::uint64_t packed;
  };
  [[nodiscard]] std::uint64_t size_of(std::uint64_t object) const { return sizes_[object]; }
  [[nodiscard]] std::uint64_t cost_of(std::uint64_t object) const {
    return size_of(object) + object_bytes_;
  }
  [[nodiscard]] std::size_t flow_of(int rank) const { return plan::flow_from(connections_, rank); }

  /// The parcel that is next in line, or null.
  Parcel* front_parcel(std::size_t flow) {
    const int rank = connections_[flow].rank;
    auto at = std::ranges::lower_bound(parcels_, rank, {}, &Parcel::peer);
    while (at != parcels_.end() && at->peer == rank && at->count == 0) ++at;
    return at != parcels_.end() && at->peer == rank ? &*at : nullptr;
  }

  [[nodiscard]] std::uint64_t next_object(std::size_t flow) {
    const Parcel* const parcel = front_parcel(flow);
    return parcel != nullptr ? parcel->first : flows_[flow].next;
  }

  /// The flow of a rank, which may be new.
  std::size_t make_flow(int rank) {
    const std::size_t f = flow_of(rank);
    if (f < connections_.size() && connections_[f].rank == rank) return f;
    const auto at = static_cast<std::ptrdiff_t>(f);
    flows_.insert(flows_.begin() + at, Flow{});
    connections_.insert(connections_.begin() + at, Peer{rank, 0});
    for (Vector<std::uint64_t>* costs : {&all_, &left_, &ready_, &shares_})
      costs->insert(costs->begin() + at, 0);
    return f;
  }

  void add_to_ranges(std::size_t flow, int peer, const StepRange& object) {
    const auto behind = std::ranges::upper_bound(ranges_, peer, {}, &StepRange::peer);
    if (flows_[flow].begun)
      ++(behind - 1)->end;
    else
      ranges_.insert(behind, object);
    flows_[flow].begun = true;
  }

  /// A parcel is one range at most, and one of its own objects another, as the sender has them.
  void remove_front(std::size_t f) {
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

  bool take(std::size_t f, Room& room, PlannedStep& step) {
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
    left_[f] -= cost;
    cost_left_ -= cost;
    --objects_left_;
    ++step.objects;
    step.bytes += size;
    return true;
  }

  /// Every source as far as its share goes; or until it is reached.
  void take_shares(bool until_reached, Room& room, PlannedStep& step) {
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
  void take_rest(Room& room, PlannedStep& step) {
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
  void take_large(bool of_share, std::uint64_t limit, std::uint64_t packed_limit,
                  PlannedStep& step) {
    double most = -1;
    std::size_t chosen = flows_.size();
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (flows_[f].objects_ready == 0 || size_of(next_object(f)) > packed_limit) continue;
      if (of_share && shares_[f] == 0) continue;
      const double left =
          static_cast<double>(ready_[f]) / static_cast<double>(std::max<std::uint64_t>(all_[f], 1));
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

  void restart() {
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
      ready_[s] = left_[s] = all_[s];
      cost_left_ += all_[s];
      objects_left_ += sources_[s].count;
    }
  }

  std::span<const Peer> sources_;
  ObjectSizes sizes_;
  std::uint64_t object_bytes_;
  int rank_;
  Vector<Flow> flows_;
  Vector<Peer> connections_;                           ///< one for each flow
  Vector<std::uint64_t> all_, left_, ready_, shares_;  ///< costs of each flow
  Vector<Parcel> parcels_;  ///< by peer, then in the order in which they came there
  Vector<StepRange> ranges_;
  std::uint64_t objects_left_ = 0;
  std::uint64_t cost_left_ = 0;
};

/// Whether a rank that needs `own` steps of `all` takes part in step `step`: evenly spread.
[[nodiscard]] constexpr bool takes_part(std::uint64_t step, std::uint64_t own, std::uint64_t all) {
  return (step + 1) * own / all > step * own / all;
}

}  // namespace valet::objects
