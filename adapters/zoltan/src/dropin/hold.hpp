// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// HOLD: batches within the budget are packed in the order of the export list and sent; arrivals
/// stay packed until mid has run on all ranks. Every callback sees stock Zoltan's order.

#include "arrivals.hpp"
#include "batches.hpp"
#include "checksums.hpp"
#include "context.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Packs and sends batches. A batch is a run of the export list; within it the objects of a
/// destination stand together and are one message.
class HoldSender : public Outgoing {
 public:
  /// Marks in `sizes` the last object of every message; does not take its memory yet. Local.
  /// @throws std::bad_alloc.
  HoldSender(Context& context, const ObjectList& exports, std::span<int> sizes,
             const Scratch& scratch);

  [[nodiscard]] std::uint64_t messages_to(std::size_t peer) const override {
    return flows_[peer].messages;
  }
  bool fill(std::size_t buffer, Vector<OutgoingMessage>& messages) override;
  /// Before the first batch. @throws std::bad_alloc.
  void allocate();
  [[nodiscard]] std::size_t buffers() const override { return buffers_; }

  /// By how much an object larger than the budget raises it.
  [[nodiscard]] std::uint64_t raised_bytes() const { return raised_; }
  /// What the application did wrong while packing, if anything.
  [[nodiscard]] const std::optional<Defect>& defect() const { return defect_; }
  [[nodiscard]] const Checksums& checksums() const { return checksums_; }

 private:
  struct Flow {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  ///< of the batch at hand
    std::uint64_t last = 0;   ///< behind its last object in the batch at hand
    std::uint64_t start = 0;  ///< in the batch
  };
  static constexpr std::uint64_t object_bytes = 2 * sizeof(int);

  std::size_t peer_at(std::uint64_t object);
  /// Sums up flows_ over a batch and lists its destinations in touched_.
  std::uint64_t look_at(std::uint64_t first, std::uint64_t end);
  void place(std::uint64_t first, std::uint64_t end);
  void pack(std::uint64_t first, std::uint64_t end, std::byte* memory);
  [[nodiscard]] std::optional<Defect> ask_again(std::uint64_t first, std::uint64_t end);
  void add_checksums(std::uint64_t first, std::uint64_t end, const std::byte* memory);

  Context& context_;
  const ObjectList& exports_;
  std::span<int> sizes_;
  std::uint64_t limit_;
  Vector<Flow> flows_;
  Vector<std::size_t> touched_;
  Checksums checksums_;
  std::size_t last_peer_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t most_objects_ = 0;
  std::size_t buffers_ = 2;
  std::uint64_t raised_ = 0;
  Array<std::byte> memory_;
  Array<int> batch_sizes_, batch_offsets_;
  std::optional<Defect> defect_;
};

/// Receives every message at its final place among the held objects.
class HoldReceiver : public Incoming {
 public:
  HoldReceiver(Context& context, const Imports& imports, std::byte* held);
  bool next(std::size_t peer, MemoryPiece& place) override;
  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }

 private:
  struct Cursor {
    std::uint64_t object = 0;
    std::uint64_t end = 0;
    std::byte* data = nullptr;
  };
  Context& context_;
  const Imports& imports_;
  Vector<Cursor> cursors_;
};

/// From packing to unpacking. Collective. @throws Error on all ranks alike.
///
/// @param sizes    Rounded sizes of all exports, in the order of the list.
/// @param imports  Sources and counts are known; gets the sizes.
void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch);

}  // namespace valet::zoltan
