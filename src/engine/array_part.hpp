// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One side of a redistribution on one rank, for those that carry it out.

#include "geometry/intersection.hpp"
#include "observe/observer.hpp"
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

/// Packs what leaves, and unpacks what arrives; the observer of the channel is told.
class ArrayCopies {
 public:
  ArrayCopies(const mpi::Channel& channel, std::size_t element_bytes, const OutgoingPart& leaving,
              const IncomingPart& arriving)
      : outgoing(leaving),
        incoming(arriving),
        observer(*observe::observer_of(channel)),
        element_bytes_(element_bytes) {}

  [[nodiscard]] std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }
  void pack(const SequenceCopy::Elements& elements, std::byte* packed) const {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::gather, "gather",
                                  {.bytes = bytes_of(elements.count)});
    outgoing.copy->pack(outgoing.array, elements, packed);
    observer.moved(static_cast<std::uint64_t>(elements.count));
  }
  void unpack(const SequenceCopy::Elements& elements, const std::byte* packed) const {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::scatter, "scatter",
                                  {.bytes = bytes_of(elements.count)});
    incoming.copy->unpack(packed, elements, incoming.array);
    observer.moved(static_cast<std::uint64_t>(elements.count));
  }

  const OutgoingPart outgoing;
  const IncomingPart incoming;
  observe::Observer& observer;

 private:
  std::size_t element_bytes_;
};

/// A rank that data goes to or comes from.
struct ArrayPeer {
  int rank = 0;
  int grid_rank = 0;
  std::int64_t elements = 0;
  std::int64_t done = 0;  ///< sent, or credited
};

/// Puts the ranks behind this one first, so that nobody is everybody's first.
inline void rotate_behind(Vector<ArrayPeer>& peers, int own_rank) {
  std::rotate(peers.begin(), std::ranges::upper_bound(peers, own_rank, {}, &ArrayPeer::rank),
              peers.end());
}

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

  /// Adds what moves.
  void report_to(Report& report, const ArrayCopies& copies) const {
    report.blocks_sent += static_cast<std::uint64_t>(elements_sent);
    report.bytes_sent += copies.bytes_of(elements_sent);
    report.blocks_received += static_cast<std::uint64_t>(elements_received);
    report.local_copies += static_cast<std::uint64_t>(own_elements);
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
