// SPDX-License-Identifier: BSD-3-Clause
#include "base/machine_identity.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace valet {

namespace {

#ifdef __linux__
std::string_view boot_name() {
  // No stream, whose buffer of 8 KiB nobody would count.
  static std::array<char, 64> boot{};
  static const ssize_t bytes = [] {
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t read_bytes = file < 0 ? 0 : read(file, boot.data(), boot.size());
    if (file >= 0) close(file);
    return std::max(ssize_t{0}, read_bytes);
  }();
  return {boot.data(), static_cast<std::size_t>(bytes)};
}
#endif

}  // namespace

std::uint64_t boot_identity() {
#ifdef __linux__
  return boot_name().empty() ? 0 : std::uint64_t{std::hash<std::string_view>()(boot_name())};
#else
  return 0;
#endif
}

std::uint64_t machine_identity() {
#ifdef __linux__
  // The boot identifies the machine, the namespace what process numbers mean.
  static const std::uint64_t identity = [] {
    struct stat space {};
    if (boot_name().empty() || stat("/proc/self/ns/pid", &space) != 0) return std::uint64_t{0};
    return std::uint64_t{
        std::hash<std::string>()(std::string(boot_name()) + std::to_string(space.st_ino))};
  }();
  return identity;
#else
  return 0;
#endif
}

}  // namespace valet
