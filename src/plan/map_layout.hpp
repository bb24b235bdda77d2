// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans of maps that are layouts: what every rank needs to know follows from a few words of each
/// rank, so no rank sends another its counts.

#include "geometry/cyclic_distribution.hpp"
#include "mpi/channel.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/map_counts.hpp"
#include <valet/ledger.hpp>

#include <cstdint>
#include <span>

namespace valet::plan {

/// What the maps of all ranks are together.
enum class MapLayout {
  none,
  cyclic,  ///< every rank distributes its blocks cyclically
  blocks,  ///< ascending over all ranks, in blocks of any lengths
};

/// Whether to hold a table over the ranks: always when it is small against the 64 KiB of the
/// promise, otherwise only for maps that send from most ranks to many.
/// @param destinations  Summed over the ranks.
[[nodiscard]] bool worth_a_table(int ranks, std::uint64_t destinations);

/// The pattern in the map of this rank; none when its blocks are not in its first slots. Local.
[[nodiscard]] layout::MapPattern pattern_of(const MapCounts& map_counts, std::span<const int> map,
                                            int ranks);

/// What the ranks know of all maps before they know who sends to whom. [global]
struct JointMap {
  MapLayout layout = MapLayout::none;
  std::uint64_t degree = 0;       ///< other ranks that one sends to, on average, rounded up
  std::uint64_t block_bytes = 0;  ///< of a block, where all ranks that know it say the same
};

/// The same answer on every rank. Collective: one reduction, and two more where all ascend.
/// @param destinations  Other ranks that this one sends to. [local]
/// @param block_bytes   0 where this rank does not know them. [local]
[[nodiscard]] JointMap agree_on_map(const mpi::Channel& channel, const layout::MapPattern& mine,
                                    std::uint64_t destinations, std::uint64_t block_bytes);

/// Computes what exchange_sparse_counts() would deliver. Collective: an allgather of 5 words, for
/// MapLayout::blocks also the lengths of the blocks. Memory while it runs: 48 bytes per rank.
///
/// @param layout    cyclic or blocks.
/// @param detail    What this rank sends its destinations [local].
/// @param received  Gets counts and details of all sources, ascending by rank.
void compute_counts(const mpi::Channel& channel, Ledger& ledger, MapLayout layout,
                    const layout::CyclicDistribution& mine, const MapCounts& map_counts,
                    std::uint64_t detail, Vector<mpi::SparseCount>& received);

}  // namespace valet::plan
