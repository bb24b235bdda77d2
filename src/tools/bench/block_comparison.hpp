// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "benchmark.hpp"
#include "patterns.hpp"
#include <valet/valet.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace valet::bench {

/// @throws Error invalid_argument where a block cannot hold the address that it starts at.
void require_room_for_address(std::size_t block_bytes);

/// Where blocks are when they have been moved.
enum class Places {
  any,       ///< the first slots of their rank
  in_order,  ///< the same, ascending by the addresses that they started at
  slots,     ///< those of the map
};

/// One rank's blocks of a map, which Valet and MPI_Alltoallv bring to their ranks. Collective over
/// MPI_COMM_WORLD.
class BlockComparison {
 public:
  /// What Valet did, on this rank.
  struct Moved {
    Report report;
    Places places;
  };

  /// @param field_bytes  Of a block in each of the arrays that blocks stand in.
  BlockComparison(Map map, const std::vector<std::size_t>& field_bytes);

  [[nodiscard]] std::byte* field(std::size_t number) const { return fields_[number].memory; }
  [[nodiscard]] std::uint64_t blocks() const { return ranks_.size(); }
  /// Destinations of the blocks.
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// MPI_Alltoallv of the same blocks, in one array.
  [[nodiscard]] Alltoallv& peer() { return peer_; }

  /// Writes every block to the slot where it starts.
  void fill();
  /// Whether every block on a rank belongs there and is whole, and none was lost or doubled.
  [[nodiscard]] bool verified(std::uint64_t blocks_after, Places places) const;
  /// fill(), the move, and verified().
  Outcome run(const std::function<Moved()>& move);
  /// Blocks in one array by migrate(); Valet is given `places`, or ranks.
  [[nodiscard]] std::function<Outcome()> migration(const Options& options,
                                                   Places places = Places::any);

 private:
  struct Field {
    std::byte* memory;
    std::size_t bytes;  ///< one block
  };

  Map map_;
  std::uint64_t block_bytes_;
  Bytes memory_;
  std::vector<Field> fields_;
  std::vector<Address> addresses_;
  std::vector<int> ranks_;
  Alltoallv peer_;
};

}  // namespace valet::bench
