// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace valet::bench {

/// What this process grows by at its peak, by the system's own count. Memory that was freed before
/// is given back first, and the system's peak is set to what is resident then: what earlier calls
/// took does not hide what the next one takes.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    // 5 sets the peak to what is resident now.
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = status_bytes("VmRSS");
  }

  /// Bytes beyond what was resident when this was made; 0 where the system does not say.
  [[nodiscard]] std::uint64_t grown() const {
    const std::uint64_t peak = status_bytes("VmHWM");
    return peak - std::min(peak, before_);
  }

 private:
  /// A line of /proc/self/status in bytes; 0 where the system has none.
  static std::uint64_t status_bytes(const std::string& key) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
    return 0;
  }

  std::uint64_t before_;
};

/// While it lives, malloc gives freed memory back at once, so that a peak is what is in use. By
/// itself malloc keeps more and more the longer a program runs, which would make a growth depend on
/// what ran before; so it does again afterwards.
class FreedAtOnce {
 public:
  FreedAtOnce() {
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 10);
  }
  FreedAtOnce(const FreedAtOnce&) = delete;
  FreedAtOnce& operator=(const FreedAtOnce&) = delete;
  ~FreedAtOnce() { keep_freed_memory(); }

  /// Lets malloc keep as many bytes as it may keep by itself: for times that do not depend on what
  /// ran before.
  static void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
  }
};

}  // namespace valet::bench
