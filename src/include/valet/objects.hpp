// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Moves objects that only the application can reach, such as cells of a hash map with a vector
/// inside, in steps whose memory does not depend on how much moves.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet {

/// What the application does with its objects, which it numbers from 0 as in the call. None of the
/// functions may communicate. Where one throws, the call throws callback_failed on all ranks.
struct ObjectFunctions {
  /// Bytes of the packed object, any number; required. Called once for every object that leaves its
  /// rank, before anything moves.
  std::function<std::uint64_t(std::uint64_t object)> size;
  /// Packs an object into as many bytes; required.
  std::function<void(std::uint64_t object, std::span<std::byte> packed)> pack;
  /// Makes an object of its bytes, which lie at any address and are valid during the call;
  /// required.
  std::function<void(int source, std::span<const std::byte> packed)> unpack;
  /// The object has arrived elsewhere: frees its memory, or the extra memory of the application is
  /// not bounded. Must leave the numbers of other objects as they are.
  std::function<void(std::uint64_t object)> left;
};

/// Moves each object to its rank: Zoltan_Migrate for any container, within a budget.
///
/// Goes in steps. In each, a rank takes objects of as many bytes as its scratch holds; these are
/// packed, sent, and when all have arrived everywhere their sources call `left`, and their
/// destinations `unpack`. So an application needs memory for its own objects, before or afterwards,
/// and for what arrives in one step.
///
/// Collective over `communicator`; blocking. Objects for their own rank stay; no function is called
/// for them.
///
/// @param communicator  An intracommunicator.
/// @param count         Objects of this rank, fewer than 2^32. [local]
/// @param ranks         `count` destinations. [local]
/// @param functions     What to do with objects. [local]
/// @param options       Methods: `automatic` and `stream` divide what a rank takes in a step in
///                      proportion to what its sources have; `phased` (with parking of packed
///                      objects), `cyclic`, and `direct`, for which the budget must hold all that
///                      leaves and arrives. PhasedOptions::available_bytes is obeyed: if no rank
///                      can take its next object, out_of_memory. The order, the message size and
///                      the window say nothing here. `verify` compares checksums of what was packed
///                      and what arrived. Budgets may differ between ranks.
/// @return blocks count objects, and `phases` steps; detours are objects that waited elsewhere.
/// @throws Error invalid_argument, rank_out_of_range, budget_too_small, out_of_memory, or
///         callback_failed by `size`: the same on all ranks, and nothing has moved. callback_failed
///         by another function, out_of_memory in a step, or corrupted: some objects have moved.
///         Each is on one rank, but that for which `unpack` threw. mpi_failure: unspecified.
///
/// Order: a rank unpacks the objects of one source by ascending number, but for those that were
/// parked, which may come later. In a step those of lower sources come first. Which objects a step
/// has depends on counts, sizes and budgets, never on the timing of messages.
///
/// Memory: budget + 64 KiB + 256 * neighbours + 24 bytes for each object that leaves or arrives;
/// for root and parking 64 bytes a rank besides. An object larger than the budget raises it to what
/// two of it take.
VALET_EXPORT Report migrate_objects(MPI_Comm communicator, std::uint64_t count,
                                    std::span<const int> ranks, const ObjectFunctions& functions,
                                    const Options& options = {});

}  // namespace valet
