// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which blocks go to which ranks when other ranks are to hold them all, from the numbers of all
/// ranks alone. Holders are the first ranks; a share is how many blocks a rank gets. Bounds speak
/// of blocks that are numbered by rank and slot: rank r gets bounds[r] up to bounds[r + 1].

#include "schedule/repair.hpp"
#include <valet/export.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// Equal shares: the fullest holder is as empty as it can be; ties go to lower ranks.
/// @param holders  Without blocks; they have slots for all.
/// @param shares   One entry for each rank; 0 for those that are no holders.
VALET_EXPORT void share_equally(std::span<const RankLoad> holders, std::uint64_t blocks,
                                std::span<std::uint64_t> shares);
/// Gives the blocks that are left over after equal division to ranks that have them already.
/// @param holders  With the blocks that they have now.
VALET_EXPORT void keep_leftovers(std::span<const RankLoad> holders,
                                 std::span<std::uint64_t> shares);
/// Which ranks the blocks of rank `own` go to, so that the fewest move: the last ones it has.
/// @param loads  All ranks, with the blocks that they have now.
/// @param ranks  One entry for each block of the rank.
VALET_EXPORT void move_fewest(std::span<const RankLoad> loads,
                              std::span<const std::uint64_t> shares, int own, std::span<int> ranks);

/// The share that a block belongs to by weight, from 0: the one in which its middle lies.
/// @param below  The weights of all blocks before it.
/// @param all    Of all blocks, positive.
[[nodiscard]] VALET_EXPORT std::uint64_t share_of(double below, double weight, double all,
                                                  std::uint64_t shares);
/// Moves bounds as little as is needed for all shares to fit the slots of the holders, which have
/// room for all.
VALET_EXPORT void fit_bounds(std::span<const RankLoad> holders, std::span<std::int64_t> bounds);

}  // namespace valet::schedule
