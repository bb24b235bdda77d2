// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_storage.hpp>

#include <optional>
#include <span>

namespace valet::storage {

/// What is wrong with the fields of a storage: none at all, different numbers of slots, no memory,
/// rows of zero bytes, or bytes that two rows share. Local. Compares all pairs of fields, in time
/// that does not depend on the number of slots, and allocates nothing per row.
[[nodiscard]] std::optional<Diagnostic> field_diagnostic(std::span<const Field> fields);

/// Whether the fields say nothing about their rows because they were never allocated: all are null
/// and have no slots, some have no extents, as a default-constructed View.
[[nodiscard]] bool is_never_allocated(std::span<const Field> fields);

/// Describes an array that may have been resized as it is now, where Field::current is given.
/// Local.
/// @return Whether anything about it changed.
bool look_again(Field& field);

/// Whether two rows of `field` have a byte in common. Its reach in memory must fit 62 bits.
[[nodiscard]] bool rows_overlap(const Field& field);

/// Whether a row of `a` and one of `b` have a byte in common. As above; each for itself has no rows
/// that overlap.
[[nodiscard]] bool fields_overlap(const Field& a, const Field& b);

}  // namespace valet::storage
