// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which objects a rank takes in a step: from sizes and limits alone, never from the order in which
/// anything arrives. Local, but for a Division that asks a root.

#include "division.hpp"
#include "transport.hpp"

#include <cstdint>
#include <span>

namespace valet::zoltan {

struct PlannedStep {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;   ///< packed
  std::uint64_t raised = 0;  ///< by how much the one object that was taken passes the limit
};

/// Objects of one pair of ranks that a step moves from one rank to another.
struct StepRange {
  int peer = 0;  ///< the other rank of the move
  std::size_t pair =
      0;  ///< the other rank of the pair: its place among all sources or destinations
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
  StepPlanner(Ledger& ledger, std::span<const Peer> sources, std::span<const int> sizes,
              std::uint64_t object_bytes, int rank);

  /// From now on sources can send only what they offer. Called before the first step.
  void withhold();
  /// Source number `pair` can send its next `objects` objects now.
  void offer(std::size_t pair, std::uint64_t objects);
  /// The next objects of source number `pair` have gone to rank `holder`, where they wait.
  void moved(std::size_t pair, std::uint64_t objects, int holder);

  /// Decides the next step.
  ///
  /// @param limit        Cost of what is taken; a single object may pass it.
  /// @param packed_limit Packed bytes of what is taken; obeyed.
  PlannedStep plan(Division& division, std::uint64_t limit, std::uint64_t packed_limit);
  /// A step in which this rank takes nothing.
  void skip();
  /// The steps that it takes with this limit alone. Called before the first step; `division` keeps
  /// no state.
  [[nodiscard]] std::uint64_t count_steps(Division& division, std::uint64_t limit);

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
  [[nodiscard]] std::uint64_t left_of(std::size_t pair) const;
  /// The first object of source number `pair`, sent or not.
  [[nodiscard]] std::uint64_t first_of(std::size_t pair) const;
  [[nodiscard]] std::span<const Peer> sources() const { return sources_; }
  [[nodiscard]] std::uint64_t objects_left() const { return objects_left_; }
  [[nodiscard]] std::uint64_t cost_left() const { return cost_left_; }
  /// The smallest object that is next in line at some source; 0 when there is none.
  [[nodiscard]] std::uint64_t smallest_next() const;

 private:
  struct Flow {
    std::size_t pair = 0;
    std::uint64_t next = 0;     ///< its own objects
    std::uint64_t offered = 0;  ///< behind those it can send now
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
  [[nodiscard]] std::uint64_t size_of(std::uint64_t object) const {
    return static_cast<std::uint64_t>(sizes_[object]);
  }
  [[nodiscard]] std::uint64_t cost_of(std::uint64_t object) const {
    return size_of(object) + object_bytes_;
  }
  [[nodiscard]] std::size_t flow_of(int rank) const;
  Parcel* front_parcel(std::size_t flow);
  [[nodiscard]] std::uint64_t next_object(std::size_t flow);
  std::size_t make_flow(int rank);
  void add_to_ranges(std::size_t flow, int peer, const StepRange& object);
  void remove_front(std::size_t flow);
  bool take(std::size_t flow, Room& room, PlannedStep& step);
  void take_shares(bool until_reached, Room& room, PlannedStep& step);
  void take_rest(Room& room, PlannedStep& step);
  void take_large(bool of_share, std::uint64_t limit, std::uint64_t packed_limit,
                  PlannedStep& step);
  void restart();

  std::span<const Peer> sources_;
  std::span<const int> sizes_;
  std::uint64_t object_bytes_;
  int rank_;
  Vector<Flow> flows_;
  Vector<Peer> connections_;                    ///< one for each flow
  Vector<std::uint64_t> all_, ready_, shares_;  ///< costs of each flow
  Vector<Parcel> parcels_;  ///< by peer, then in the order in which they came there
  Vector<StepRange> ranges_;
  std::uint64_t objects_left_ = 0;
  std::uint64_t cost_left_ = 0;
};

/// Whether a rank that needs `own` steps of `all` takes part in step `step`: evenly spread.
[[nodiscard]] constexpr bool takes_part(std::uint64_t step, std::uint64_t own, std::uint64_t all) {
  return (step + 1) * own / all > step * own / all;
}

}  // namespace valet::zoltan
