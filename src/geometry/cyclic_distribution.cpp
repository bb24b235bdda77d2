// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/cyclic_distribution.hpp"

#include <valet/block_cyclic.hpp>

namespace valet::layout {

MapPattern recognise(std::span<const int> map, int all_ranks, int without) {
  const int ranks = all_ranks - (without == no_rank ? 0 : 1);
  MapPattern found{.periodic = true, .ascending = true, .distribution = {}};
  std::int64_t first_length = 0, block_size = 1;
  // The second run is a whole block, unless it is the last one; only the last may be shorter.
  const auto fits = [&](std::int64_t length, bool is_last) {
    if (found.runs == 1) block_size = is_last ? std::max(first_length, length) : length;
    return first_length <= block_size && (length == block_size || (is_last && length < block_size));
  };
  for (std::size_t begin = 0; begin < map.size() && (found.periodic || found.ascending);) {
    const int rank = number_without(map[begin], without);
    std::size_t end = begin + 1;
    while (end < map.size() && map[end] == map[begin]) ++end;
    const bool is_last = end == map.size();
    const auto length = static_cast<std::int64_t>(end - begin);
    if (found.runs == 0) {
      found.first_rank = rank;
      first_length = block_size = length;
    } else {
      found.ascending = found.ascending && rank > found.last_rank;
      found.periodic =
          found.periodic && rank == (found.last_rank + 1) % ranks && fits(length, is_last);
    }
    found.last_rank = rank;
    ++found.runs;
    begin = end;
    if (found.periodic && !is_last && found.runs == ranks + std::int64_t{1}) {
      // Every rank has had a whole block, so the map repeats. To compare it with itself is many
      // times faster than to go on run by run where runs are short.
      const auto period = static_cast<std::size_t>(ranks * block_size);
      const auto rest = map.subspan(begin);
      found.periodic = std::equal(rest.begin(), rest.end(), map.subspan(begin - period).begin());
      break;
    }
  }
  if (!map.empty())
    found.distribution = {static_cast<std::int64_t>(map.size()), block_size,
                          block_size - first_length, found.first_rank};
  // Dimension takes no more.
  found.periodic = found.periodic && block_size <= BlockCyclic::most_elements / ranks;
  return found;
}

}  // namespace valet::layout
