// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Lists that are a layout, as LB_METHOD CYCLIC and BLOCK make them: how many objects every rank
/// sends to which follows from a few words of each, so that they need not be announced.

#include "geometry/map_pattern.hpp"
#include "lists.hpp"
#include "plan/map_layout.hpp"

#include <cstddef>

namespace valet::zoltan {

/// As many ranks as may be told of everyone's list in a few KiB, or whom everyone sends to anyway.
inline bool pays(int ranks, std::size_t peers) {
  constexpr int few = 512;
  constexpr std::size_t many = 16;  // one rank in so many is a peer
  return ranks <= few || peers * many >= static_cast<std::size_t>(ranks);
}

/// Looks once at a list, up to the first object that cannot be of a layout. None where it does not
/// pay to tell all ranks. Where objects that stay are not listed, the others are dealt to the other
/// ranks. Local.
[[nodiscard]] inline layout::MapPattern pattern_of(const ObjectList& list, int rank, int ranks) {
  if (!pays(ranks, list.peers.size())) return {};
  const std::size_t own = list.peer_of(rank);
  const bool is_listed = own < list.peers.size() && list.peers[own].rank == rank;
  return layout::recognise({list.procs, static_cast<std::size_t>(list.count)}, ranks,
                           is_listed ? layout::no_rank : rank);
}

}  // namespace valet::zoltan
