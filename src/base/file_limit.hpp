// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <sys/resource.h>

namespace valet::detail {

/// Bytes that a file may have (ulimit -f). Beyond, the system ends the process (SIGXFSZ) where an
/// error is wanted.
[[nodiscard]] inline std::uint64_t most_file_bytes() {
  struct rlimit limit {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
             ? limit.rlim_cur
             : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace valet::detail
