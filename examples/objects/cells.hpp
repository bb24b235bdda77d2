// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Cells in a hash map, as dccrg keeps them: each has particles in a vector of its own.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace objects {

struct Particle {
  std::array<double, 3> position, velocity;
  bool operator==(const Particle&) const = default;
};

struct Cell {
  double density = 0;
  std::vector<Particle> particles;
  bool operator==(const Cell&) const = default;
};

using Cells = std::unordered_map<std::uint64_t, Cell>;  ///< by id

/// What the cell of this id has, wherever it is: 1 to 39 particles.
inline Cell made_cell(std::uint64_t id) {
  Cell cell{.density = static_cast<double>(id), .particles = {}};
  cell.particles.resize(1 + (id * 2654435761 >> 16) % 39);
  for (std::size_t k = 0; k < cell.particles.size(); ++k)
    cell.particles[k] = {{cell.density, static_cast<double>(k), 0}, {1, 0, -cell.density}};
  return cell;
}

/// In front of the particles of a packed cell.
struct Head {
  std::uint64_t id = 0, particles = 0;
  double density = 0;
};

inline std::size_t packed_bytes(const Cell& cell) {
  return sizeof(Head) + cell.particles.size() * sizeof(Particle);
}

inline void pack(std::uint64_t id, const Cell& cell, std::byte* packed) {
  const Head head{id, cell.particles.size(), cell.density};
  std::memcpy(packed, &head, sizeof head);
  std::memcpy(packed + sizeof head, cell.particles.data(), packed_bytes(cell) - sizeof head);
}

/// Makes a cell of its bytes. @return How many these are.
inline std::size_t unpack(Cells& cells, const std::byte* packed) {
  Head head;
  std::memcpy(&head, packed, sizeof head);
  Cell& cell = cells[head.id];
  cell.density = head.density;
  cell.particles.resize(head.particles);
  std::memcpy(cell.particles.data(), packed + sizeof head, packed_bytes(cell) - sizeof head);
  return packed_bytes(cell);
}

}  // namespace objects
