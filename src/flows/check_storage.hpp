// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"
#include <valet/error.hpp>
#include <valet/storage_backend.hpp>

#include <optional>

namespace valet::flows {

/// Why this rank cannot move the blocks of a plan in a storage. Local.
[[nodiscard]] std::optional<Diagnostic> check_storage(const plan::State& state,
                                                      const StorageBackend& backend);

/// What a bound plan cannot do without its ranks agreeing on it each time. Local.
[[nodiscard]] std::optional<Diagnostic> check_binding(const plan::State& state,
                                                      const StorageBackend& backend);

}  // namespace valet::flows
