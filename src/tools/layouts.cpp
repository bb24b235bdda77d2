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

/// Calls visit(place in the local array, number) for the elements of a rank.
template <class Visit>
void for_each_element(const BlockCyclic& layout, int rank, IndexOrder order, Visit&& visit) {
  const auto end =
      rank < layout.ranks() ? static_cast<std::size_t>(layout.local_elements(rank)) : 0;
  if (end == 0) return;
  const BlockCyclic::Extents extents = layout.local_extents(rank);
  const BlockCyclic::Coordinates place = layout.coordinates(rank);
  auto local = BlockCyclic::Extents::filled(extents.size(), 0);
  // The k-th dimension, the one first that runs fastest.
  const auto nth = [&](std::size_t k) {
    return order == IndexOrder::column_major ? k : extents.size() - 1 - k;
  };
  const auto position = [&](std::size_t d) {
    return static_cast<double>(layout.dimension(d).global_index(place[d], local[d]));
  };
  const std::size_t fastest = nth(0);
  for (std::size_t at = 0; at < end;) {
    double rest = 0;
    for (std::size_t k = extents.size(); k-- > 1;)
      rest = (rest + position(nth(k))) * static_cast<double>(layout.extents()[nth(k - 1)]);
    for (local[fastest] = 0; local[fastest] < extents[fastest]; ++local[fastest], ++at)
      visit(at, rest + position(fastest));
    for (std::size_t k = 1; k < extents.size() && ++local[nth(k)] == extents[nth(k)]; ++k)
      local[nth(k)] = 0;
  }
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

void write_numbers(const BlockCyclic& layout, int rank, IndexOrder order, std::span<double> part) {
  for_each_element(layout, rank, order, [&](std::size_t at, double number) { part[at] = number; });
}

bool has_numbers(const BlockCyclic& layout, int rank, IndexOrder order,
                 std::span<const double> part) {
  bool right = true;
  for_each_element(layout, rank, order,
                   [&](std::size_t at, double number) { right = right && part[at] == number; });
  return right;
}

}  // namespace valet::tools
