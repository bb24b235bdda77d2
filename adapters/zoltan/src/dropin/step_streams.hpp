// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What goes out and comes in during one step of STEPS. Both ends of a pair cut the objects of the
/// step into messages by the same rule.

#include "arrivals.hpp"
#include "batches.hpp"
#include "checksums.hpp"
#include "context.hpp"
#include "step_planner.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Bytes of lists that an object needs while its message is packed; part of the rule.
[[nodiscard]] inline std::uint64_t message_object_bytes(const EntryCounts& entries) {
  return entries.bytes() + 3 * sizeof(int);
}

/// Objects of a pair of ranks in a step: places among all objects sorted by rank.
struct StepRange {
  std::size_t peer = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// Packs message by message, destination by destination, starting behind this rank.
class StepSender : public Outgoing {
 public:
  /// @param sizes  Rounded sizes of the exports, sorted by destination. @throws std::bad_alloc.
  StepSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
             const Scratch& scratch);

  /// The objects that each destination wants in this step; Transport::no_word: none.
  void begin_step(std::span<const std::uint64_t> wanted);
  [[nodiscard]] std::span<const StepRange> ranges() const { return ranges_; }
  [[nodiscard]] std::uint64_t left(std::size_t peer) const {
    return exports_.peers[peer].count - flows_[peer].sent;
  }

  [[nodiscard]] std::uint64_t messages_to(std::size_t peer) const override {
    return flows_[peer].messages;
  }
  bool fill(std::size_t buffer, Vector<OutgoingMessage>& messages) override;
  [[nodiscard]] std::size_t buffers() const override { return buffers_; }

  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_.size(); }
  [[nodiscard]] const Checksums& checksums() const { return checksums_; }
  /// What the application did wrong in a callback, here or elsewhere; nothing is packed after it.
  std::optional<Defect> defect;

 private:
  struct Flow {
    std::uint64_t first = 0;  ///< of its objects, sorted by rank
    std::uint64_t sent = 0;   ///< this step included
    std::uint64_t messages = 0;
  };
  struct Gathered {
    ObjectIds ids;
    int* destinations;
  };
  std::uint64_t message_end(std::uint64_t first, std::uint64_t end) const {
    return batch_end(sizes_.first(end), first, chunk_, object_bytes_);
  }
  Gathered gather(std::uint64_t first, std::uint64_t count);
  void pack(std::size_t peer, std::uint64_t first, std::uint64_t end, std::byte* memory);

  Context& context_;
  const ObjectList& exports_;
  std::span<const int> sizes_;
  std::uint64_t chunk_;
  std::uint64_t object_bytes_;
  Vector<Flow> flows_;
  Vector<StepRange> ranges_;
  Checksums checksums_;
  std::size_t range_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t capacity_ = 0;
  std::size_t buffers_ = 2;
  Array<std::byte> memory_;
  Array<int> again_, offsets_, destinations_;
  Array<ZOLTAN_ID_TYPE> gids_, lids_;
};

/// Receives the objects of a step one source behind another.
class StepReceiver : public Incoming {
 public:
  StepReceiver(Context& context, std::span<const Peer> sources, std::span<const int> sizes,
               std::uint64_t chunk);

  /// @param memory  Has room for everything that is granted.
  void begin_step(const StepPlanner& planner, std::span<const std::uint64_t> grants,
                  std::byte* memory);
  /// In the order in which they are unpacked.
  [[nodiscard]] std::span<const StepRange> ranges() const { return ranges_; }
  bool next(std::size_t peer, MemoryPiece& place) override;
  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }

 private:
  struct Cursor {
    std::uint64_t object = 0;
    std::uint64_t end = 0;
    std::byte* data = nullptr;
  };
  Context& context_;
  std::span<const int> sizes_;
  std::uint64_t chunk_;
  std::uint64_t object_bytes_;
  Vector<Cursor> cursors_;
  Vector<StepRange> ranges_;
};

}  // namespace valet::zoltan
