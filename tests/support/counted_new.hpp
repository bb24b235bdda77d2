// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Counters of a replaced operator new. A test that uses them lists counted_new.cpp as a source.

#include <cstddef>

namespace valet::test {

struct NewCounters {
  long long allocations = 0;      ///< calls since the program began
  std::ptrdiff_t live_bytes = 0;  ///< asked for and not freed yet
  std::ptrdiff_t peak_bytes = 0;  ///< most that were live since restart_peak()
};

[[nodiscard]] NewCounters new_counters();
/// Makes what is live now the peak.
void restart_peak();

}  // namespace valet::test
