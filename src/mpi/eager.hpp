// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"

#include <cstddef>

namespace valet::mpi {

/// Bytes that a message to another node may have to leave at once, without an answer of its
/// receiver; 0 where there is no other node, or that is not known. Local.
[[nodiscard]] std::size_t eager_bytes(const Channel& channel);

}  // namespace valet::mpi
