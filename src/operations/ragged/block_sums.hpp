// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Checksums of blocks of different sizes from end to end (Options::verify): of all that goes from
/// one rank to another the sum over the blocks of hashes, each seeded with the block's number among
/// them, so that their order counts, too.

#include "operations/ragged/plan_state.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace valet::ragged {

class BlockSums {
 public:
  /// @throws std::bad_alloc. Local.
  explicit BlockSums(PlanState& plan);

  /// Adds up what is there before. Local.
  void before(std::span<const Arena> arenas, std::span<const int> ranks);
  /// Compares with what is there afterwards: what is wrong, if anything. Collective.
  [[nodiscard]] std::optional<Diagnostic> after(std::span<const Arena> arenas);

 private:
  [[nodiscard]] bool add_up(const Arena& arena, std::size_t number);

  /// The checksum of the blocks for or from a peer.
  struct Sum {
    int rank = 0;
    std::uint64_t sum = 0;
    std::uint64_t other = 0;  ///< blocks so far; incoming: what the sender says
  };
  PlanState& plan_;
  Vector<Sum> outgoing_, incoming_;  ///< ascending by rank
};

}  // namespace valet::ragged
