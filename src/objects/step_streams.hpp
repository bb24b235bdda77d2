// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What goes out and comes in during one step. Both ends of a pair cut the objects of the step into
/// messages by the same rule.

#include "objects/batches.hpp"
#include "objects/call.hpp"
#include "objects/checksums.hpp"
#include "objects/parked_objects.hpp"
#include "objects/step_planner.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::objects {

/// Sends message by message, rank by rank, starting behind this one: first what waits here for a
/// rank, then own objects in the order of the list.
class StepSender : public Outgoing {
 public:
  /// @param sizes  Of the exports, sorted by destination. @throws std::bad_alloc.
  StepSender(Call& call, std::span<const Peer> destinations, const ObjectSizes& sizes,
             std::uint64_t chunk)
      : call_(call),
        destinations_(destinations),
        sizes_(sizes),
        chunk_(chunk),
        flows_(call.ledger),
        checksums_(call.ledger, destinations),
        parked_(call.ledger),
        connections_(destinations.begin(), destinations.end(), call.ledger),
        ranges_(call.ledger),
        legs_(call.ledger) {
    flows_.reserve(destinations.size());
    ranges_.reserve(destinations.size());
    legs_.reserve(destinations.size());
    std::uint64_t first = 0;
    for (const Peer& peer : destinations) {
      flows_.push_back({first, 0});
      first += peer.count;
    }
  }

  /// Before each step: makes own objects ready, if there are none.
  virtual void prepare() {}
  /// Own objects for a destination that can be sent now.
  [[nodiscard]] virtual std::uint64_t ready(std::size_t pair) const { return left_of(pair); }
  [[nodiscard]] std::uint64_t left_of(std::size_t pair) const {
    return destinations_[pair].count - flows_[pair].sent;
  }
  /// Their sizes.
  [[nodiscard]] ObjectSizes next_sizes(std::size_t pair) const {
    return sizes_.subspan(flows_[pair].first + flows_[pair].sent, ready(pair));
  }
  [[nodiscard]] std::span<const Peer> destinations() const { return destinations_; }

  /// The ranks that objects go to; `count` is ignored. By ascending rank.
  [[nodiscard]] std::span<const Peer> connections() const { return connections_; }
  /// Objects for a connection, those that wait here included.
  [[nodiscard]] std::uint64_t left(std::size_t connection) const {
    const int rank = connections_[connection].rank;
    const std::size_t pair = plan::flow_from(destinations_, rank);
    const bool own = pair < destinations_.size() && destinations_[pair].rank == rank;
    return parked_.waiting_for(rank) + (own ? left_of(pair) : 0);
  }

  /// Objects for `target` wait here from now on.
  void connect(int target) {
    const auto at = std::ranges::lower_bound(connections_, target, {}, &Peer::rank);
    if (at == connections_.end() || at->rank != target) connections_.insert(at, Peer{target, 0});
  }

  /// The objects that each connection wants in this step.
  void begin_step(std::span<const std::uint64_t> wanted) {
    clear();
    ranges_.clear();
    const auto behind =
        std::ranges::upper_bound(connections_, call_.channel.rank(), {}, &Peer::rank);
    const auto start = static_cast<std::size_t>(behind - connections_.begin());
    for (std::size_t k = 0; k < connections_.size(); ++k) {
      const std::size_t c = (start + k) % connections_.size();
      std::uint64_t objects = wanted[c];
      const int rank = connections_[c].rank;
      while (objects > 0) {
        const ParkedObjects::Piece piece = parked_.take(rank, objects);
        if (piece.sizes.empty()) break;
        legs_.push_back({c, 0, 0, piece.sizes, piece.data});
        objects -= piece.sizes.size();
      }
      if (objects > 0) add(c, plan::flow_from(destinations_, rank), objects);
    }
  }

  /// Begins the second part of a step, in which own objects go to ranks where they wait: the next
  /// `objects` for each destination to one of `takers`. After clear().
  void clear() {
    legs_.clear();
    leg_ = 0;
    first_ = end_ = 0;
  }

  void add(std::size_t taker, std::size_t pair, std::uint64_t objects) {
    Flow& flow = flows_[pair];
    const std::uint64_t first = flow.first + flow.sent;
    flow.sent += objects;
    legs_.push_back({taker, pair, first, sizes_.subspan(first, objects), nullptr});
    ranges_.push_back({destinations_[pair].rank, pair, first, first + objects, 0});
  }

  /// Own objects that leave in this step.
  [[nodiscard]] std::span<const StepRange> ranges() const { return ranges_; }

  [[nodiscard]] std::uint64_t cost_of_ranges(std::uint64_t object_bytes) const {
    std::uint64_t cost = 0;
    for (const StepRange& range : ranges_)
      cost += sum_of(sizes_.subspan(range.first, range.end - range.first)) +
              (range.end - range.first) * object_bytes;
    return cost;
  }

