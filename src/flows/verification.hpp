// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "flows/pack_check.hpp"
#include "mpi/channel.hpp"
#include "mpi/neighbour_words.hpp"
#include "plan/holes.hpp"
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace valet::flows {

/// The hash of a block; the same on all ranks.
enum class BlockHash : std::uint8_t {
  xxh3,       ///< of the packed block: as fast as a core reads memory
  of_pieces,  ///< detail::piece_hash(), where a rank hashes its blocks on a device
};

/// Proves that every block arrived as it was sent: a hash of each block, seeded with its place in
/// the order of its flow, summed per flow at the source before and at the destination after. Blocks
/// that stay are seeded with their final slot. Memory: 24 bytes a neighbour, 48 more where
/// blocks land in order, and the scratch.
class Verification {
 public:
  Verification(const mpi::Channel& channel, Ledger& ledger, const plan::Flows& flows);

  /// Before all else, where the storage of some rank is the application's: looks at how blocks are
  /// packed. Collective. @throws Error on all ranks alike, before anything moves.
  /// @param packs    Whether this rank's blocks are packed by the application.
  /// @param failure  What the storage has thrown until now, if anything.
  void examine(const mpi::Channel& channel, Ledger& ledger, StorageBackend& backend,
               std::span<std::byte> scratch, bool packs,
               const std::function<std::optional<Diagnostic>()>& failure);
  /// Sums over what is there before the exchange. Local.
  void before(StorageBackend& backend, std::span<std::byte> scratch, BlockHash hash);
  /// Sums over what is there afterwards, and compares with the sources. Collective among
  /// neighbours. Returns what does not agree, if anything.
  [[nodiscard]] std::optional<Diagnostic> after(StorageBackend& backend,
                                                std::span<std::byte> scratch);

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

  [[nodiscard]] std::optional<Diagnostic> look_at_packs(StorageBackend& backend,
                                                        std::span<std::byte> scratch);
  [[nodiscard]] std::optional<SlotIndex> free_slot() const;
  [[nodiscard]] const PackCheck* packs() const { return packs_ ? &*packs_ : nullptr; }
  void sum_arrivals(StorageBackend& backend, std::span<std::byte> scratch);
  void sum_arrivals_in_order(StorageBackend& backend, std::span<std::byte> scratch);
  std::uint64_t staying(StorageBackend& backend, std::span<std::byte> scratch, bool moved) const;

  const plan::Flows& flows_;
  Array<std::uint64_t> sent_, expected_, arrived_;
  schedule::GrainOrder imports_;  ///< where blocks land in order
  plan::HoleWalk holes_;          ///< likewise
  BlockHash hash_ = BlockHash::xxh3;
  std::uint64_t stayed_ = 0;
  std::optional<PackCheck> packs_;  ///< where some rank's storage is the application's
  mpi::NeighbourWords<Sums<plan::Outgoing>, Sums<plan::Incoming>> words_;
};

}  // namespace valet::flows
