// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "random_maps.hpp"
#include "transmutation.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace valet::test {

/// A random transmutation of `size` points: full, nearly full or thin, and mixed up or nearly the
/// identity.
inline Transmutation random_transmutation(std::mt19937_64& random, std::uint64_t size) {
  std::vector<std::int64_t> images(size);
  std::iota(images.begin(), images.end(), std::int64_t{0});
  if (size == 0) return Transmutation(images);
  if (pick(random, 0, 2) > 0)
    std::shuffle(images.begin(), images.end(), random);
  else
    for (std::uint64_t swaps = pick(random, 0, 3); swaps > 0; --swaps)
      std::swap(images[pick(random, 0, size - 1)], images[pick(random, 0, size - 1)]);
  std::uint64_t holes = 0;
  switch (pick(random, 0, 3)) {
    case 0: break;
    case 1: holes = 1; break;
    case 2: holes = size / 2; break;
    default: holes = pick(random, 0, size); break;
  }
  for (; holes > 0; --holes) images[pick(random, 0, size - 1)] = Transmutation::undefined;
  return Transmutation(images);
}

}  // namespace valet::test
