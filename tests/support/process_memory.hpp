// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the system says of this process's memory.

#include "testing.hpp"

#include <fstream>

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

/// Bytes of this process's address space that are Valet's shared memory.
inline std::size_t mapped_shared_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (!contains(line, "memfd:valet")) continue;
    std::size_t end_at = 0;
    const std::size_t begin = std::stoull(line, &end_at, 16);
    bytes += std::stoull(line.substr(end_at + 1), nullptr, 16) - begin;
  }
  return bytes;
}

}  // namespace valet::test
