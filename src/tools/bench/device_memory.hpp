// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace valet::bench {

/// What Kokkos allocates on this rank while one of these lives, by memory space: every View and
/// every block of kokkos_malloc, with any back end. Memory that a device driver takes for itself is
/// not in it. One at a time, after Kokkos::initialize().
class KokkosMemory {
 public:
  KokkosMemory();
  KokkosMemory(const KokkosMemory&) = delete;
  KokkosMemory& operator=(const KokkosMemory&) = delete;
  ~KokkosMemory();

  /// High-water marks start anew, at what is allocated now.
  void restart();
  /// The most bytes that were allocated at a time since restart().
  [[nodiscard]] std::uint64_t most_in(const std::string& space) const;
  /// The same in all other spaces, each at its own time.
  [[nodiscard]] std::uint64_t most_outside(const std::string& space) const;
};

}  // namespace valet::bench
