// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_storage.hpp>

#include <optional>
#include <span>

namespace valet::storage {

/// What is wrong with the fields of a storage: none at all, different numbers of slots, no memory,
/// rows of zero bytes, or bytes that two rows share. Local. Time and memory do not depend on the
/// number of slots, but on the number of tiles that have a start each.
[[nodiscard]] std::optional<Diagnostic> field_diagnostic(std::span<const Field> fields);

/// Whether the fields say nothing about their rows because they were never allocated: all are null
/// and have no slots, some have no extents, as a default-constructed View.
[[nodiscard]] bool is_never_allocated(std::span<const Field> fields);

/// Describes an array that may have been resized as it is now, where Field::current is given.
/// Local.
/// @return Whether anything about it changed.
bool look_again(Field& field);

}  // namespace valet::storage
