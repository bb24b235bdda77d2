// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/sparse_exchange.hpp"
#include "transport.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Proves that packed objects arrive as they were packed: for each pair of ranks the sum of XXH3 of
/// every object, seeded with its number in the stream of the pair. 16 bytes a peer.
class Checksums {
 public:
  Checksums(Ledger& ledger, std::span<const Peer> peers)
      : peers_(peers), flows_(peers.size(), ledger) {}

  /// Adds the next object to or from a peer.
  void add(std::size_t peer, const std::byte* object, int bytes) {
    add(peer, flows_[peer].objects, object, bytes);
  }
  /// Adds object `number` of those, in any order.
  void add(std::size_t peer, std::uint64_t number, const std::byte* object, int bytes);

  /// Sends the receivers the sums and compares it with what `received` has. Collective; a
  /// collective call must stand between it and the counts before. What does not agree, if
  /// anything.
  [[nodiscard]] std::optional<Diagnostic> compare(const mpi::Channel& channel, Ledger& ledger,
                                                  const Checksums& received) const;

 private:
  struct Flow {
    std::uint64_t sum = 0;
    std::uint64_t objects = 0;
  };
  [[nodiscard]] static std::optional<Diagnostic> compare_flow(int rank,
                                                              const mpi::SparseCount& packed,
                                                              const Flow& arrived);

  std::span<const Peer> peers_;  ///< ascending by rank
  Vector<Flow> flows_;
};

}  // namespace valet::zoltan
