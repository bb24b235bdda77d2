// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One side of a redistribution on one rank, for those that carry it out.

#include "geometry/intersection.hpp"
#include "storage/sequence_copy.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::layout {

/// What one rank packs or unpacks. Pointers are null outside of the grid.
template <class Pointer>
struct ExchangePart {
  int own_rank = -1;  ///< this rank's number over there; -1 outside
  const SequenceCopy* copy = nullptr;
  Pointer array = nullptr;
};

using OutgoingPart = ExchangePart<const std::byte*>;
using IncomingPart = ExchangePart<std::byte*>;

/// A rank that data goes to or comes from.
struct ArrayPeer {
  int rank = 0;
  int grid_rank = 0;
  std::int64_t elements = 0;
  std::int64_t done = 0;  ///< sent, or credited
};

/// The ranks that this rank shares elements with, ascending, and how many; what it shares with
/// itself is counted apart.
struct ArrayPeers {
  /// @param sent, to        Null, where this rank has no part of the source.
  /// @param received, from  Likewise of the target.
  ArrayPeers(Ledger& ledger, int own_rank, const Intersection* sent, const GridLayout& to,
             const Intersection* received, const GridLayout& from)
      : destinations(ledger), sources(ledger) {
    if (sent != nullptr) elements_sent = list(destinations, *sent, to.ranks, own_rank);
    if (received != nullptr) elements_received = list(sources, *received, from.ranks, own_rank);
  }

  Vector<ArrayPeer> destinations, sources;
  std::int64_t own_elements = 0;
  std::int64_t elements_sent = 0, elements_received = 0;  ///< to and from others

 private:
  std::int64_t list(Vector<ArrayPeer>& peers, const Intersection& shared,
                    const std::vector<int>& ranks, int own_rank) {
    constexpr int few = 64;  // no need to look twice for them
    const int end = shared.theirs().ranks();
    std::int64_t count = end;
    if (end > few) {
      count = 0;
      for (int g = 0; g < end; ++g) count += shared.elements(g) > 0 ? 1 : 0;
    }
    peers.reserve(static_cast<std::size_t>(count));
    std::int64_t sum = 0;
    for (int g = 0; g < end; ++g) {
      const std::int64_t elements = shared.elements(g);
      if (elements == 0) continue;
      const int rank = ranks.empty() ? g : ranks[static_cast<std::size_t>(g)];
      if (rank == own_rank) {
        own_elements = elements;
        continue;
      }
      peers.push_back({.rank = rank, .grid_rank = g, .elements = elements});
      sum += elements;
    }
    std::ranges::sort(peers, {}, &ArrayPeer::rank);
    return sum;
  }
};

}  // namespace valet::layout
