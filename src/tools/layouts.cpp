// SPDX-License-Identifier: BSD-3-Clause
#include "tools/layouts.hpp"

#include "tools/errors.hpp"

#include <charconv>
#include <limits>
#include <span>
#include <sstream>
#include <vector>

namespace valet::tools {
namespace {

/// A shape such as "30x50": one number per dimension.
/// @throws Error invalid_argument: anything else, or more than 6 numbers.
BlockCyclic::Extents parse_shape(const std::string& text) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    if (error == std::errc::result_out_of_range) refuse("'", text, "' has a number beyond 2^63-1");
    if (error != std::errc() || (behind != end && *behind != 'x'))
      refuse("'", text, "' is not a shape; write one number per dimension, as in 30x50");
    values.push_back(value);
    if (behind == end) break;
    at = behind + 1;
  }
  return BlockCyclic::Extents(std::span<const std::int64_t>(values));
}

}  // namespace

BlockCyclic make_layout(const std::string& extent, const std::string& block,
                        const std::string& grid) {
  const BlockCyclic::Extents wide = parse_shape(grid);
  auto ranks = BlockCyclic::Coordinates::filled(wide.size(), 0);
  for (std::size_t d = 0; d < wide.size(); ++d) {
    if (wide[d] > std::numeric_limits<int>::max())
      refuse("grid ", grid, " has more ranks than 2^31-1");
    ranks[d] = static_cast<int>(wide[d]);
  }
  return {parse_shape(extent), parse_shape(block), ranks};
}

std::pair<BlockCyclic, BlockCyclic> parse_move(const std::string& extent, const std::string& move) {
  std::vector<std::string> parts;
  std::istringstream stream(move);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  if (parts.size() != 4)
    refuse("'", move, "' is no move; write block, grid, block and grid, as in 64x64:2x2:30x50:4x1");
  return {make_layout(extent, parts[0], parts[1]), make_layout(extent, parts[2], parts[3])};
}

}  // namespace valet::tools
