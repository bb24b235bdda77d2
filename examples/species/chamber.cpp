// SPDX-License-Identifier: BSD-3-Clause
#include "chamber.hpp"

#include <algorithm>
#include <cmath>

namespace species {
namespace {

constexpr double start = 0.2;              ///< of the front at the bottom [turns]
constexpr double turns_a_step = 1.0 / 45;  ///< that the front runs
constexpr double lean = 0.1;               ///< of the front from bottom to top [turns]
constexpr double trail = 0.11;             ///< behind the front, to half of the species [turns]
constexpr double diffusion = 0.006;        ///< of radicals ahead of the front [turns]
constexpr double flame_height = 0.62;      ///< above it the mixture hardly burns

/// A number in [0, 1) for each seed.
double random_of(std::uint64_t seed) {
  return static_cast<double>(scramble(seed) >> 11U) * 0x1p-53;
}

/// 1 at 0, a half at `width`. Arithmetic that rounds alike everywhere, as exp() need not.
double fading(double distance, double width) {
  const double x = distance / width;
  return 1 / (1 + x * x);
}

}  // namespace

std::uint64_t scramble(std::uint64_t x) {
  // Splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

std::array<double, 2> Chamber::place(std::uint64_t cell) const {
  const std::uint64_t column = cell % columns, row = cell / columns;
  return {(static_cast<double>(column) + 0.5) / static_cast<double>(columns),
          (static_cast<double>(row) + 0.5) / static_cast<double>(rows)};
}

std::uint64_t Chamber::species_of(std::uint64_t cell, int step) const {
  const auto [angle, height] = place(cell);
  const double front = start + turns_a_step * step + lean * height;
  const double behind = front - angle - std::floor(front - angle);  // the chamber is closed
  const double reacts = std::max(fading(behind, trail), fading(1 - behind, diffusion));
  const double burns = fading(height * height * height, flame_height * flame_height * flame_height);
  const double varies = 0.8 + 0.2 * random_of(cell);
  return fewest +
         static_cast<std::uint64_t>(static_cast<double>(most - fewest) * reacts * burns * varies);
}

std::uint64_t Chamber::all_species(int step) const {
  std::uint64_t all = 0;
  for (std::uint64_t cell = 0; cell < cells(); ++cell) all += species_of(cell, step);
  return all;
}

Record record_of(std::uint64_t cell, std::uint64_t index) {
  const std::uint64_t seed = scramble((cell << 16U) + index);
  // Odd multiples are as different as their seed, and cheap.
  const auto number = [seed](std::uint64_t odd) {
    return static_cast<double>((seed * odd) >> 11U) * 0x1p-53;
  };
  return {index,     number(3),      1 + number(5), 300 + 2700 * number(7),
          number(9), 1 + number(11), number(13),    number(15) - 0.5};
}

}  // namespace species
