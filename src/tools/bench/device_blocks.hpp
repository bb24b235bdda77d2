// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks in the memory of a device: Views of a particle or a patch code, what stands in them, and
/// the kernels that write, check and copy them. With a Kokkos of host back ends the device is the
/// host.

#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace valet::bench {

using Space = Kokkos::DefaultExecutionSpace;
using DeviceMemory = Space::memory_space;
/// Reached by kernels, the host and MPI: pinned where there is a device.
using HostStaging = kokkos::detail::StagingSpace<Space>;

/// The unit of all kernels here: 8 bytes of any type.
using Word = kokkos::detail::Word64;
using DeviceWords = Kokkos::View<std::uint64_t*, DeviceMemory>;
using StagedWords = Kokkos::View<std::uint64_t*, HostStaging>;
using SlotList = Kokkos::View<std::uint32_t*, DeviceMemory>;

/// One View, in the form kernels take: word `w` of the row in slot `s` is
/// data[s * slot_stride + w * word_stride].
struct FieldWords {
  Word* data = nullptr;
  std::size_t words = 0;  ///< of a row
  std::size_t slot_stride = 0;
  std::size_t word_stride = 0;
  std::size_t packed_offset = 0;  ///< words of a packed block before this field
};

enum class BlockKind {
  particles,  ///< one 64-bit id and twice 3 doubles in 3 Views, of the layout the device prefers
  patches,    ///< 28 KiB in one View, each in one piece
};

/// The Views of a rank, not initialised.
struct BlockArrays {
  std::vector<FieldWords> fields;         ///< word 0 of the first one holds the id of the block
  std::function<BlockStorage()> storage;  ///< keeps the Views as well
};
[[nodiscard]] BlockArrays make_arrays(BlockKind kind, std::uint64_t slots);
[[nodiscard]] std::size_t words_of(BlockKind kind);

/// Where blocks go. Every second one leaves, and a rank gets as many as it gives: the same slots of
/// all ranks go to the same distance.
struct Route {
  int ranks = 1;
  bool scattered = false;  ///< to all other ranks alike, not to the next one
  [[nodiscard]] KOKKOS_FUNCTION int destination(int rank, std::uint64_t slot) const;
};

/// Every block says where it started, in each of its words.
void write_blocks(const BlockArrays& arrays, int rank, std::uint64_t blocks);

/// What kernels find in the first slots of a rank, of as many blocks as were written there.
struct Findings {
  std::uint64_t torn = 0;     ///< words of blocks that are not whole
  std::uint64_t surplus = 0;  ///< summed over all ranks 0 where no block is lost, doubled or astray
};
[[nodiscard]] Findings check_blocks(const BlockArrays& arrays, const Route& route, int rank,
                                    std::uint64_t blocks);

/// Queue the copies of blocks on `space`. Packed blocks stand one behind the other.
void gather(const Space& space, const BlockArrays& from, const SlotList& slots,
            std::uint64_t first_of_list, std::uint64_t blocks, std::uint64_t* packed);
void scatter(const Space& space, std::uint64_t* packed, std::uint64_t blocks, const BlockArrays& to,
             std::uint64_t first_slot);
/// Blocks in the slots of a list to the first slots of other arrays.
void keep(const Space& space, const BlockArrays& from, const SlotList& slots,
          const BlockArrays& to);

}  // namespace valet::bench
