// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the algorithms that find an intersection have in common.

#include <valet/export.hpp>
#include <valet/intersect.hpp>

#include <atomic>
#include <cstdint>
#include <limits>

namespace valet::layout {

/// numerator / denominator of numbers that are not negative. On many processors a 64-bit division
/// costs several times a 32-bit one, and few divisions are most of what ASPEN takes.
inline std::int64_t quotient(std::int64_t numerator, std::int64_t denominator) {
  constexpr std::int64_t small = std::numeric_limits<std::uint32_t>::max();
  if ((numerator | denominator) <= small)
    return static_cast<std::uint32_t>(numerator) / static_cast<std::uint32_t>(denominator);
  return numerator / denominator;
}

/// How often ASPEN has walked in this process, so that tests see what a plan was computed by.
VALET_EXPORT extern std::atomic<std::uint64_t> aspen_walks;

/// Coordinates of theirs that are looked for.
struct Peers {
  std::int32_t first, end;
};

/// Bytes that a DimensionIntersection with all of theirs takes at most, of so many families.
[[nodiscard]] std::uint64_t bytes_of_families(const DimensionPair& pair, std::uint64_t families);

/// @throws Error invalid_argument, as intersect().
void check_intersection(const BlockCyclic& mine, int rank, const BlockCyclic& theirs,
                        const IntersectOptions& options);

}  // namespace valet::layout
