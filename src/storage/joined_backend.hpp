// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_storage.hpp>

namespace valet::storage {

/// Two storages of the same slots as one: so fields move along with blocks that only their own
/// backend knows how to touch. A packed block is that of the first, then that of the second. Where
/// one of them cannot be used, diagnostic() of the result says so. Memory: up to 64 KiB.
/// @param first   Any.
/// @param second  Has as many slots, in memory of the host.
[[nodiscard]] VALET_EXPORT BlockStorage joined(const BlockStorage& first,
                                               const BlockStorage& second);

}  // namespace valet::storage
