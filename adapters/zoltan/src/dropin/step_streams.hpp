// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What goes out and comes in during one step. Both ends of a pair cut the objects of the step into
/// messages by the same rule.

#include "batches.hpp"
#include "checksums.hpp"
#include "context.hpp"
#include "parked_objects.hpp"
#include "step_planner.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Bytes of lists that an object needs while its message is packed; part of the rule.
[[nodiscard]] inline std::uint64_t message_object_bytes(const EntryCounts& entries) {
  return entries.bytes() + 3 * sizeof(int);
}

/// Sends message by message, rank by rank, starting behind this one: first what waits here for a
/// rank, then own objects in the order of the list.
class StepSender : public Outgoing {
 public:
  /// @param sizes  Rounded sizes of the exports, sorted by destination. @throws std::bad_alloc.
  StepSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
             std::uint64_t chunk);

  /// Before each step: makes own objects ready, if there are none.
  virtual void prepare() {}
  /// Own objects for a destination that can be sent now.
  [[nodiscard]] virtual std::uint64_t ready(std::size_t pair) const { return left_of(pair); }
  [[nodiscard]] std::uint64_t left_of(std::size_t pair) const {
    return exports_.peers[pair].count - flows_[pair].sent;
  }
  /// Their sizes.
  [[nodiscard]] std::span<const int> next_sizes(std::size_t pair) const {
    return sizes_.subspan(flows_[pair].first + flows_[pair].sent, ready(pair));
  }
  [[nodiscard]] std::span<const Peer> destinations() const { return exports_.peers; }

  /// The ranks that objects go to; `count` is ignored. By ascending rank.
  [[nodiscard]] std::span<const Peer> connections() const { return connections_; }
  /// Objects for a connection, those that wait here included.
  [[nodiscard]] std::uint64_t left(std::size_t connection) const;
  /// Objects for `target` wait here from now on.
  void connect(int target);

  /// The objects that each connection wants in this step.
  void begin_step(std::span<const std::uint64_t> wanted);
  /// Begins the second part of a step, in which own objects go to ranks where they wait: the next
  /// `objects` for each destination to one of `takers`. After clear().
  void clear();
  void add(std::size_t taker, std::size_t pair, std::uint64_t objects);

  /// Own objects that leave in this step.
  [[nodiscard]] std::span<const StepRange> ranges() const { return ranges_; }
  [[nodiscard]] std::uint64_t cost_of_ranges(std::uint64_t object_bytes) const;

  bool next(Vector<OutgoingMessage>& messages) override;
  void make(std::size_t buffer, std::span<OutgoingMessage> messages) override;

  [[nodiscard]] const Checksums& checksums() const { return checksums_; }
  /// Limit of a message.
  [[nodiscard]] std::uint64_t chunk() const { return chunk_; }
  [[nodiscard]] ParkedObjects& parked() { return parked_; }
  [[nodiscard]] const ParkedObjects& parked() const { return parked_; }
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
  Context& context_;
  const ObjectList& exports_;
  std::span<const int> sizes_;
  std::uint64_t chunk_;
  std::uint64_t object_bytes_;
  Vector<Flow> flows_;
  Checksums checksums_;

 private:
  /// Objects that go over one connection consecutive.
  struct Leg {
    std::size_t connection = 0;
    std::size_t pair = 0;     ///< for own objects
    std::uint64_t first = 0;  ///< first of own objects
    std::span<const int> sizes;
    std::byte* data = nullptr;  ///< null: own objects
  };
  [[nodiscard]] std::uint64_t message_end(std::span<const int> sizes, std::uint64_t first) const {
    return batch_end(sizes, first, chunk_, object_bytes_);
  }

  ParkedObjects parked_;
  Vector<Peer> connections_;
  Vector<StepRange> ranges_;
  Vector<Leg> legs_;
  std::size_t leg_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  ///< objects of the leg in the next message
};

/// STEPS: packs a message when it is its turn.
class PackingSender final : public StepSender {
 public:
  PackingSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
                const Scratch& scratch);
  [[nodiscard]] std::size_t buffers() const override { return buffers_; }
  /// Memory for packed objects.
  [[nodiscard]] std::uint64_t memory_bytes() const { return buffers_ * capacity_; }
  /// Takes it. @throws std::bad_alloc.
  void allocate() { context_.workspace.sent.reserve(memory_bytes(), 2 * chunk_); }

 private:
  struct Gathered {
    ObjectIds ids;
    int* destinations;
  };
  std::byte* own_objects(std::size_t pair, std::uint64_t first, std::uint64_t end,
                         std::uint64_t bytes, std::byte* shared, std::size_t buffer) override;
  Gathered gather(std::uint64_t first, std::uint64_t count);
  void pack(std::size_t pair, std::uint64_t first, std::uint64_t end, std::byte* memory);

  std::uint64_t capacity_ = 0;
  std::size_t buffers_ = 2;
  Array<int> again_, offsets_, destinations_;
  Array<ZOLTAN_ID_TYPE> gids_, lids_;
};

/// Where the objects of a step go: consecutive ranges, or where their offsets say.
enum class Placement { packed, by_offset };

class StepReceiver : public Incoming {
 public:
  /// @param sizes  Of all imports, by source.
  StepReceiver(Context& context, std::span<const int> sizes, std::uint64_t chunk,
               Placement placement);

  /// @param memory  Has room for everything that the step takes, or for all steps.
  void begin_step(const StepPlanner& planner, std::byte* memory);
  bool next(std::size_t peer, MemoryPiece& memory) override;
  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }

 private:
  struct Cursor {
    std::size_t range = 0;
    std::size_t end = 0;
    std::uint64_t object = 0;
    std::byte* data = nullptr;
  };
  Context& context_;
  std::span<const int> sizes_;
  std::uint64_t chunk_;
  std::uint64_t object_bytes_;
  Placement placement_;
  std::span<const StepRange> ranges_;
  Vector<std::byte*> places_;  ///< for each range
  Vector<Cursor> cursors_;     ///< for each connection
};

}  // namespace valet::zoltan