  bool next(Vector<OutgoingMessage>& messages) override {
    if (leg_ < legs_.size() && end_ == legs_[leg_].sizes.size()) {
      ++leg_;
      end_ = 0;
    }
    if (leg_ == legs_.size()) return false;
    const Leg& leg = legs_[leg_];
    first_ = end_;
    end_ = batch_end(leg.sizes, first_, chunk_, call_.message_object_bytes);
    const std::uint64_t bytes = sum_of(leg.sizes.subspan(first_, end_ - first_));
    if (bytes > 0) messages.push_back({leg.connection, bytes});
    return true;
  }

  void make(std::size_t buffer, std::span<OutgoingMessage> messages) override {
    Leg& leg = legs_[leg_];
    OutgoingMessage empty;
    OutgoingMessage& message = messages.empty() ? empty : messages.front();
    if (leg.data == nullptr) {
      message.data = own_objects(leg.pair, leg.first + first_, leg.first + end_, message.bytes,
                                 message.data, buffer);
    } else {
      message.data = leg.data;
      leg.data += message.bytes;
    }
  }

  [[nodiscard]] const Checksums& checksums() const { return checksums_; }
  /// Limit of a message.
  [[nodiscard]] std::uint64_t chunk() const { return chunk_; }
  [[nodiscard]] ParkedObjects& parked() { return parked_; }
  /// What the application did wrong in a callback, here or elsewhere; nothing is packed after it.
  std::optional<Diagnostic> diagnostic;

 protected:
  /// Memory of own packed objects, of `bytes` in all, that are the next of their pair.
  /// @param shared  Where the destination shares memory for them, or null.
  virtual std::byte* own_objects(std::size_t pair, std::uint64_t first, std::uint64_t end,
                                 std::uint64_t bytes, std::byte* shared, std::size_t buffer) = 0;

  struct Flow {
    std::uint64_t first = 0;  ///< first of its objects, sorted by rank
    std::uint64_t sent = 0;   ///< this step included
  };
  Call& call_;
  std::span<const Peer> destinations_;
  ObjectSizes sizes_;
  std::uint64_t chunk_;
  Vector<Flow> flows_;
  Checksums checksums_;

 private:
  /// Objects that go over one connection consecutive.
  struct Leg {
    std::size_t connection = 0;
    std::size_t pair = 0;     ///< for own objects
    std::uint64_t first = 0;  ///< first of own objects
    ObjectSizes sizes;
    std::byte* data = nullptr;  ///< null: own objects
  };

  ParkedObjects parked_;
  Vector<Peer> connections_;
  Vector<StepRange> ranges_;
  Vector<Leg> legs_;
  std::size_t leg_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  ///< objects of the leg in the next message
};

/// Where the objects of a step go: consecutive ranges, or where their offsets say.
enum class Placement { packed, by_offset };

class StepReceiver : public Incoming {
 public:
  /// @param sizes  Of all imports, by source.
  StepReceiver(const Call& call, Owner& owner, const ObjectSizes& sizes, std::uint64_t chunk,
               Placement placement)
      : call_(call),
        owner_(owner),
        sizes_(sizes),
        chunk_(chunk),
        placement_(placement),
        places_(call.ledger),
        cursors_(call.ledger) {}

  /// @param memory  Has room for everything that the step takes, or for all steps.
  void begin_step(const StepPlanner& planner, std::byte* memory) {
    ranges_ = planner.ranges();
    places_.resize(ranges_.size());
    cursors_.assign(planner.connections().size(), Cursor{});
    std::byte* behind = memory;
    std::size_t c = 0;
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      const StepRange& range = ranges_[r];
      places_[r] = placement_ == Placement::packed ? behind : memory + range.offset;
      behind += sum_of(sizes_.subspan(range.first, range.end - range.first));
      while (planner.connections()[c].rank < range.peer) ++c;
      if (cursors_[c].end == 0) cursors_[c] = {r, r, range.first, places_[r]};
      cursors_[c].end = r + 1;
    }
  }

  bool next(std::size_t peer, MemoryPiece& memory) override {
    Cursor& cursor = cursors_[peer];
    while (cursor.range < cursor.end) {
      const StepRange& range = ranges_[cursor.range];
      const std::uint64_t first = cursor.object;
      cursor.object = batch_end(sizes_.first(range.end), first, chunk_, call_.message_object_bytes);
      memory = {cursor.data, sum_of(sizes_.subspan(first, cursor.object - first))};
      cursor.data += memory.bytes;
      if (cursor.object == range.end && ++cursor.range < cursor.end) {
        cursor.object = ranges_[cursor.range].first;
        cursor.data = places_[cursor.range];
      }
      if (memory.bytes > 0) return true;
    }
    return false;
  }

  void arrived(std::uint64_t bytes) override { owner_.arrived(bytes); }

 private:
  struct Cursor {
    std::size_t range = 0;
    std::size_t end = 0;
    std::uint64_t object = 0;
    std::byte* data = nullptr;
  };
  const Call& call_;
  Owner& owner_;
  ObjectSizes sizes_;
  std::uint64_t chunk_;
  Placement placement_;
  std::span<const StepRange> ranges_;
  Vector<std::byte*> places_;  ///< for each range
  Vector<Cursor> cursors_;     ///< for each connection
};

}  // namespace valet::objects
