// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Lists that are a layout, as LB_METHOD CYCLIC and BLOCK make them: how many objects every rank
/// sends to which follows from a few words of each, so that they need not be announced.

#include "geometry/cyclic_distribution.hpp"
#include "lists.hpp"
#include "mpi/channel.hpp"
#include "mpi/sparse_exchange.hpp"
#include <valet/ledger.hpp>

#include <cstdint>

namespace valet::zoltan {

/// What a list is, seen from its rank.
struct ListPattern {
  /// Whether the objects go to the other ranks in turn, in blocks, and it pays to tell all ranks.
  bool is_layout = false;
  layout::CyclicDistribution distribution;
  /// The rank that is left out, where objects that stay are not listed; else layout::no_rank.
  int without = layout::no_rank;
};

/// Looks once at a list, up to the first object that cannot be of a layout. Local.
[[nodiscard]] ListPattern pattern_of(const ObjectList& list, int rank, int ranks);

/// Computes what announce() would deliver. Collective: a gather of 5 words of every rank.
/// @param mine  A layout, on every rank.
/// @throws std::bad_alloc as exchange_sparse_counts().
void compute_announced(const mpi::Channel& channel, Ledger& ledger, const ListPattern& mine,
                       Vector<mpi::SparseCount>& received);

/// Bytes that this takes while it runs.
[[nodiscard]] constexpr std::uint64_t list_layout_bytes(int ranks) {
  return 40 * static_cast<std::uint64_t>(ranks);
}

}  // namespace valet::zoltan
