// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "objects/transport.hpp"

#include <xxhash.h>

#include <cstdint>
#include <new>
#include <optional>
#include <span>

namespace valet::objects {

/// Proves that packed objects arrive as they were packed: for each pair of ranks the sum of XXH3 of
/// every object, seeded with its number in the stream of the pair. 24 bytes a peer.
class Checksums {
 public:
  Checksums(Ledger& ledger, std::span<const Peer> peers) : sums_(ledger) {
    sums_.reserve(peers.size());
    for (const Peer& peer : peers) sums_.push_back({.rank = peer.rank});
  }

  /// Adds the next object to or from a peer.
  void add(std::size_t peer, const std::byte* object, std::uint64_t bytes) {
    add(peer, sums_[peer].count, object, bytes);
  }
  /// Adds object `number` of those, in any order.
  void add(std::size_t peer, std::uint64_t number, const std::byte* object, std::uint64_t bytes) {
    sums_[peer].detail += XXH3_64bits_withSeed(object, bytes, number);
    ++sums_[peer].count;
  }

  /// Sends the receivers the sums and compares it with what `received` has. Collective; a
  /// collective call must stand between it and the counts before. What does not agree, or that
  /// there was no memory to find out, if anything.
  [[nodiscard]] std::optional<Diagnostic> compare(const mpi::Channel& channel, Ledger& ledger,
                                                  const Checksums& received) const {
    Vector<mpi::SparseCount> announced(ledger);
    try {
      mpi::exchange_sparse_counts(channel, ledger, sums_, announced);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      return Diagnostic{ErrorCode::out_of_memory,
                        "no memory for the checksums of what has arrived"};
    }
    return first_difference(announced, received.sums_, compare_sums);
  }

 private:
  [[nodiscard]] static std::optional<Diagnostic> compare_sums(const mpi::SparseCount& packed,
                                                              const mpi::SparseCount& arrived) {
    constexpr const char* advice = "; restart from a checkpoint and report this";
    if (packed.count != arrived.count)
      return diagnose(ErrorCode::corrupted, "rank ", packed.rank, " packed ", packed.count,
                      " objects for this rank, but ", arrived.count, " arrived", advice);
    if (packed.detail != arrived.detail)
      return diagnose(ErrorCode::corrupted, "the ", packed.count, " packed objects of rank ",
                      packed.rank, " are not what that rank packed", advice);
    return std::nullopt;
  }

  Vector<mpi::SparseCount> sums_;  ///< ascending by rank: the objects, and their sum
};

}  // namespace valet::objects
