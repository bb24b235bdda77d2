// SPDX-License-Identifier: BSD-3-Clause
#include "device_memory.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <map>

namespace valet::bench {
namespace {

struct Use {
  std::uint64_t now = 0;
  std::uint64_t most = 0;
};

/// Kokkos calls plain functions, so what they count is theirs.
std::map<std::string, Use>& uses() {
  static std::map<std::string, Use> by_space;
  return by_space;
}

void allocated(Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
  Use& use = uses()[space.name];
  use.now += bytes;
  use.most = std::max(use.most, use.now);
}

void freed(Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
  Use& use = uses()[space.name];
  // What was allocated before we listened was not counted.
  use.now -= std::min(use.now, bytes);
}

}  // namespace

KokkosMemory::KokkosMemory() {
  uses().clear();
  Kokkos::Tools::Experimental::set_allocate_data_callback(allocated);
  Kokkos::Tools::Experimental::set_deallocate_data_callback(freed);
}

KokkosMemory::~KokkosMemory() {
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
}

void KokkosMemory::restart() {
  for (auto& [space, use] : uses()) use.most = use.now;
}

std::uint64_t KokkosMemory::most_in(const std::string& space) const {
  const auto found = uses().find(space);
  return found == uses().end() ? 0 : found->second.most;
}

std::uint64_t KokkosMemory::most_outside(const std::string& space) const {
  std::uint64_t sum = 0;
  for (const auto& [name, use] : uses())
    if (name != space) sum += use.most;
  return sum;
}

}  // namespace valet::bench
