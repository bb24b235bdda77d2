// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks in memory that only the application knows how to move, such as arrays that cudaMalloc()
/// or hipMalloc() gave it: it brings the functions that pack and unpack them. Views of Kokkos need
/// none of this, see valet::kokkos::blocks().

#include <valet/block_storage.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet {

/// Slots in the order in which their blocks are packed; in memory of
/// CustomFunctions::allocate_scratch, where kernels can read them.
using SlotSpan = std::span<const std::uint64_t>;

/// Functions of the application that move blocks between slots and packed memory. A packed block is
/// `block_bytes` bytes, all arrays together in an order of the application's choice, which is the
/// same on all ranks; packed blocks follow each other.
///
/// Every function is called by the thread that calls Valet, and has done its work when it returns:
/// what runs asynchronously is waited for inside it. What one throws becomes the error
/// callback_failed of all ranks, see execute(); none is called again in that execution. None may
/// communicate or call Valet.
struct CustomFunctions {
  /// Packs the blocks of some slots one after the other. At most custom_most_slots at a time; what
  /// is in them stays as it is.
  std::function<void(SlotSpan slots, std::byte* packed)> pack;
  /// Unpacks as many packed blocks as there are slots, each into its own; no slot is listed twice.
  std::function<void(const std::byte* packed, SlotSpan slots)> unpack;
  /// Copies the block of slot from[k] to slot to[k] for all k, in any order or all at a time: no
  /// slot is in both lists, and none twice in `to`. Without it blocks are packed and unpacked.
  std::function<void(SlotSpan from, SlotSpan to)> copy;
  /// Memory that the host, MPI, `pack` and `unpack` reach: where packed blocks and lists of slots
  /// are, such as what cudaMallocHost() gives. Aligned as by malloc(); a null pointer means that
  /// there is none (out_of_memory). Without it: memory of the host, in pages.
  std::function<void*(std::size_t bytes)> allocate_scratch;
  /// Frees it, where allocate_scratch is given. Also called after the last storage is gone, when
  /// the last plan is, and must not throw.
  std::function<void(void* memory)> free_scratch;
  /// Waits for work of the application that may still touch the blocks. Every collective call asks
  /// for it once, before it touches one. May be left out.
  std::function<void()> synchronize;
  /// The address of slot 0 where all blocks are one array, each as it is packed, and MPI may read
  /// and write that array: a device's where MPI is aware of it. It is given to MPI and to nobody
  /// else, and saves the staging of what is one run of slots. A null pointer in all other cases,
  /// and where that is not known.
  void* mpi_data = nullptr;
};

/// The most slots that a function of CustomFunctions gets at a time; `copy` gets half as many.
constexpr std::size_t custom_most_slots = 2048;

/// Blocks that functions of the application move. Local.
///
/// @param slots        The most blocks that this rank can hold. [local]
/// @param block_bytes  Of a packed block; the same on all ranks. [global]
/// @param functions    `pack` and `unpack` at least. Kept, and what they hold with them, until the
///                     last copy of the storage and the last plan that ran with it are gone.
/// @return A storage for migrate(), plan_to_ranks(), execute() and all else that takes one. Storage
///         of blocks of different sizes (RaggedStorage) is not made of such functions.
///
/// Errors are reported by the collective call that uses the storage, on all ranks: invalid_argument
/// (no pack, no unpack, allocate_scratch without free_scratch or the other way round, blocks of no
/// bytes), out_of_memory, and callback_failed.
///
/// Memory: 16 KiB for lists of slots, of allocate_scratch, from here on; blocks in transit are
/// packed in the budget of the plan, which must hold two blocks. Memory that is lent to execute()
/// takes the place of the latter and must be such memory, too.
///
/// @code
/// valet::CustomFunctions functions;
/// functions.pack = [=](valet::SlotSpan slots, std::byte* packed) {
///   valet::for_each_run(slots, [&](std::uint64_t slot, std::size_t first, std::size_t count) {
///     cudaMemcpyAsync(packed + first * bytes, array + slot * bytes, count * bytes,
///                     cudaMemcpyDefault, stream);
///   });
///   cudaStreamSynchronize(stream);
/// };
/// @endcode
[[nodiscard]] VALET_EXPORT BlockStorage custom_storage(std::uint64_t slots, std::size_t block_bytes,
                                                       CustomFunctions functions);

/// Calls action(slot, first, count) for every run of ascending slots: `count` slots from `slot` on,
/// the first of them slots[first]. Local.
template <class Action>
void for_each_run(SlotSpan slots, Action&& action) {
  for (std::size_t first = 0; first < slots.size();) {
    std::size_t count = 1;
    while (first + count < slots.size() && slots[first + count] == slots[first] + count) ++count;
    action(slots[first], first, count);
    first += count;
  }
}

}  // namespace valet
