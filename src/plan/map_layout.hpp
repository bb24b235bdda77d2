// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans of maps that are layouts: what every rank needs to know follows from a few words of each
/// rank, so no rank sends another its counts.

#include "geometry/map_pattern.hpp"
#include "mpi/channel.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/map_counts.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace valet::plan {

/// What the maps of all ranks are together.
enum class MapLayout {
  none,
  patterns,  ///< every rank deals its blocks in a regular way
  blocks,    ///< ascending over all ranks, in blocks of any lengths
};

/// Whether to hold a table over the ranks: always when it is small against the 64 KiB of the
/// promise, otherwise only for maps that send from most ranks to many.
/// @param destinations  Summed over the ranks.
[[nodiscard]] bool worth_a_table(int ranks, std::uint64_t destinations);

/// The pattern in the map of this rank, whatever slots its blocks are in. Local.
[[nodiscard]] layout::MapPattern pattern_of(const MapCounts& map_counts, std::span<const int> map,
                                            int ranks);

/// What the ranks know of the patterns of all. [global]
struct JointPatterns {
  bool regular = false;          ///< all of them
  bool ascending = false;        ///< likewise
  std::uint64_t more_parts = 0;  ///< behind the first one of each, on all ranks together, at most
};
/// The same answer on every rank. Collective: two reductions where all ascend, but not as simply as
/// one part on each rank; else nothing.
[[nodiscard]] VALET_EXPORT MapLayout agree_on_layout(const mpi::Channel& channel,
                                                     const layout::MapPattern& mine,
                                                     const JointPatterns& all);

/// What the ranks sum up to find that: maps that are not regular, maps that do not ascend, parts
/// behind the first ones, destinations, bytes of a block, ranks that know these.
using MapSums = std::array<std::uint64_t, 6>;

/// What the ranks know of all maps before they know who sends to whom. [global]
struct JointMap {
  MapLayout layout = MapLayout::none;
  std::uint64_t degree = 0;       ///< other ranks that one sends to, on average, rounded up
  std::uint64_t block_bytes = 0;  ///< of a block, where all ranks that know it say the same
};

/// The same answer on every rank. Collective: one reduction, and those of agree_on_layout().
/// @param destinations  Other ranks that this one sends to. [local]
/// @param block_bytes   0 where this rank does not know them. [local]
[[nodiscard]] JointMap agree_on_map(const mpi::Channel& channel, const layout::MapPattern& mine,
                                    std::uint64_t destinations, std::uint64_t block_bytes);

/// So few ranks that a message from each to each takes no more steps than a reduction.
constexpr int few_ranks = 4;

/// All that agree_on_map() and exchange_sparse_counts() find, where there are few ranks: they tell
/// each other in one all-to-all what takes these two four to eight latencies.
class ToldMaps {
 public:
  /// @param mine, block_bytes  As for agree_on_map().
  /// @param leaving            What this rank sends to others, one count for each of them. [local]
  /// Collective over at most few_ranks.
  ToldMaps(const mpi::Channel& channel, const layout::MapPattern& mine, std::uint64_t block_bytes,
           std::span<const mpi::SparseCount> leaving);

  /// The same on every rank. Local.
  [[nodiscard]] JointMap joint() const;
  /// Lists what is sent to this rank, ascending by rank. @throws std::bad_alloc. Local.
  void list_arriving(Vector<mpi::SparseCount>& received) const;

 private:
  /// What a rank tells another one.
  struct Letter {
    MapSums sums{};
    int first_rank = layout::no_rank, last_rank = layout::no_rank;
    std::int64_t blocks = 0;              ///< in its map
    std::uint64_t count = 0, detail = 0;  ///< for that rank
  };

  int ranks_;
  std::array<Letter, few_ranks> from_{};
};

/// Computes what exchange_sparse_counts() would deliver. Collective: an allgather of 5 words; one
/// reduction more for the lengths of MapLayout::blocks, or for the parts behind the first ones.
///
/// Memory while it runs: 40 bytes per rank and 8 for each length or 24 for each part. There are at
/// most as many of these parts as keep it all within what is held back for when memory runs out (24
/// KiB), or on more than 500 ranks one for four ranks.
///
/// @param layout    patterns or blocks.
/// @param leaving   What this rank sends, one count for each destination; their details are all
///                  `detail`, below 2^32. [local]
/// @param received  Gets counts and details of all sources, ascending by rank; this rank is one of
///                  them where it is one of its destinations.
/// @return The bytes that it took.
/// @throws std::bad_alloc as exchange_sparse_counts().
VALET_EXPORT std::uint64_t compute_counts(const mpi::Channel& channel, Ledger& ledger,
                                          MapLayout layout, const layout::MapPattern& mine,
                                          std::span<const mpi::SparseCount> leaving,
                                          std::uint64_t detail, Vector<mpi::SparseCount>& received);

}  // namespace valet::plan
