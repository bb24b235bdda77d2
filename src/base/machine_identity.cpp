// SPDX-License-Identifier: BSD-3-Clause
#include "base/machine_identity.hpp"

#include <array>
#include <fcntl.h>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace valet {

std::uint64_t machine_identity() {
#ifdef __linux__
  // The boot identifies the machine, the namespace what process numbers mean.
  static const std::uint64_t identity = [] {
    // No stream, whose buffer of 8 KiB nobody would count.
    std::array<char, 64> boot{};
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file < 0 ? 0 : read(file, boot.data(), boot.size());
    if (file >= 0) close(file);
    struct stat space {};
    if (bytes <= 0 || stat("/proc/self/ns/pid", &space) != 0) return std::uint64_t{0};
    const std::string_view identifier(boot.data(), static_cast<std::size_t>(bytes));
    return std::uint64_t{
        std::hash<std::string>()(std::string(identifier) + std::to_string(space.st_ino))};
  }();
  return identity;
#else
  return 0;
#endif
}

}  // namespace valet
