// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Counters of a replaced operator new. A test that uses them lists counted_new.cpp as a source.

#include <cstddef>

namespace valet::test {

struct NewCounters {
  long long allocations = 0;            ///< calls since the program began
  std::ptrdiff_t live_bytes = 0;        ///< asked for and not freed yet
  std::ptrdiff_t peak_bytes = 0;        ///< most that were live since restart_peak()
  std::ptrdiff_t mapped_bytes = 0;      ///< of shared memory
  std::ptrdiff_t asked_peak_bytes = 0;  ///< most that were live or mapped since restart_peak()
};

[[nodiscard]] NewCounters new_counters();
/// Makes what is live now the peak.
void restart_peak();

/// What calls of Valet have asked the system for at once since an object of this was made, shared
/// memory of all ranks included. Without MPI, whose memory comes from malloc.
class AskedBytes {
 public:
  AskedBytes() {
    restart_peak();
    before_ = new_counters().asked_peak_bytes;
  }
  [[nodiscard]] unsigned long long most() const {
    constexpr std::ptrdiff_t held_back = 24 << 10;  // by malloc, once for each thread
    return static_cast<std::size_t>(new_counters().asked_peak_bytes - before_ + held_back);
  }

 private:
  std::ptrdiff_t before_;
};

}  // namespace valet::test
