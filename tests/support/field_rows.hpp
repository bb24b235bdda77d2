// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Where rows are, read from the description of a field and in no other way.

#include <valet/block_storage.hpp>

#include <cstdint>

namespace valet::test {

/// The address of the first entry of a row.
inline std::intptr_t row_address(const Field& field, std::uint64_t slot) {
  const FieldTiles& tiles = field.tiles;
  std::uint64_t tile = 0, first = 0;
  while (tiles) {
    const std::uint64_t end = tiles.ends != nullptr ? tiles.ends[tile] : first + tiles.slots;
    if (slot < end) break;
    first = end;
    ++tile;
  }
  const auto start =
      reinterpret_cast<std::intptr_t>(tiles.starts != nullptr ? tiles.starts[tile] : field.data);
  return start + static_cast<std::intptr_t>(tile) * tiles.stride_bytes +
         static_cast<std::intptr_t>(slot - first) * field.slot_stride_bytes;
}

}  // namespace valet::test
