// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Limits of the system on this process, for a time.

#include <cstdint>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace valet::test {

/// A lower limit (ulimit) until the end of a scope.
class Limited {
 public:
  Limited(int resource, std::uint64_t most) : resource_(static_cast<Resource>(resource)) {
    getrlimit(resource_, &before_);
    const struct rlimit limit { std::min<rlim_t>(most, before_.rlim_max), before_.rlim_max };
    setrlimit(resource_, &limit);
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() { setrlimit(resource_, &before_); }

 private:
  using Resource = decltype(RLIMIT_AS);
  Resource resource_;
  struct rlimit before_ {};
};

/// Bytes of address space that this process has taken.
inline std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace valet::test
