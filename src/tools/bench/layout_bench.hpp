// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

#include <string>

namespace valet::bench {

/// A shape such as "30x50": one number per dimension.
/// @throws Error invalid_argument: anything else, or more than 6 numbers.
[[nodiscard]] BlockCyclic::Extents parse_shape(const std::string& text);
/// The layout of an array of that shape in blocks of that shape, on a grid of that shape.
/// @throws Error invalid_argument, as BlockCyclic.
[[nodiscard]] BlockCyclic make_layout(const std::string& extent, const std::string& block,
                                      const std::string& grid);

}  // namespace valet::bench
