// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

#include <span>
#include <string>
#include <utility>

namespace valet::tools {

/// A layout from shapes such as "30x50": one number per dimension, the first index first.
/// @throws Error invalid_argument: a text that is no shape, and as BlockCyclic.
[[nodiscard]] BlockCyclic make_layout(const std::string& extent, const std::string& block,
                                      const std::string& grid);
/// Source and target from block:grid:block:grid. @throws Error as make_layout().
[[nodiscard]] std::pair<BlockCyclic, BlockCyclic> parse_move(const std::string& extent,
                                                             const std::string& move);

/// Writes into the elements of a rank their numbers in the whole array: nothing outside of the
/// grid.
/// @param order  Of the part, and of the numbers.
void write_numbers(const BlockCyclic& layout, int rank, IndexOrder order, std::span<double> part);
/// Whether they are there.
[[nodiscard]] bool has_numbers(const BlockCyclic& layout, int rank, IndexOrder order,
                               std::span<const double> part);

}  // namespace valet::tools
