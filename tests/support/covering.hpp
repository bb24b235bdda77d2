// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Choices of one level for each of several factors.

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace valet::test {

/// By factor, its level.
using Levels = std::vector<std::size_t>;

/// Choices in which every level of every factor meets every level of every other one: each takes
/// the first pair that has not met, and then what makes the most pairs meet.
/// @param counts  The levels of each factor.
inline std::vector<Levels> pairwise(const Levels& counts) {
  using Pair = std::array<std::size_t, 4>;  // factor and level, of a lower factor first
  std::set<Pair> open;
  for (std::size_t g = 0; g < counts.size(); ++g)
    for (std::size_t f = 0; f < g; ++f)
      for (std::size_t a = 0; a < counts[f]; ++a)
        for (std::size_t b = 0; b < counts[g]; ++b) open.insert({f, a, g, b});
  std::vector<Levels> all;
  while (!open.empty()) {
    std::vector<std::optional<std::size_t>> chosen(counts.size());
    const Pair first = *open.begin();
    chosen[first[0]] = first[1];
    chosen[first[2]] = first[3];
    const auto pair = [](std::size_t f, std::size_t a, std::size_t g, std::size_t b) {
      return f < g ? Pair{f, a, g, b} : Pair{g, b, f, a};
    };
    for (std::size_t f = 0; f < counts.size(); ++f) {
      if (chosen[f]) continue;
      std::size_t most = 0;
      for (std::size_t a = 0; a < counts[f]; ++a) {
        std::size_t met = 0;
        for (std::size_t g = 0; g < counts.size(); ++g)
          if (chosen[g] && g != f) met += open.count(pair(f, a, g, *chosen[g]));
        if (a == 0 || met > most) {
          chosen[f] = a;
          most = met;
        }
      }
    }
    Levels& levels = all.emplace_back();
    for (const auto& level : chosen) levels.push_back(*level);
    for (std::size_t g = 0; g < counts.size(); ++g)
      for (std::size_t f = 0; f < g; ++f) open.erase({f, levels[f], g, levels[g]});
  }
  return all;
}

}  // namespace valet::test
