// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "batches.hpp"
#include "checksums.hpp"
#include "context.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// The exports of HOLD, batch by batch. A batch is a run of the export list, so that every callback
/// sees stock Zoltan's order; within it the packed objects of a destination stand together, in the
/// order of the list.
class HoldBatches {
 public:
  /// Looks at all batches; packs nothing yet. @throws std::bad_alloc.
  HoldBatches(Context& context, const ObjectList& exports, std::span<int> sizes,
              std::uint64_t limit);

  /// What a destination has in a batch.
  struct Part {
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0;
    std::uint64_t last = 0;  ///< behind its last object, in the list
    std::uint64_t end = 0;   ///< where its packed objects end, in the memory of the batch
  };

  /// Calls visit(part) for every destination of every batch. Before the first is packed.
  template <class Visit>
  void look_at_all(Visit&& visit) {
    for (std::uint64_t first = 0; first < sizes_.size();) {
      const std::uint64_t end = batch_end(sizes_, first, limit_, object_bytes);
      look_at(first, end);
      for (const std::size_t peer : touched_) visit(parts_[peer]);
      first = end;
    }
  }
  /// Before the first batch is packed. @throws std::bad_alloc.
  void allocate();
  /// Goes on to the next batch. False when there is none.
  bool next();
  /// Packs it into `memory`, of capacity() bytes.
  void pack(std::byte* memory);
  /// Its destinations.
  [[nodiscard]] std::span<const std::size_t> touched() const { return touched_; }
  [[nodiscard]] const Part& part(std::size_t peer) const { return parts_[peer]; }

  [[nodiscard]] std::uint64_t count() const { return batches_; }
  /// Packed bytes of the largest batch, and what the lists of a batch take besides.
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t list_bytes() const { return most_objects_ * object_bytes; }
  /// What the application did wrong while packing, if anything.
  [[nodiscard]] const std::optional<Diagnostic>& diagnostic() const { return diagnostic_; }
  [[nodiscard]] const Checksums& checksums() const { return checksums_; }

 private:
  static constexpr std::uint64_t object_bytes = 2 * sizeof(int);

  std::size_t peer_at(std::uint64_t object);
  std::uint64_t look_at(std::uint64_t first, std::uint64_t end);
  void assign_offsets();
  void add_checksums(const std::byte* memory);

  Context& context_;
  const ObjectList& exports_;
  std::span<const int> sizes_;
  std::uint64_t limit_;
  Vector<Part> parts_;
  Vector<std::size_t> touched_;
  Checksums checksums_;
  std::size_t last_peer_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  ///< the batch's
  std::uint64_t batches_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t most_objects_ = 0;
  Array<int> batch_sizes_, batch_offsets_;
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace valet::zoltan
