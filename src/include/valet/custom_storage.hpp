// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks in memory that only the application can move, such as arrays from cudaMalloc() or
/// hipMalloc(): the application supplies functions that pack and unpack them. Kokkos Views do not
/// need this; see valet::kokkos::blocks().

#include <valet/block_storage.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet {

/// Slots in the order in which their blocks are packed. The list is in memory from
/// CustomFunctions::allocate_scratch, so that kernels can read it.
using SlotSpan = std::span<const std::uint64_t>;

/// Functions of the application that move blocks between slots and packed memory. A packed block is
/// `block_bytes` bytes: the parts of all arrays, in an order that the application chooses and that
/// is the same on all ranks. Packed blocks are contiguous.
///
/// Bytes of a packed block that are no content, such as the padding of a struct, may be left
/// unwritten or have any value. With Options::verify they are cleared before each pack, and left
/// out of the checksums where they differ: before anything moves, every block is packed twice, and
/// one of another rank is unpacked into a free slot. A pack that writes past its blocks is then
/// invalid_argument on all ranks.
///
/// The functions are called by the thread that calls Valet, and must complete their work before
/// they return, including asynchronous work. An exception from any of them becomes callback_failed
/// on all ranks (see execute()), and none is called again in that execution. They must not
/// communicate or call Valet.
struct CustomFunctions {
  /// Packs the blocks of the given slots, at most custom_most_slots per call, and leaves the slots
  /// unchanged.
  std::function<void(SlotSpan slots, std::byte* packed)> pack;
  /// Unpacks one packed block into each of the given slots; no slot is listed twice.
  std::function<void(const std::byte* packed, SlotSpan slots)> unpack;
  /// Copies the block in slot from[k] to slot to[k] for all k, in any order or concurrently: no
  /// slot is in both lists or twice in `to`. If not given, Valet packs and unpacks the blocks.
  std::function<void(SlotSpan from, SlotSpan to)> copy;
  /// Allocates memory that the host, MPI, `pack` and `unpack` can access, for example with
  /// cudaMallocHost(), for packed blocks and lists of slots. Must be aligned as by malloc(); a null
  /// pointer means out_of_memory. If not given: host memory, in pages.
  std::function<void*(std::size_t bytes)> allocate_scratch;
  /// Frees memory from allocate_scratch; required with it. May be called after the last storage is
  /// gone, until the last plan is destroyed. Must not throw.
  std::function<void(void* memory)> free_scratch;
  /// Optional: waits for work of the application that may still access the blocks. Every collective
  /// call calls it once before it accesses a block.
  std::function<void()> synchronize;
  /// The address of slot 0 if all blocks form one array in packed form that MPI can read and write,
  /// as device memory with a device-aware MPI. It is only passed to MPI, and avoids staging of
  /// contiguous runs of slots. Otherwise, or if in doubt, a null pointer.
  void* mpi_data = nullptr;
};

/// Most slots per call of a function in CustomFunctions; `copy` gets at most half as many.
constexpr std::size_t custom_most_slots = 2048;

/// Makes a storage whose blocks are moved by functions of the application. Local.
///
/// @param slots        The most blocks that this rank can hold. [local]
/// @param block_bytes  Bytes of a packed block; the same on all ranks. [global]
/// @param functions    At least `pack` and `unpack`. Kept, with everything that they capture, until
///                     the last copy of the storage and the last plan executed with it are
///                     destroyed.
/// @return A storage for migrate(), plan_to_ranks(), execute() and other calls that take a
///         BlockStorage. Blocks of different sizes (RaggedStorage) cannot use such functions.
///
/// Errors are reported on all ranks by the collective call that uses the storage: invalid_argument
/// (no pack, no unpack, only one of allocate_scratch and free_scratch, blocks of zero bytes),
/// out_of_memory, and callback_failed.
///
/// Memory: 16 KiB for lists of slots, from allocate_scratch, for the lifetime of the storage.
/// Blocks in transit are packed within the budget of the plan, which must hold two blocks. A
/// workspace lent to execute() replaces that scratch and must be accessible in the same way.
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

/// Calls action(slot, first, count) for every run of consecutive slots in the list: `count` slots
/// starting with `slot`, which is slots[first]. Local.
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
