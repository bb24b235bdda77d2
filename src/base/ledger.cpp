// SPDX-License-Identifier: BSD-3-Clause
#include "base/lent_memory.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <new>

namespace valet {

void* Ledger::allocate(std::size_t bytes) {
  if (void* const lent = detail::LentMemory::serve(*this, bytes)) return lent;
  void* const memory = ::operator new(bytes);
  add(bytes);
  return memory;
}

void Ledger::deallocate(void* memory, std::size_t bytes) noexcept {
  if (detail::LentMemory::has_served(memory)) return;
  ::operator delete(memory);
  subtract(bytes);
}

void Ledger::add(std::size_t bytes) noexcept {
  current_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, current_bytes_);
}

void Ledger::subtract(std::size_t bytes) noexcept { current_bytes_ -= bytes; }

}  // namespace valet
