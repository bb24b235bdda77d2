// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Room for what a partition brings, where a rank has too little.

#include "mpi/channel.hpp"
#include "rebalance/settings.hpp"

#include <cstdint>

namespace valet::rebalance {

/// The storage of this rank, which the application has enlarged if it had too little room. All
/// ranks have found theirs right before. Collective; one reduction.
/// @throws Error callback_failed where the application throws on a rank, infeasible where what it
///         returns has too little room, invalid_argument where there is no function to ask, and
///         what is wrong with a BlockStorage that it returns: on all ranks alike.
[[nodiscard]] BlockStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                                         std::uint64_t required, const BlockStorage& storage);
[[nodiscard]] RaggedStorage grown_storage(const mpi::Channel& communicator,
                                          const Settings& settings, const RaggedRoom& required,
                                          const RaggedStorage& storage);

}  // namespace valet::rebalance
