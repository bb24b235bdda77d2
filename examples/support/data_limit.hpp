// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the operating system allows this process to have.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <sys/resource.h>

namespace example {

/// A value of /proc/self/status, which are in KiB; 0 on systems that do not have it.
inline std::uint64_t status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == name) {
      std::uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

/// Lets the operating system refuse this process more than `bytes` of data, RLIMIT_DATA: private
/// writable memory, which is what malloc and Kokkos take. RLIMIT_AS would also count the code of
/// libraries and Open MPI's shared segments, 160 MB before the program has done anything and more
/// for each rank on the node, so that a limit would say little about the data. Local.
/// @throws std::runtime_error when the system does not allow it.
inline void limit_data(std::uint64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = bytes;
  if (setrlimit(RLIMIT_DATA, &limit) != 0)
    throw std::runtime_error("the system does not set a limit of " + std::to_string(bytes) +
                             " bytes of data: " + std::strerror(errno));
}

/// Takes the limit back, as far as the system allows: lifting one's own cannot fail.
inline void lift_data_limit() noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_DATA, &limit);
}

/// What the limit counts: bytes of data this process has now. Thread stacks count in full. 0 where
/// the system does not report it.
[[nodiscard]] inline std::uint64_t data_bytes() { return status_bytes("VmData:"); }

}  // namespace example
