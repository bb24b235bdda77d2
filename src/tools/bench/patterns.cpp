// SPDX-License-Identifier: BSD-3-Clause
#include "patterns.hpp"

#include "base/names.hpp"
#include "scatter_index.hpp"

#include <algorithm>
#include <array>

namespace valet::bench {
namespace {

using detail::Named;
constexpr std::array patterns{Named{Pattern::ring, "ring"}, Named{Pattern::transpose, "transpose"},
                              Named{Pattern::random, "random"},
                              Named{Pattern::one_free, "one-free"},
                              Named{Pattern::neighbours, "neighbours"}};

/// @param own_blocks  Blocks of the rank.
Address destination_of(Pattern pattern, std::uint64_t own_blocks, int rank, std::uint64_t slot) {
  const auto count = static_cast<std::uint64_t>(world_size());
  const auto self = static_cast<std::uint64_t>(rank);
  const auto at = [&](std::uint64_t distance) {
    return static_cast<int>((self + distance) % count);
  };
  const std::uint64_t index = own_blocks * self + slot;
  switch (pattern) {
    case Pattern::ring: return {at(1), slot};
    case Pattern::transpose: return {static_cast<int>(index % count), index / count};
    case Pattern::random: {
      const std::uint64_t to = scatter_index(index, own_blocks * count);
      return {static_cast<int>(to / own_blocks), to % own_blocks};
    }
    case Pattern::one_free:
      // The ranks at distance 1 to P-1 in turn: then no two blocks meet in a slot.
      return count == 1 ? Address{0, slot} : Address{at(1 + slot % (count - 1)), slot};
    case Pattern::neighbours: {
      const std::uint64_t turn = slot % 20;
      if (turn >= 4) return {rank, slot};
      const std::uint64_t distance = 1 + turn / 2;
      return {at(turn % 2 == 0 ? distance : 2 * count - distance), slot};
    }
  }
  return {rank, slot};
}

}  // namespace

Pattern parse_pattern(const std::string& name) {
  return detail::value_of(patterns, "pattern", name);
}

std::vector<std::string> all_patterns() {
  std::vector<std::string> names(patterns.size());
  std::ranges::transform(patterns, names.begin(), [](const auto& pattern) { return pattern.name; });
  return names;
}

Option pattern_option(std::vector<std::string>& chosen) {
  std::string known;
  for (const std::string& name : all_patterns()) known += (known.empty() ? "" : ", ") + name;
  return {"--pattern", &chosen, "transfer patterns (comma-separated): " + known};
}

Map make_map(Pattern pattern, std::uint64_t slots, std::uint64_t free) {
  const auto blocks = [=](int rank) -> std::uint64_t {
    if (pattern == Pattern::one_free && world_size() > 1) return rank == 0 ? 0 : slots;
    return slots - free;
  };
  return {slots, blocks, [=](int rank, std::uint64_t slot) {
            return destination_of(pattern, blocks(rank), rank, slot);
          }};
}

}  // namespace valet::bench
