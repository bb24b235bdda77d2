// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/plan.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// The transfer patterns that are measured; each is a map that every rank can compute alone.
enum class Pattern {
  ring,       ///< every block goes to the next rank, same slot
  transpose,  ///< MADRE section 4: block j of rank i goes to rank (n*i+j) mod P, slot (n*i+j)/P
  random,     ///< a random bijection of all addresses
  one_free,  ///< MADRE section 4: rank 0 is empty, the others are full and send to all others alike
  neighbours,  ///< a twentieth of the blocks to each of the ranks at distance 1 and 2, the rest
               ///< stay
};

[[nodiscard]] const char* to_string(Pattern pattern);
[[nodiscard]] const std::vector<Pattern>& all_patterns();

/// One pattern on given sizes.
struct Map {
  Pattern pattern = Pattern::ring;
  int ranks = 1;
  std::uint64_t slots = 0;  ///< per rank
  std::uint64_t free = 0;   ///< slots per rank without a block (one_free: decided by the pattern)

  [[nodiscard]] std::uint64_t blocks(int rank) const;
  /// Where block `slot` of `rank` goes. Injective over all blocks; every rank has room.
  [[nodiscard]] Address destination(int rank, std::uint64_t slot) const;
};

}  // namespace valet::bench
