// SPDX-License-Identifier: BSD-3-Clause
#include "storage/guarded_backend.hpp"

namespace valet::storage {

void GuardedBackend::gather(SlotList from, std::byte* packed) {
  failure_.attempt("packing blocks (StorageBackend::gather)",
                   [&] { backend_.gather(from, packed); });
}

void GuardedBackend::scatter(const std::byte* packed, SlotList to) {
  failure_.attempt("unpacking blocks (StorageBackend::scatter)",
                   [&] { backend_.scatter(packed, to); });
}

void GuardedBackend::copy(SlotList from, SlotList to, std::span<std::byte> scratch) {
  failure_.attempt("copying blocks (StorageBackend::copy)",
                   [&] { backend_.copy(from, to, scratch); });
}

void GuardedBackend::pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const {
  const std::size_t before = list.size();
  if (!failure_.attempt("finding a block in memory (StorageBackend::pieces)",
                        [&] { backend_.pieces(slot, list); }))
    list.resize(before);
}

}  // namespace valet::storage
