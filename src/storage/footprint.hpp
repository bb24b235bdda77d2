// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which bytes the rows of fields occupy: whether two rows have one in common.

#include <valet/block_storage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace valet::storage {

/// The slots of a part of a field: of a tile, where each has a start of its own, else of all.
[[nodiscard]] std::uint64_t slots_of_part(const Field& field, std::size_t part);

/// Whether two rows of `field` have a byte in common; of different tiles only where no start is
/// given for each. Its reach in memory must fit 62 bits. Time and memory do not depend on the
/// number of slots.
[[nodiscard]] bool rows_overlap(const Field& field);

/// Two fields of which rows have a byte in common, the first one first; or twice a field in which
/// tiles have. Each row for itself is without overlaps. Takes time and memory for each tile that
/// has a start of its own, else for each field.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> first_overlap(
    std::span<const Field> fields);

}  // namespace valet::storage
