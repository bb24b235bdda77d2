// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Slots, and what plans remember of the blocks in them.

#include <valet/detail/cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet {

/// The number of a slot: a rank has fewer than 2^32 of them.
using SlotIndex = std::uint32_t;

/// Slots in a given order; a view, not an owner.
using SlotList = std::span<const SlotIndex>;

/// Properties of a storage that its plans remember.
struct BlockTraits {
  std::size_t block_bytes = 0;       ///< StorageBackend::block_bytes()
  std::size_t pieces_per_block = 1;  ///< StorageBackend::pieces_per_block()
  bool reachable_by_mpi = true;      ///< StorageBackend::reachable_by_mpi()
  bool reachable_by_host = true;     ///< StorageBackend::reachable_by_host()
  bool runs_are_contiguous = false;  ///< whether StorageBackend::contiguous_data() has an address
  bool in_node_memory = false;       ///< whether the rows of StorageBackend::visit_rows() are there

  /// Least scratch of a migration, in blocks: two if blocks are packed to be sent or to be copied
  /// between slots, otherwise one.
  [[nodiscard]] std::size_t least_scratch_blocks() const {
    return reachable_by_mpi && reachable_by_host ? 1 : 2;
  }
};

}  // namespace valet
