// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <cstdio>

namespace valet::zoltan {

void Progress::advance(std::uint64_t bytes) {
  done_ += bytes;
  if (!visible_ || expected_ == 0) return;
  const auto tenths = static_cast<std::uint64_t>(10.0 * static_cast<double>(done_) /
                                                 static_cast<double>(expected_));
  if (tenths == tenths_) return;
  tenths_ = tenths;
  std::fprintf(stderr, "[0] Zoltan migration: %3d %% of %.1f MiB arrived on rank 0\n",
               static_cast<int>(10 * tenths), static_cast<double>(expected_) / (1 << 20));
}

}  // namespace valet::zoltan
