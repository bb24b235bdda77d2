// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "benchmark.hpp"
#include <valet/plan.hpp>

#include <cstdint>
#include <functional>
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

/// @throws Error invalid_argument that lists the known names.
[[nodiscard]] Pattern parse_pattern(const std::string& name);
[[nodiscard]] std::vector<std::string> all_patterns();
[[nodiscard]] Option pattern_option(std::vector<std::string>& patterns);

/// Where the blocks of all ranks of MPI_COMM_WORLD go.
struct Map {
  std::uint64_t slots = 0;  ///< this rank's
  std::function<std::uint64_t(int rank)> blocks;
  /// Where a block goes, by the rank and the slot where it is. Injective; every rank has room.
  std::function<Address(int rank, std::uint64_t slot)> destination;
};

/// A pattern on all ranks alike.
/// @param slots, free  Per rank; `free` of them without a block (one_free: decided by the pattern).
[[nodiscard]] Map make_map(Pattern pattern, std::uint64_t slots, std::uint64_t free);

}  // namespace valet::bench
