// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/map/flows.hpp>
#include <valet/mpi/channel.hpp>
#include <valet/mpi/neighbour_words.hpp>
#include <valet/storage/block_mover.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet {

/// Proves that every block arrived as it was sent: XXH3 of each block, seeded with its place in the
/// order of its flow, summed per flow at the source before and at the destination after. Blocks
/// that stay are seeded with their final slot. Memory: 8 bytes a neighbour and direction, and the
/// scratch.
template <class Index>
class Verification {
 public:
  Verification(const mpi::Channel& channel, Ledger& ledger, const Flows<Index>& flows);

  /// Sums over what is there before the exchange. Local.
  void before(BlockMover& mover, std::span<std::byte> scratch);
  /// Sums over what is there afterwards, and compares with the sources. Collective among
  /// neighbours. Returns what does not agree, if anything.
  [[nodiscard]] std::optional<Defect> after(BlockMover& mover, std::span<std::byte> scratch);

 private:
  /// One word for each neighbour: the sum of a flow.
  template <class Flow>
  struct Sums {
    const Vector<Flow>& flows;
    std::uint64_t* sums;
    [[nodiscard]] std::size_t size() const { return flows.size(); }
    [[nodiscard]] int rank(std::size_t i) const { return flows[i].rank; }
    [[nodiscard]] std::uint64_t count(std::size_t) const { return 1; }
    void provide(std::size_t i, std::uint64_t, std::span<std::uint64_t> words) const {
      words[0] = sums[i];
    }
    void consume(std::size_t i, std::uint64_t, std::span<const std::uint64_t> words) const {
      sums[i] = words[0];
    }
  };

  std::uint64_t staying(BlockMover& mover, std::span<std::byte> scratch, bool moved) const;

  const Flows<Index>& flows_;
  Array<std::uint64_t> sent_, expected_;
  std::uint64_t stayed_ = 0;
  mpi::NeighbourWords<Sums<Outgoing<Index>>, Sums<Incoming<Index>>> words_;
};

extern template class Verification<std::uint32_t>;
extern template class Verification<std::uint64_t>;

}  // namespace valet
