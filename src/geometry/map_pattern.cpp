// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/map_pattern.hpp"

namespace valet::layout {

MapPattern recognise(std::span<const int> map, int ranks, int without) {
  const int* const begin = map.data();
  return PatternScan(begin, begin + map.size(), static_cast<std::int64_t>(map.size()), ranks,
                     without)
      .run();
}

}  // namespace valet::layout
