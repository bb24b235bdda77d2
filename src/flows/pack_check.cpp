// SPDX-License-Identifier: BSD-3-Clause
#include "flows/pack_check.hpp"

#include "mpi/agreement.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace valet::flows {
namespace {

constexpr std::size_t guard_bytes = 64;

/// Other bytes at neighbouring places, none of them zero, which is what packs write most often.
std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xA5 ^ (i & 0x3F)); }

bool has_bit(const Vector<std::uint64_t>& bits, std::size_t i) {
  return (bits[i / 64] >> i % 64 & 1) != 0;
}

/// Writes over what earlier calls have left below this frame: there a function that packs has its
/// variables, and the padding of a struct among them is whatever is there, also when it is copied.
[[gnu::noinline]] void fill_stack(unsigned char value) {
  constexpr std::size_t depth = 8192;
  unsigned char below[depth];
  std::fill_n(below, depth, value);
  // The compiler must take it for used.
  asm volatile("" : : "r"(below) : "memory");
}

}  // namespace

void PackCheck::note_differences(Vector<std::uint64_t>& bits, const std::byte* a,
                                 const std::byte* b) const {
  if (std::equal(a, a + block_bytes_, b)) return;
  for (std::size_t i = 0; i < block_bytes_; ++i)
    if (a[i] != b[i]) bits[i / 64] |= std::uint64_t{1} << i % 64;
}

std::size_t PackCheck::most_at_a_time(std::span<std::byte> scratch) const {
  return std::min(scratch.size() / block_bytes_ / 2, most_slots);
}

void PackCheck::add(StorageBackend& backend, std::span<std::byte> scratch, SlotIndex slot) {
  if (seen_++ == 0) first_slot_ = slot;
  slots_[size_++] = slot;
  if (size_ >= most_at_a_time(scratch)) look(backend, scratch);
}

std::optional<Diagnostic> PackCheck::finish(StorageBackend& backend, std::span<std::byte> scratch) {
  look(backend, scratch);
  return diagnostic_;
}

bool PackCheck::writes_outside(StorageBackend& backend, std::span<std::byte> scratch,
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

Diagnostic PackCheck::overrun(StorageBackend& backend, std::span<std::byte> scratch,
                              SlotList slots) const {
  const auto wrong = std::ranges::find_if(slots, [&](const SlotIndex& slot) {
    return writes_outside(backend, scratch, {&slot, 1});
  });
  const SlotIndex slot = wrong != slots.end() ? *wrong : slots.back();
  return {ErrorCode::invalid_argument,
          "packing the block in slot " + std::to_string(slot) + " writes past its " +
              std::to_string(block_bytes_) +
              " bytes (CustomFunctions::pack or StorageBackend::gather); write no more, or make "
              "the storage with the bytes that a packed block has; nothing has moved"};
}

/// Packs in the order of the slots, then in reverse, so that what depends on the place or the time
/// of a pack differs. The first block is in every list: all others are compared with it.
void PackCheck::look(StorageBackend& backend, std::span<std::byte> scratch) {
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

void PackCheck::try_sample(const mpi::Channel& channel, StorageBackend& backend,
                           std::span<std::byte> scratch, int source,
                           std::optional<SlotIndex> free_slot) {
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

void PackCheck::agree(const mpi::Channel& channel) {
  mpi::unite(channel, unstable_);
  any_unstable_ = std::ranges::any_of(unstable_, [](std::uint64_t word) { return word != 0; });
}

void PackCheck::clear_unstable(std::byte* block) const {
  if (!any_unstable_) return;
  for (std::size_t i = 0; i < block_bytes_; ++i)
    if (has_bit(unstable_, i)) block[i] = std::byte{0};
}

}  // namespace valet::flows
