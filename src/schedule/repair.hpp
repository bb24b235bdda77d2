// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which blocks get another destination where a map gives ranks more than their slots, from counts
/// alone. All excess blocks stand in one line, in the order of the ranks that give them up, of
/// their sources, and of slots. The room that is taken stands in another, in the order of ranks.
/// The block at a position of the first line goes to the rank at that position of the second.

#include <valet/export.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// The blocks that a map gives a rank, and the slots that it has.
struct RankLoad {
  std::uint64_t blocks = 0;
  std::uint64_t slots = 0;

  [[nodiscard]] std::uint64_t excess() const { return blocks > slots ? blocks - slots : 0; }
  [[nodiscard]] std::uint64_t room() const { return slots > blocks ? slots - blocks : 0; }
};

/// The loads of several ranks together.
struct LoadSum {
  std::uint64_t blocks = 0;
  std::uint64_t slots = 0;  ///< as blocks, detail::most_bytes + 1 where there are more
  std::uint64_t excess = 0;
};
[[nodiscard]] VALET_EXPORT LoadSum sum_of(std::span<const RankLoad> loads);

/// Fills room with `excess` blocks so that the fullest rank that takes some is as empty as it can
/// be; ties go to lower ranks. There must be room for them.
/// @param ends  As many entries as loads. Gets the position behind what each rank takes. Time:
/// O(ranks * log of blocks).
VALET_EXPORT void fill_room(std::span<const RankLoad> loads, std::uint64_t excess,
                            std::span<std::uint64_t> ends);

/// Divides `excess` of `blocks` among the sources that they come from, in proportion: each share is
/// less than one block off, none is more than the source has, and they sum to the excess.
class ProportionalShares {
 public:
  /// @param blocks  Those of all sources, at least 1, and no less than `excess`.
  ProportionalShares(std::uint64_t excess, std::uint64_t blocks)
      : excess_(excess), blocks_(blocks) {}
  /// The share of the next source, which has `blocks` of them.
  [[nodiscard]] std::uint64_t next(std::uint64_t blocks) {
    const std::uint64_t before = up_to(seen_);
    seen_ += blocks;
    return up_to(seen_) - before;
  }

 private:
  [[nodiscard]] std::uint64_t up_to(std::uint64_t seen) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{seen} * excess_ / blocks_);
  }

  std::uint64_t excess_;
  std::uint64_t blocks_;
  std::uint64_t seen_ = 0;
};

/// The last blocks of a flow, which get another destination.
struct FlowChange {
  int rank = 0;             ///< where they were sent
  std::uint64_t first = 0;  ///< position of the first of them in the line
  std::uint64_t count = 0;
};

/// Gives blocks of one rank their new destinations, the last ones of each flow.
/// @param ranks    The map of this rank, corrected in place.
/// @param mask     Which of its entries are blocks; empty where all are.
/// @param changes  Ascending by rank, each with no more blocks than the map has for that rank; used
///                 up.
/// @param ends     From fill_room().
VALET_EXPORT void change_destinations(std::span<int> ranks, std::span<const std::uint8_t> mask,
                                      std::span<FlowChange> changes,
                                      std::span<const std::uint64_t> ends);

}  // namespace valet::schedule
