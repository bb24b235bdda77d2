// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What happens between a partition and its migration where a rank has too few slots for it.

#include "mpi/channel.hpp"
#include <valet/block_storage.hpp>

#include <cstdint>
#include <functional>

namespace valet::zoltan {

/// Whether some rank has. Collective; one reduction.
/// @throws Error what a rank finds wrong with its storage, on all ranks alike.
[[nodiscard]] bool some_rank_lacks_slots(const mpi::Channel& communicator, std::uint64_t required,
                                         const BlockStorage& storage);

/// The storage of this rank, which `grow` has enlarged if it had too few slots. Collective.
/// @throws Error callback_failed where `grow` throws on a rank, infeasible where what it returns
/// has
///         too few slots: on all ranks alike.
[[nodiscard]] BlockStorage grown_storage(const mpi::Channel& communicator,
                                         const std::function<BlockStorage(std::uint64_t)>& grow,
                                         std::uint64_t required, const BlockStorage& storage);

}  // namespace valet::zoltan
