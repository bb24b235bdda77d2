// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::flows {

/// Looks at how an application packs its blocks before they are verified, because checksums are
/// taken of packed blocks. Guard bytes find a pack that writes past the size it declared. Bytes
/// that are no part of the content, such as the padding of a struct, are left out of all checksums:
/// those that differ when the same block is packed twice, and those that are the same in all blocks
/// of a rank and do not come along with a block of another rank. Memory: two bits for each byte of
/// a packed block.
class PackCheck {
 public:
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::size_t block_bytes) {
    return 2 * words_for(block_bytes) * sizeof(std::uint64_t);
  }

  /// @throws std::bad_alloc.
  PackCheck(Ledger& ledger, std::size_t block_bytes)
      : block_bytes_(block_bytes),
        unstable_(words_for(block_bytes), ledger),
        varies_(words_for(block_bytes), ledger) {}

  /// Looks at one more block; some are packed at a time. Local.
  /// @param scratch  For two packed blocks at least; nothing is looked at in less.
  void add(StorageBackend& backend, std::span<std::byte> scratch, SlotIndex slot);
  /// Looks at those that are left. What was written where it must not be, if anything.
  [[nodiscard]] std::optional<Diagnostic> finish(StorageBackend& backend,
                                                 std::span<std::byte> scratch);

  /// Whether a block of this rank can be given to the others.
  [[nodiscard]] bool has_sample() const { return seen_ > 0; }
  /// A block of rank `source`, unpacked into a free slot of each other rank, if there is one, and
  /// packed again. Collective.
  /// @param scratch  For one packed block; for two where there is a slot.
  void try_sample(const mpi::Channel& channel, StorageBackend& backend,
                  std::span<std::byte> scratch, int source, std::optional<SlotIndex> free_slot);
  /// What is left out on any rank is left out on all. Collective.
  void agree(const mpi::Channel& channel);

  /// Clears what is left out of checksums.
  void clear_unstable(std::byte* block) const;

 private:
  static constexpr std::size_t most_slots = 256;

  [[nodiscard]] static constexpr std::size_t words_for(std::size_t block_bytes) {
    return (block_bytes + 63) / 64;
  }
  [[nodiscard]] std::size_t most_at_a_time(std::span<std::byte> scratch) const;
  void look(StorageBackend& backend, std::span<std::byte> scratch);
  [[nodiscard]] bool writes_outside(StorageBackend& backend, std::span<std::byte> scratch,
                                    SlotList slots) const;
  [[nodiscard]] Diagnostic overrun(StorageBackend& backend, std::span<std::byte> scratch,
                                   SlotList slots) const;
  /// Sets the bits of bytes in which two packed blocks differ.
  void note_differences(Vector<std::uint64_t>& bits, const std::byte* a, const std::byte* b) const;

  std::size_t block_bytes_;
  Vector<std::uint64_t> unstable_;  ///< a bit for each byte: left out of checksums
  Vector<std::uint64_t> varies_;    ///< likewise: differs between blocks of this rank
  bool any_unstable_ = false;
  std::array<SlotIndex, most_slots> slots_{};
  std::size_t size_ = 0;
  SlotIndex first_slot_ = 0;
  std::uint64_t seen_ = 0;
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace valet::flows
