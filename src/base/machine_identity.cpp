// SPDX-License-Identifier: BSD-3-Clause
#include "base/machine_identity.hpp"

#ifdef __linux__
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#endif

namespace valet {

#ifdef __linux__
std::uint64_t machine_identity() {
  // The boot identifies the machine, the namespace what process numbers mean.
  static const std::uint64_t identity = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    struct stat space {};
    if (!(file >> boot) || stat("/proc/self/ns/pid", &space) != 0) return std::uint64_t{0};
    return std::uint64_t{std::hash<std::string>()(boot + std::to_string(space.st_ino))};
  }();
  return identity;
}
#else
std::uint64_t machine_identity() { return 0; }
#endif

}  // namespace valet
