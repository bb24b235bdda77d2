// SPDX-License-Identifier: BSD-3-Clause
#include "patterns.hpp"

#include "tools/bench/measure.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace valet::scale {
namespace {

enum Number : int { ring, transpose, random_map, one_free, neighbours };
constexpr std::array<std::string_view, 5> names{"ring", "transpose", "random", "one-free",
                                                "neighbours"};

}  // namespace

Pattern::Pattern(std::string_view name) : name_(name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) {
    std::string text = "unknown pattern; known are";
    for (const std::string_view known : names) text.append(" ").append(known);
    throw std::invalid_argument(text);
  }
  number_ = static_cast<int>(found - names.begin());
}

Part Pattern::part(int rank, int ranks, std::uint64_t slots, std::uint64_t free) const {
  if (number_ == one_free && ranks > 1) return {rank, ranks, slots, rank == 0 ? 0 : slots};
  return {rank, ranks, slots, slots - free};
}

Destination Pattern::destination(const Part& part, std::uint64_t slot) const {
  const auto count = static_cast<std::uint64_t>(part.ranks);
  const auto self = static_cast<std::uint64_t>(part.rank);
  const auto at = [&](std::uint64_t distance) {
    return static_cast<int>((self + distance) % count);
  };
  const std::uint64_t index = part.blocks * self + slot;
  switch (number_) {
    case ring: return {at(1), slot};
    case transpose: return {static_cast<int>(index % count), index / count};
    case random_map: {
      const std::uint64_t to = bench::scatter_index(index, part.blocks * count);
      return {static_cast<int>(to / part.blocks), to % part.blocks};
    }
    case one_free:
      // The ranks at distance 1 to P-1 in turn: then no two blocks meet in a slot.
      return count == 1 ? Destination{0, slot} : Destination{at(1 + slot % (count - 1)), slot};
    default: {
      // A twentieth to each of the ranks at distance 1 and 2 on both sides, the rest stays.
      const std::uint64_t turn = slot % 20;
      if (turn >= 4) return {part.rank, slot};
      const std::uint64_t distance = 1 + turn / 2;
      return {at(turn % 2 == 0 ? distance : 2 * count - distance), slot};
    }
  }
}

}  // namespace valet::scale
