// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

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
  void add(StorageBackend& backend, std::span<std::byte> scratch, SlotIndex slot) {
    if (seen_++ == 0) first_slot_ = slot;
    slots_[size_++] = slot;
    if (size_ >= most_at_a_time(scratch)) look(backend, scratch);
  }
  /// Looks at those that are left. What was written where it must not be, if anything.
  [[nodiscard]] std::optional<Diagnostic> finish(StorageBackend& backend,
                                                 std::span<std::byte> scratch) {
    look(backend, scratch);
    return diagnostic_;
  }

  /// Whether a block of this rank can be given to the others.
  [[nodiscard]] bool has_sample() const { return seen_ > 0; }
  /// A block of rank `source`, unpacked into a free slot of each other rank, if there is one, and
  /// packed again. Collective.
  /// @param scratch  For one packed block; for two where there is a slot.
  void try_sample(const mpi::Channel& channel, StorageBackend& backend,
                  std::span<std::byte> scratch, int source, std::optional<SlotIndex> free_slot) {
    const std::span<std::byte> sample = scratch.first(block_bytes_);
    std::ranges::fill(sample, std::byte{0});
    if (channel.rank() == source) backend.gather({&first_slot_, 1}, sample.data());
    mpi::broadcast(channel, sample, source);
    if (channel.rank() == source || !free_slot || seen_ < 2) return;
    const SlotList slot(&*free_slot, 1);
    const std::span<std::byte> again = scratch.subspan(block_bytes_, block_bytes_);
    backend.scatter(sample.data(), slot);
    std::ranges::fill(again, std::byte{0});
    backend.gather(slot, again.data());
    // A member that unpack forgets differs between blocks, and must not be left out.
    for (std::size_t i = 0; i < block_bytes_; ++i)
      if (sample[i] != again[i] && !has_bit(varies_, i))
        unstable_[i / 64] |= std::uint64_t{1} << i % 64;
  }
  /// What is left out on any rank is left out on all. Collective.
  void agree(const mpi::Channel& channel) {
    mpi::unite(channel, unstable_);
    any_unstable_ = std::ranges::any_of(unstable_, [](std::uint64_t word) { return word != 0; });
  }

  /// Clears what is left out of checksums.
  void clear_unstable(std::byte* block) const {
    if (!any_unstable_) return;
    for (std::size_t i = 0; i < block_bytes_; ++i)
      if (has_bit(unstable_, i)) block[i] = std::byte{0};
  }

 private:
  static constexpr std::size_t most_slots = 256;
  static constexpr std::size_t guard_bytes = 64;

  /// Other bytes at neighbouring places, none of them zero, which is what packs write most often.
  static std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xA5 ^ (i & 0x3F)); }
  static bool has_bit(const Vector<std::uint64_t>& bits, std::size_t i) {
    return (bits[i / 64] >> i % 64 & 1) != 0;
  }
  /// Writes over what earlier calls have left below this frame: there a function that packs has its
  /// variables, and the padding of a struct among them is whatever is there, also when it is
  /// copied.
  [[gnu::noinline]] static void fill_stack(unsigned char value) {
    constexpr std::size_t depth = 8192;
    unsigned char below[depth];
    std::fill_n(below, depth, value);
    // The compiler must take it for used.
    asm volatile("" : : "r"(below) : "memory");
  }

  [[nodiscard]] static constexpr std::size_t words_for(std::size_t block_bytes) {
    return (block_bytes + 63) / 64;
  }
  [[nodiscard]] std::size_t most_at_a_time(std::span<std::byte> scratch) const {
    return std::min(scratch.size() / block_bytes_ / 2, most_slots);
  }
  /// Packs in the order of the slots, then in reverse, so that what depends on the place or the
  /// time of a pack differs. The first block is in every list: all others are compared with it.
  void look(StorageBackend& backend, std::span<std::byte> scratch) {
    const std::size_t count = std::exchange(size_, 0);
    const std::size_t bytes = count * block_bytes_;
    if (count == 0 || diagnostic_ || scratch.size() < 2 * bytes) return;
    const std::span<SlotIndex> slots = std::span(slots_).first(count);
    if (writes_outside(backend, scratch, slots)) {
      diagnostic_ = overrun(backend, scratch, slots);
      return;
    }
    std::ranges::reverse(slots);
    std::byte* const again = scratch.data() + bytes;
    std::fill_n(again, bytes, std::byte{0});
    fill_stack(0xAA);
    backend.gather(slots, again);
    for (std::size_t k = 0; k < count; ++k) {
      const std::byte* const block = scratch.data() + k * block_bytes_;
      note_differences(unstable_, block, again + (count - 1 - k) * block_bytes_);
      note_differences(varies_, block, scratch.data());
    }
    if (most_at_a_time(scratch) < 2) return;
    slots_[0] = first_slot_;
    size_ = 1;
  }
  [[nodiscard]] bool writes_outside(StorageBackend& backend, std::span<std::byte> scratch,
                                    SlotList slots) const {
    const std::size_t bytes = slots.size() * block_bytes_;
    const std::span<std::byte> guard =
        scratch.subspan(bytes, std::min(guard_bytes, scratch.size() - bytes));
    std::fill_n(scratch.data(), bytes, std::byte{0});
    for (std::size_t i = 0; i < guard.size(); ++i) guard[i] = guard_byte(i);
    fill_stack(0x55);
    backend.gather(slots, scratch.data());
    for (std::size_t i = 0; i < guard.size(); ++i)
      if (guard[i] != guard_byte(i)) return true;
    return false;
  }
  [[nodiscard]] Diagnostic overrun(StorageBackend& backend, std::span<std::byte> scratch,
                                   SlotList slots) const {
    const auto wrong = std::ranges::find_if(slots, [&](const SlotIndex& slot) {
      return writes_outside(backend, scratch, {&slot, 1});
    });
    const SlotIndex slot = wrong != slots.end() ? *wrong : slots.back();
    return invalid("packing the block in slot ", slot, " writes past its ", block_bytes_,
                   " bytes (pack or gather); write no more, or "
                   "make the storage with the bytes that a packed block has; nothing has moved");
  }
  /// Sets the bits of bytes in which two packed blocks differ.
  void note_differences(Vector<std::uint64_t>& bits, const std::byte* a, const std::byte* b) const {
    if (std::equal(a, a + block_bytes_, b)) return;
    for (std::size_t i = 0; i < block_bytes_; ++i)
      if (a[i] != b[i]) bits[i / 64] |= std::uint64_t{1} << i % 64;
  }

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
