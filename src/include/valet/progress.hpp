// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Progress of what takes long, as it is reported to the application.

#include <cstdint>

namespace valet {

/// How far a migration is on this rank. Blocks count when they leave it and when they arrive.
struct Progress {
  std::uint64_t blocks_done = 0;   ///< that have left or arrived
  std::uint64_t blocks_total = 0;  ///< that leave or arrive
  std::uint64_t bytes_done = 0;    ///< size of blocks_done
  std::uint64_t bytes_total = 0;   ///< size of blocks_total
  double elapsed_seconds = 0;      ///< since the execution began
};

}  // namespace valet
