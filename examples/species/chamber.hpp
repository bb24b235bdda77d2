// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The chemistry of an annular combustion chamber around which a detonation runs. Nothing here
/// knows of MPI, Valet or Zoltan.

#include <array>
#include <cstdint>

namespace species {

/// One species in one cell.
struct Record {
  std::uint64_t species;
  double mass_fraction;
  double density;
  double temperature;
  double enthalpy;
  double heat_capacity;
  double diffusivity;
  double production_rate;
  [[nodiscard]] bool operator==(const Record&) const = default;
};

/// The chamber, unwrapped: columns of cells around it, rows upwards. Before the front there are few
/// species; at and behind it there are many, which recombine to few again.
struct Chamber {
  std::uint64_t columns = 512;
  std::uint64_t rows = 128;

  static constexpr std::uint64_t fewest = 8;  ///< species of a cell
  static constexpr std::uint64_t most = 248;

  [[nodiscard]] std::uint64_t cells() const { return columns * rows; }
  /// The middle of a cell: angle [turns] and height [of the chamber], both from 0 to 1.
  [[nodiscard]] std::array<double, 2> place(std::uint64_t cell) const;
  /// How many species a cell has. Cells are numbered row by row.
  [[nodiscard]] std::uint64_t species_of(std::uint64_t cell, int step) const;
  /// The species of all cells together.
  [[nodiscard]] std::uint64_t all_species(int step) const;
};

/// The record of a cell's species number `index`: it follows from these two alone, so that whoever
/// has a cell can tell whether its list is right.
[[nodiscard]] Record record_of(std::uint64_t cell, std::uint64_t index);

/// Every bit depends on every bit.
[[nodiscard]] std::uint64_t scramble(std::uint64_t x);

}  // namespace species
