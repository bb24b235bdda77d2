// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "mpi/sparse_exchange.hpp"
#include "transport.hpp"

#include <xxhash.h>

#include <algorithm>
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
  void add(std::size_t peer, std::uint64_t number, const std::byte* object, int bytes) {
    flows_[peer].sum += XXH3_64bits_withSeed(object, static_cast<std::size_t>(bytes), number);
    ++flows_[peer].objects;
  }

  /// Sends the receivers the sums and compares it with what `received` has. Collective; a
  /// collective call must stand between it and the counts before. What does not agree, if
  /// anything.
  [[nodiscard]] std::optional<Diagnostic> compare(const mpi::Channel& channel, Ledger& ledger,
                                                  const Checksums& received) const {
    Vector<mpi::SparseCount> sent(ledger);
    Vector<mpi::SparseCount> announced(ledger);
    sent.reserve(peers_.size());
    for (std::size_t p = 0; p < peers_.size(); ++p)
      sent.push_back({peers_[p].rank, flows_[p].objects, flows_[p].sum});
    mpi::exchange_sparse_counts(channel, ledger, sent, announced);
    // A source may be in one of the lists only.
    std::size_t a = 0;
    std::size_t p = 0;
    while (a < announced.size() || p < received.peers_.size()) {
      const int source = a < announced.size() ? announced[a].rank : received.peers_[p].rank;
      const int rank =
          p < received.peers_.size() ? std::min(source, received.peers_[p].rank) : source;
      mpi::SparseCount packed;
      Flow arrived;
      if (a < announced.size() && announced[a].rank == rank) packed = announced[a++];
      if (p < received.peers_.size() && received.peers_[p].rank == rank)
        arrived = received.flows_[p++];
      if (auto diagnostic = compare_flow(rank, packed, arrived)) return diagnostic;
    }
    return std::nullopt;
  }

 private:
  struct Flow {
    std::uint64_t sum = 0;
    std::uint64_t objects = 0;
  };

  [[nodiscard]] static std::optional<Diagnostic> compare_flow(int rank,
                                                              const mpi::SparseCount& packed,
                                                              const Flow& arrived) {
    constexpr const char* advice = "; restart from a checkpoint and report this";
    if (packed.count != arrived.objects)
      return diagnose(ErrorCode::corrupted, "rank ", rank, " packed ", packed.count,
                      " objects for this rank, but ", arrived.objects, " arrived", advice);
    if (packed.detail != arrived.sum)
      return diagnose(ErrorCode::corrupted, "the ", packed.count, " packed objects of rank ", rank,
                      " are not what that rank packed", advice);
    return std::nullopt;
  }

  std::span<const Peer> peers_;  ///< ascending by rank
  Vector<Flow> flows_;
};

}  // namespace valet::zoltan
