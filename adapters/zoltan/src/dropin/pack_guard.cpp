// SPDX-License-Identifier: BSD-3-Clause
#include "pack_guard.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

/// Other bytes at neighbouring places, none of them zero, which is what packs write most often.
std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xA5 ^ (i & 0x3F)); }

}  // namespace

std::uint64_t PackGuard::bytes_for(std::span<const int> sizes, bool together) {
  std::uint64_t bytes = 0;
  for (const int size : sizes) {
    const std::uint64_t guarded = static_cast<std::uint64_t>(size) + guard_bytes;
    bytes = together ? bytes + guarded : std::max(bytes, guarded);
  }
  return guard_bytes + bytes + margin_bytes;
}

PackGuard::PackGuard(Ledger& ledger, std::span<const int> sizes, bool together)
    : sizes_(sizes),
      together_(together),
      memory_(ledger, bytes_for(sizes, together)),
      offsets_(ledger, sizes.size()) {
  std::size_t next = guard_bytes;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    offsets_[k] = static_cast<int>(next);
    if (together) next += static_cast<std::size_t>(sizes[k]) + guard_bytes;
  }
  for (std::size_t i = 0; i < guard_bytes; ++i) memory_[i] = guard_byte(i);
}

void PackGuard::set(std::size_t k) {
  auto* const end = const_cast<std::byte*>(end_of(k));
  for (std::size_t i = 0; i < guard_bytes; ++i) end[i] = guard_byte(i);
}

bool PackGuard::is_intact(std::size_t k) const {
  const auto intact = [](const std::byte* guard) {
    for (std::size_t i = 0; i < guard_bytes; ++i)
      if (guard[i] != guard_byte(i)) return false;
    return true;
  };
  const bool is_first = k == 0 || !together_;
  return intact(end_of(k)) && (!is_first || intact(memory_.data()));
}

}  // namespace valet::zoltan
