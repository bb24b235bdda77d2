// SPDX-License-Identifier: BSD-3-Clause
#include "charged_blocks.hpp"

#include "folded_memory.hpp"
#include <valet/mpi.hpp>

namespace valet::scale {
void charge_copy(std::uint64_t bytes, double bandwidth) {
  if (bytes > 0) smpi_execute_benched(static_cast<double>(bytes) / bandwidth);
}

void wait_until(double time) {
  const double seconds = time - MPI_Wtime();
  if (seconds > 0) smpi_execute_benched(seconds);
}

ChargedBlocks::ChargedBlocks(std::uint64_t slots, std::size_t block_bytes, double copy_bandwidth)
    : slots_(slots),
      block_bytes_(block_bytes),
      copy_bandwidth_(copy_bandwidth),
      data_(FoldedMemory::reserve(slots * block_bytes)) {}

std::uint64_t ChargedBlocks::identity(std::uint64_t slot) const {
  return FoldedMemory::identity(block(slot));
}

void ChargedBlocks::set_identity(std::uint64_t slot, std::uint64_t identity) {
  FoldedMemory::identity(block(slot)) = identity;
}

void ChargedBlocks::charge(std::uint64_t blocks) {
  const double start = MPI_Wtime();
  charge_copy(blocks * block_bytes_, copy_bandwidth_);
  copy_seconds_ += MPI_Wtime() - start;
}

void ChargedBlocks::gather(SlotList from, std::byte* packed) {
  for (const SlotIndex slot : from) {
    FoldedMemory::identity(packed) = identity(slot);
    packed += block_bytes_;
  }
  charge(from.size());
}

void ChargedBlocks::scatter(const std::byte* packed, SlotList to) {
  for (const SlotIndex slot : to) {
    set_identity(slot, FoldedMemory::identity(packed));
    packed += block_bytes_;
  }
  charge(to.size());
}

void ChargedBlocks::copy(SlotList from, SlotList to, std::span<std::byte> /*scratch*/) {
  for (std::size_t k = 0; k < from.size(); ++k) set_identity(to[k], identity(from[k]));
  charge(from.size());
}

void ChargedBlocks::pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const {
  list.push_back({block(slot), block_bytes_});
}

std::shared_ptr<std::byte> ChargedBlocks::allocate_scratch(std::size_t bytes) const {
  return {FoldedMemory::reserve(bytes), [](std::byte*) {}};
}

}  // namespace valet::scale
