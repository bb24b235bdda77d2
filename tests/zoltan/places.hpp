// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Places and other numbers of objects, which follow from their ids and the seed alone.

#include "test_comm.hpp"

namespace valet::test {

using Place = std::array<double, 3>;

/// A number in [0, 1) that depends on all arguments.
inline double chance(std::uint64_t id, std::uint64_t salt) {
  std::uint64_t word = (id + 1) * 0x9E3779B97F4A7C15U + salt * 0xD1B54A32D192ED03U + seed();
  for (int k = 0; k < 2; ++k) word = (word ^ (word >> 31U)) * 0xBF58476D1CE4E5B9U;
  return static_cast<double>((word ^ (word >> 29U)) >> 11U) * 0x1p-53;
}

enum class Spread { uniform, dense_corner, needle, front, planes, one_place };
inline constexpr std::array all_spreads{Spread::uniform, Spread::dense_corner, Spread::needle,
                                        Spread::front,   Spread::planes,       Spread::one_place};

inline Place place_of(Spread spread, std::uint64_t id) {
  Place at{chance(id, 0), chance(id, 1), chance(id, 2)};
  const bool in_crowd = id % 5 != 0;
  switch (spread) {
    case Spread::uniform: break;
    case Spread::dense_corner:
      for (double& x : at) x = in_crowd ? 0.37 + x / 50 : x;
      break;
    case Spread::needle: return {at[0] + 1e-3 * at[1], at[0] + 1e-3 * at[2], at[0]};
    case Spread::front: return {in_crowd ? 0.41 + at[0] / 50 : at[0], at[1], 0};
    case Spread::planes: return {std::floor(3 * at[0]), at[1], at[2]};
    case Spread::one_place: return {1e9, 1e9, 1e9};
  }
  return at;
}

}  // namespace valet::test
