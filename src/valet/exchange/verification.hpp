// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/map/flows.hpp>
#include <valet/mpi/channel.hpp>
#include <valet/storage/block_mover.hpp>

#include <cstdint>
#include <optional>

namespace valet {

/// Proves that every block arrived as it was sent: XXH3 of each block, seeded with its place in the
/// order of its flow, summed per flow at the source before and at the destination after. Blocks
/// that stay are seeded with their final slot. Memory: 8 bytes a destination, and the scratch.
template <class Index>
class Verification {
 public:
  Verification(Ledger& ledger, const Flows<Index>& flows);

  /// Sums over what is there before the exchange. Local.
  void before(BlockMover& mover, std::span<std::byte> scratch);
  /// Sums over what is there afterwards, and compares with the sources. Collective among
  /// neighbours. Returns what does not agree, if anything.
  [[nodiscard]] std::optional<Defect> after(const mpi::Channel& channel, Ledger& ledger,
                                            BlockMover& mover, std::span<std::byte> scratch);

 private:
  std::uint64_t staying(BlockMover& mover, std::span<std::byte> scratch, bool moved) const;

  const Flows<Index>& flows_;
  Array<std::uint64_t> sent_;
  std::uint64_t stayed_ = 0;
};

extern template class Verification<std::uint32_t>;
extern template class Verification<std::uint64_t>;

}  // namespace valet
