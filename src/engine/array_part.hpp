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
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace valet::layout {

/// A part of an array that a rank has, and what it shares with all of the other grid. A rank of a
/// block-cyclic grid has one, a rank of a general grid any number of cells.
struct ArrayCell {
  int grid_rank;
  Intersection shared;
  BlockCyclic::Extents strides;
  const std::byte* data;
  std::byte* room;  ///< the same, where it is written
};

/// Elements of a cell of this rank, a run of the sequence that it shares with one of the other
/// grid.
struct ArrayRun {
  int cell = 0;  ///< number in this rank's list
  SequenceCopy::Elements elements;
};

/// Copies out what leaves, and in what arrives.
class ArrayCopies {
 public:
  /// @param sent, received  Must live on. @param order  Of the sequences, on all ranks.
  ArrayCopies(const mpi::Channel& channel, std::size_t element_bytes,
              std::span<const ArrayCell> sent, std::span<const ArrayCell> received,
              IndexOrder order)
      : observer(*observe::observer_of(channel)),
        sent_(sent),
        received_(received),
        element_bytes_(element_bytes),
        order_(order) {}

  [[nodiscard]] std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }
  void copy_out(const ArrayRun& run, std::byte* packed) const {
    const ArrayCell& cell = sent_[static_cast<std::size_t>(run.cell)];
    SequenceCopy(cell.shared, {cell.strides, element_bytes_}, order_)
        .pack(cell.data, run.elements, packed);
  }
  void copy_in(const ArrayRun& run, const std::byte* packed) const {
    const ArrayCell& cell = received_[static_cast<std::size_t>(run.cell)];
    SequenceCopy(cell.shared, {cell.strides, element_bytes_}, order_)
        .unpack(packed, run.elements, cell.room);
  }

  observe::Observer& observer;

 private:
  std::span<const ArrayCell> sent_, received_;
  std::size_t element_bytes_;
  IndexOrder order_;
};

/// Packs a run, with a span in the trace; the observer is told.
template <class Copies>
void pack(const Copies& copies, const ArrayRun& run, std::byte* packed) {
  const observe::TraceSpan span(copies.observer.trace, observe::TraceKind::gather, "gather",
                                {.bytes = copies.bytes_of(run.elements.count)});
  copies.copy_out(run, packed);
  copies.observer.moved(static_cast<std::uint64_t>(run.elements.count));
}
/// The same for what has arrived.
template <class Copies>
void unpack(const Copies& copies, const ArrayRun& run, const std::byte* packed) {
  const observe::TraceSpan span(copies.observer.trace, observe::TraceKind::scatter, "scatter",
                                {.bytes = copies.bytes_of(run.elements.count)});
  copies.copy_in(run, packed);
  copies.observer.moved(static_cast<std::uint64_t>(run.elements.count));
}

/// A rank that data goes to or comes from, with one cell on either side. Where the two ranks have
/// several cells, they have as many of these in a row, by the cell of the source, then of the
/// target: data passes between them in that order.
struct ArrayPeer {
  int rank = 0;
  int grid_rank = 0;  ///< the cell over there
  int cell = 0;       ///< the cell here
  std::int64_t elements = 0;
  std::int64_t done = 0;   ///< sent, or credited
  std::int64_t begin = 0;  ///< where they begin in the sequence of the two cells

  [[nodiscard]] ArrayRun run(std::int64_t first, std::int64_t count) const {
    return {cell, {grid_rank, begin + first, count}};
  }
  [[nodiscard]] ArrayRun all() const { return run(0, elements); }
};

/// Puts the ranks behind this one first, so that nobody is everybody's first.
inline void rotate_behind(std::span<ArrayPeer> peers, int own_rank) {
  std::rotate(peers.begin(), std::ranges::upper_bound(peers, own_rank, {}, &ArrayPeer::rank),
              peers.end());
}

/// Calls action(peers) for those of each rank, which are together.
template <class Action>
void for_each_rank(std::span<ArrayPeer> peers, Action&& action) {
  while (!peers.empty()) {
    const auto other = std::ranges::find_if(
        peers, [rank = peers.front().rank](const ArrayPeer& peer) { return peer.rank != rank; });
    const auto count = static_cast<std::size_t>(other - peers.begin());
    action(peers.first(count));
    peers = peers.subspan(count);
  }
}

