// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phases.hpp"

#include <algorithm>
#include <tuple>

namespace valet::engine {

void PhaseMoves::arrange() {
  std::ranges::sort(sends, {},
                    [](const PhaseSend& each) { return std::tie(each.place, each.target); });
  std::ranges::sort(receives, {}, &PhaseReceive::source);
  std::size_t kept = 0;
  for (const PhaseReceive& receive : receives) {
    if (kept > 0 && receives[kept - 1].source == receive.source)
      receives[kept - 1].blocks += receive.blocks;
    else
      receives[kept++] = receive;
  }
  receives.resize(kept);
}

}  // namespace valet::engine
