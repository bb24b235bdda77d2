// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace valet::scale {

/// Memory of blocks as far as a simulation needs it: addresses, and for each block eight bytes, its
/// identity. So a thousand ranks of hundreds of megabytes each fit on a small machine.
///
/// The addresses are never read or written. Block b of them has word b of a table; that holds for
/// blocks at any distance from each other, because two that do not overlap do not begin in the same
/// stretch of block_bytes. Messages between such addresses copy words.
class FoldedMemory {
 public:
  /// Collective over MPI_COMM_WORLD, once in a program.
  /// @param fold  Else it is memory as any other, for methods that send blocks by derived
  /// datatypes:
  ///              SimGrid packs these itself.
  /// @throws std::runtime_error where SimGrid does not tell where messages go to.
  FoldedMemory(std::size_t block_bytes, bool fold);

  /// Addresses that no one else has; they are not given back.
  [[nodiscard]] static std::byte* reserve(std::size_t bytes);
  /// The identity of the block that begins at an address.
  [[nodiscard]] static std::uint64_t& identity(const std::byte* block);
};

}  // namespace valet::scale
