// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a map to ranks in the order of any takes of a rank's memory under STREAM, by structure,
/// from the flows of that rank alone: the number of ranks is no argument. Each structure says
/// itself what it takes, so nothing here is a copy of a number. Pure: neither MPI nor memory for
/// blocks.

#include "plan/flows.hpp"
#include <valet/options.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace valet::engine {

/// One structure, or a few that belong together.
struct FootprintPart {
  const char* name = "";
  std::uint64_t bytes = 0;
};

/// What is there at one moment.
using FootprintParts = std::vector<FootprintPart>;

[[nodiscard]] std::uint64_t sum_of(const FootprintParts& parts);

struct Footprint {
  /// Whether the budget holds the blocks that wait for their slots. Else arrivals are listed, and
  /// what follows does not hold.
  bool lands_in_order = true;
  FootprintParts planning;  ///< at the moment of planning when most is there
  FootprintParts moving;    ///< while data moves; scratch is the part behind `state`
  /// Report::peak_extra_bytes of a first plan whose ranks share no memory and keep none.
  [[nodiscard]] std::uint64_t peak() const { return std::max(sum_of(planning), sum_of(moving)); }
  /// The part of `moving` that is not for blocks: no budget pays for it.
  [[nodiscard]] std::uint64_t state() const {
    return sum_of(moving) - (moving.empty() ? 0 : moving.back().bytes);
  }
};

/// The footprint of flows that land in order (Flows::in_order()).
[[nodiscard]] Footprint footprint_of(const Options& options, const BlockTraits& blocks,
                                     const plan::Flows& flows);

}  // namespace valet::engine
