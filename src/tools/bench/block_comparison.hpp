// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks of one size that a map brings to their ranks, by Valet and by MPI_Alltoallv.

#include "benchmark.hpp"
#include <valet/valet.hpp>

#include <cstddef>
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
[[nodiscard]] Texts all_patterns();
/// What the option --pattern is for.
[[nodiscard]] std::string about_patterns();

/// Where the blocks of all ranks of MPI_COMM_WORLD go.
struct Map {
  std::uint64_t slots = 0;  ///< this rank's
  std::function<std::uint64_t(int rank)> blocks;
  /// Where a block goes, by the rank and the slot where it is. Injective; every rank has room.
  std::function<Address(int rank, std::uint64_t slot)> destination;
};

/// A pattern on all ranks alike, those of MPI_COMM_WORLD or as many others.
/// @param slots, free  Per rank; `free` of them without a block (one_free: decided by the pattern).
[[nodiscard]] Map make_map(Pattern pattern, std::uint64_t slots, std::uint64_t free,
                           int ranks = world_size());

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

  /// @param field_bytes  Bytes of a block in each of the arrays that blocks stand in.
  BlockComparison(Map map, const std::vector<std::size_t>& field_bytes,
                  Storage storage = Storage::ordinary);

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
  /// Executions of a plan that is bound to its storage, which the result keeps.
  [[nodiscard]] std::function<Outcome()> bound_execution(const Options& options);

 private:
  struct Field {
    std::byte* memory;
    std::size_t bytes;  ///< one block
  };

  [[nodiscard]] BlockStorage storage() const {
    return {valet::field(memory_.data(), map_.slots, block_bytes_)};
  }
  /// Calls action(part of the block in a slot, its bytes, bytes before it) for each array.
  template <class Action>
  void for_each_part(std::uint64_t slot, Action&& action) const {
    std::size_t at = 0;
    for (const Field& field : fields_) {
      action(field.memory + slot * field.bytes, field.bytes, at);
      at += field.bytes;
    }
  }

  Map map_;
  std::uint64_t block_bytes_;
  Array<> memory_;
  std::vector<Field> fields_;
  std::vector<Address> addresses_;
  std::vector<int> ranks_;
  Alltoallv peer_;
};

}  // namespace valet::bench