[[nodiscard]] inline std::size_t count_ranks(std::span<ArrayPeer> peers) {
  std::size_t ranks = 0;
  for_each_rank(peers, [&](auto) { ++ranks; });
  return ranks;
}

/// The ranks that this rank shares elements with, ascending, and how many; what it shares with
/// itself is apart.
class ArrayPeers {
 public:
  /// @param sent, received  Cells of this rank that have elements.
  ArrayPeers(Ledger& ledger, int own_rank, std::span<const ArrayCell> sent, const GridLayout& to,
             std::span<const ArrayCell> received, const GridLayout& from)
      : leaving_(ledger), arriving_(ledger) {
    list(leaving_, sent, to.ranks);
    list(arriving_, received, from.ranks);
    arrange(own_rank);
  }
  /// These, in any order.
  ArrayPeers(int own_rank, Vector<ArrayPeer>&& leaving, Vector<ArrayPeer>&& arriving)
      : leaving_(std::move(leaving)), arriving_(std::move(arriving)) {
    arrange(own_rank);
  }

  /// Adds what moves.
  template <class Copies>
  void report_to(Report& report, const Copies& copies) const {
    report.blocks_sent += static_cast<std::uint64_t>(elements_sent);
    report.bytes_sent += copies.bytes_of(elements_sent);
    report.blocks_received += static_cast<std::uint64_t>(elements_received);
    report.local_copies += static_cast<std::uint64_t>(own_elements);
  }
  [[nodiscard]] static std::int64_t sum_of(std::span<const ArrayPeer> peers) {
    std::int64_t sum = 0;
    for (const ArrayPeer& peer : peers) sum += peer.elements;
    return sum;
  }

  std::span<ArrayPeer> destinations, sources;
  std::span<ArrayPeer> own_sent, own_received;            ///< one for one
  std::int64_t elements_sent = 0, elements_received = 0;  ///< to and from others
  std::int64_t own_elements = 0;

 private:
  void arrange(int own_rank) {
    const auto is_own = [own_rank](const ArrayPeer& peer) { return peer.rank == own_rank; };
    std::ranges::sort(leaving_, {}, [&](const ArrayPeer& peer) {
      return std::tuple(is_own(peer), peer.rank, peer.cell, peer.grid_rank);
    });
    std::ranges::sort(arriving_, {}, [&](const ArrayPeer& peer) {
      return std::tuple(is_own(peer), peer.rank, peer.grid_rank, peer.cell);
    });
    std::tie(destinations, own_sent) = split(leaving_, is_own);
    std::tie(sources, own_received) = split(arriving_, is_own);
    elements_sent = sum_of(destinations);
    elements_received = sum_of(sources);
    own_elements = sum_of(own_sent);
  }
  static void list(Vector<ArrayPeer>& peers, std::span<const ArrayCell> cells,
                   const std::vector<int>& ranks) {
    constexpr int few = 64;  // no need to look twice for them
    const auto for_each = [&](auto&& action) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const Intersection& shared = cells[c].shared;
        for (int g = shared.next_peer(0); g < shared.theirs().ranks(); g = shared.next_peer(g + 1))
          action(static_cast<int>(c), g, shared);
      }
    };
    std::size_t count = 0;
    if (cells.size() == 1 && cells.front().shared.theirs().ranks() <= few)
      count = static_cast<std::size_t>(cells.front().shared.theirs().ranks());
    else
      for_each([&](int, int, const Intersection&) { ++count; });
    peers.reserve(count);
    for_each([&](int cell, int g, const Intersection& shared) {
      peers.push_back({.rank = ranks.empty() ? g : ranks[static_cast<std::size_t>(g)],
                       .grid_rank = g,
                       .cell = cell,
                       .elements = shared.elements(g)});
    });
  }
  /// Those of other ranks, and those behind them.
  template <class IsOwn>
  static std::pair<std::span<ArrayPeer>, std::span<ArrayPeer>> split(std::span<ArrayPeer> peers,
                                                                     const IsOwn& is_own) {
    const auto own = std::ranges::find_if(peers, is_own);
    const auto others = static_cast<std::size_t>(own - peers.begin());
    return {peers.first(others), peers.subspan(others)};
  }

  Vector<ArrayPeer> leaving_, arriving_;
};

}  // namespace valet::layout
