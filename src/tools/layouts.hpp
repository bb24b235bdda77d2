// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

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

}  // namespace valet::tools
