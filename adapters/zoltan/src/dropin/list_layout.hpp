// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Lists that are a layout, as LB_METHOD CYCLIC and BLOCK make them: how many objects every rank
/// sends to which follows from a few words of each, so that they need not be announced.

#include "base/memory_reserve.hpp"
#include "geometry/cyclic_distribution.hpp"
#include "lists.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/sparse_exchange.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace valet::zoltan {

/// Bytes that compute_announced() takes while it runs.
[[nodiscard]] constexpr std::uint64_t list_layout_bytes(int ranks) {
  return 40 * static_cast<std::uint64_t>(ranks);
}

/// What one rank tells all others of its list.
struct ListDescription {
  layout::CyclicDistribution distribution;
  /// The rank that is left out, where objects that stay are not listed.
  std::int64_t without = layout::no_rank;

  /// Objects for a rank: ASPEN's adjacent pieces for adjacent ranks (paper, section 4.4).
  [[nodiscard]] std::uint64_t count_of(int rank, int ranks) const {
    if (distribution.count == 0 || rank == without) return 0;
    const auto left_out = static_cast<int>(without);
    return static_cast<std::uint64_t>(distribution.count_of(
        layout::number_without(rank, left_out), ranks - (left_out == layout::no_rank ? 0 : 1)));
  }
};
static_assert(sizeof(ListDescription) == list_layout_bytes(1));

/// As many ranks as may be told of everyone's list in a few KiB, or whom everyone sends to anyway.
inline bool pays(int ranks, std::size_t peers) {
  constexpr int few = 512;
  constexpr std::size_t many = 16;  // one rank in so many is a peer
  return ranks <= few || peers * many >= static_cast<std::size_t>(ranks);
}

/// What a list is, seen from its rank.
struct ListPattern {
  /// Whether the objects go to the other ranks in turn, in blocks, and it pays to tell all ranks.
  bool is_layout = false;
  ListDescription list;
};

/// Looks once at a list, up to the first object that cannot be of a layout. Local.
[[nodiscard]] inline ListPattern pattern_of(const ObjectList& list, int rank, int ranks) {
  ListPattern pattern;
  if (!pays(ranks, list.peers.size())) return pattern;
  const std::size_t own = list.peer_of(rank);
  if (own == list.peers.size() || list.peers[own].rank != rank) pattern.list.without = rank;
  if (list.count == 0) {
    pattern.is_layout = true;
    return pattern;
  }
  const layout::MapPattern found =
      layout::recognise({list.procs, static_cast<std::size_t>(list.count)}, ranks,
                        static_cast<int>(pattern.list.without));
  pattern.is_layout = found.periodic;
  pattern.list.distribution = found.distribution;
  return pattern;
}

/// Computes what exchange_sparse_counts() would deliver. Collective: a gather of 5 words of every
/// rank.
/// @param mine  Of a layout, on every rank.
/// @throws std::bad_alloc as exchange_sparse_counts().
inline void compute_announced(const mpi::Channel& channel, Ledger& ledger,
                              const ListDescription& mine, Vector<mpi::SparseCount>& received) {
  const int ranks = channel.size();
  Array<ListDescription> all(ledger, static_cast<std::size_t>(ranks));
  mpi::gather_everywhere(channel, std::as_bytes(std::span(&mine, 1)),
                         std::as_writable_bytes(std::span(all)));
  const auto count_of = [&](const ListDescription& list) {
    return list.count_of(channel.rank(), ranks);
  };
  const valet::detail::LeaveReserve leave;
  const auto sources = std::ranges::count_if(
      all, [](auto count) { return count > 0; }, count_of);
  received.reserve(static_cast<std::size_t>(sources));  // no more than it must be
  for (int rank = 0; rank < ranks; ++rank)
    if (const std::uint64_t count = count_of(all[static_cast<std::size_t>(rank)]); count > 0)
      received.push_back({rank, count});
}

}  // namespace valet::zoltan
