// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Storages that are enlarged where a rank will hold more than they have room for.

#include <valet/block_storage.hpp>
#include <valet/error.hpp>
#include <valet/ragged_storage.hpp>

#include <cstdint>
#include <optional>

namespace valet::storage {

/// Enlarges this rank's storage if it lacks room and grows: before anything moves, in a call whose
/// ranks agree next on what is wrong. One that does not grow is left to what needs the room. Local.
/// @return What is wrong with a BlockStorage; out_of_memory, or callback_failed for what else is
///         thrown; field_mismatch for other arrays; infeasible where there is too little room then.
[[nodiscard]] std::optional<Diagnostic> grow(const BlockStorage& storage, std::uint64_t required);
[[nodiscard]] std::optional<Diagnostic> grow(const RaggedStorage& storage,
                                             const RaggedRoom& required);

}  // namespace valet::storage
