// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet {

/// Equal on processes that see each other's process numbers; 0 where nothing can be shared. Local.
[[nodiscard]] std::uint64_t machine_identity();

}  // namespace valet
