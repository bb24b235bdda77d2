// SPDX-License-Identifier: BSD-3-Clause
#include "base/lent_memory.hpp"

#include "base/sizes.hpp"

#include <algorithm>
#include <functional>

namespace valet::detail {
namespace {

thread_local LentMemory* lent = nullptr;

}  // namespace

LentMemory::LentMemory(const Ledger& ledger, std::span<std::byte> memory) noexcept
    : ledger_(&ledger), outer_(lent), memory_(memory) {
  lent = this;
}

LentMemory::~LentMemory() { lent = outer_; }

void* LentMemory::serve(const Ledger& ledger, std::size_t bytes) noexcept {
  LentMemory* from = lent;
  while (from != nullptr && from->ledger_ != &ledger) from = from->outer_;
  if (from == nullptr || bytes > from->memory_.size() - from->used_) return nullptr;
  constexpr std::size_t alignment = alignof(std::max_align_t);
  std::byte* const memory = from->memory_.data() + from->used_;
  from->used_ = std::min(from->memory_.size(), from->used_ + rounded_up(bytes, alignment));
  return memory;
}

bool LentMemory::has_served(const void* memory) noexcept {
  const std::less<const void*> before;
  for (const LentMemory* from = lent; from != nullptr; from = from->outer_)
    if (!before(memory, from->memory_.data()) &&
        before(memory, from->memory_.data() + from->memory_.size()))
      return true;
  return false;
}

}  // namespace valet::detail
