// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the system says of this process's memory.

#include <fstream>
#include <limits>
#include <string>

namespace valet::test {

/// A value of /proc/self/status in bytes; -1 where there is none of that name.
inline long long status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == name + ":") {
      long long kibibytes = -1;
      status >> kibibytes;
      return kibibytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return -1;
}

/// Sets the peak of the resident size to what is resident now; false where the system refuses.
inline bool restart_resident_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

}  // namespace valet::test
