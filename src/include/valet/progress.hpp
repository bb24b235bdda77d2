// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Progress of a migration, as reported to the application.

#include <valet/detail/cxx20.hpp>

#include <cstdint>

namespace valet {

/// Progress of a migration on this rank. A block counts when it leaves and when it arrives.
struct Progress {
  std::uint64_t blocks_done = 0;   ///< blocks that have left or arrived
  std::uint64_t blocks_total = 0;  ///< blocks that leave or arrive
  std::uint64_t bytes_done = 0;    ///< bytes of blocks_done
  std::uint64_t bytes_total = 0;   ///< bytes of blocks_total
  double elapsed_seconds = 0;      ///< since the execution began
};

}  // namespace valet
