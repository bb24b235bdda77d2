// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Room for what a partition brings, where a rank has too little.

#include "mpi/channel.hpp"
#include "rebalance/settings.hpp"

#include <cstdint>
#include <optional>

namespace valet::rebalance {

/// The error that when_infeasible is grow, but neither a function nor the storage by itself can
/// enlarge it: for Settings::wrong. Local.
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_growth(const Settings& settings,
                                                                  const BlockStorage& storage);
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_growth(const Settings& settings,
                                                                  const RaggedStorage& storage);

/// The storage of this rank, which is enlarged if it had too little room. All ranks have found
/// theirs right before. Collective; one reduction.
/// @throws Error as storage::grow() finds it, on all ranks alike.
[[nodiscard]] BlockStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                                         std::uint64_t required, const BlockStorage& storage);
[[nodiscard]] RaggedStorage grown_storage(const mpi::Channel& communicator,
                                          const Settings& settings, const RaggedRoom& required,
                                          const RaggedStorage& storage);

}  // namespace valet::rebalance
