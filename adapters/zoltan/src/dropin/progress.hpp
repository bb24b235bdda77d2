// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/progress.hpp>

#include <cstdint>

namespace valet::zoltan {

/// How much has arrived of what a rank expects, where MIGRATE_PROGRESS asks for it: a bar on a
/// terminal, a line at every tenth elsewhere.
[[nodiscard]] inline ProgressBar progress_of_arrivals(bool visible, std::uint64_t expected_bytes) {
  if (!visible) return {};
  return ProgressBar({.title = "Zoltan migration: arrivals on rank 0",
                      .total = expected_bytes,
                      .bytes = true,
                      .lines_elsewhere = true});
}

}  // namespace valet::zoltan
