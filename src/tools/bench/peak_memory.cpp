// SPDX-License-Identifier: BSD-3-Clause
#include "peak_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace valet::bench {
namespace {

/// A line of /proc/self/status in bytes; 0 where the system has none.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace

FreedAtOnce::FreedAtOnce() {
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
}

void FreedAtOnce::keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

PeakMemory::PeakMemory() {
  malloc_trim(0);
  // 5 sets the peak to what is resident now.
  std::ofstream("/proc/self/clear_refs") << "5";
  before_ = status_bytes("VmRSS");
}

std::uint64_t PeakMemory::grown() const {
  const std::uint64_t peak = status_bytes("VmHWM");
  return peak - std::min(peak, before_);
}

}  // namespace valet::bench
