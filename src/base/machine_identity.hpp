// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstdint>

namespace valet {

/// Equal on processes of one machine, in whatever containers; 0 where nothing can be shared. Local.
[[nodiscard]] VALET_EXPORT std::uint64_t boot_identity();
/// Equal on those that see each other's process numbers, too. Local.
[[nodiscard]] std::uint64_t machine_identity();

}  // namespace valet
