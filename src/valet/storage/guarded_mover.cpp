// SPDX-License-Identifier: BSD-3-Clause
#include <valet/storage/guarded_mover.hpp>

namespace valet {

void GuardedMover::gather(SlotList from, std::byte* packed) {
  failure_.attempt("packing blocks (BlockMover::gather)", [&] { mover_.gather(from, packed); });
}

void GuardedMover::scatter(const std::byte* packed, SlotList to) {
  failure_.attempt("unpacking blocks (BlockMover::scatter)", [&] { mover_.scatter(packed, to); });
}

void GuardedMover::copy(SlotList from, SlotList to, std::span<std::byte> scratch) {
  failure_.attempt("copying blocks (BlockMover::copy)", [&] { mover_.copy(from, to, scratch); });
}

void GuardedMover::pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const {
  const std::size_t before = list.size();
  if (!failure_.attempt("finding a block in memory (BlockMover::pieces)",
                        [&] { mover_.pieces(slot, list); }))
    list.resize(before);
}

}  // namespace valet
