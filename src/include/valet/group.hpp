// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks of a rank in the segments of its slots that they belong to: group().

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace valet {

/// Puts the blocks of this rank in place into segments of its slots: arrivals of a migration, which
/// took any free slots, into the levels or tiles that a key of theirs tells.
///
/// Local: no other rank takes part, and errors are thrown on this one alone. Afterwards the blocks
/// of segment k are in its first result[k] slots; what was there already stays where it is.
///
/// @param storage        The blocks, for instance of in_segments() with the same segments.
/// @param occupied       The slots that hold a block.
/// @param segments       segments[k]: the segment to which the block in slot k belongs, from 0;
///                       occupied.map_size() entries, those of free slots are ignored.
/// @param segment_slots  The slots of each segment: the first segment has the first slots of the
///                       storage, and so on.
/// @param options        As for plan_to_slots().
/// @return The blocks of each segment.
/// @throws Error invalid_argument (a segment that does not exist, lists of another length),
///         infeasible (a segment with fewer slots than blocks; the text gives both), and those of
///         plan_to_slots() and execute(). The data is unchanged if nothing has moved.
///
/// Memory: that of execute() with a map to slots, and 16 bytes for each entry of `segments`.
VALET_EXPORT std::vector<std::uint64_t> group(const BlockStorage& storage, const Occupied& occupied,
                                              std::span<const std::uint32_t> segments,
                                              std::span<const std::uint64_t> segment_slots,
                                              const Options& options = {});

}  // namespace valet
