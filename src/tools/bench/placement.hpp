// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which cores the ranks run on: those that share one measure each other.

#include <bitset>
#include <cstddef>
#include <string>
#include <vector>

namespace valet::bench {

/// The cores that a rank may run on; none where that is not known.
using Cores = std::bitset<1024>;

/// How ranks stand on the cores of a machine; the worse, the larger.
enum class Placement {
  bound,           ///< each to one core, its own
  apart,           ///< each has several, all its own
  shared,          ///< the system moves them between cores that others use, too
  oversubscribed,  ///< there are more ranks than cores
  unknown,
};

[[nodiscard]] inline Placement placement_of(const std::vector<Cores>& ranks) {
  Cores all;
  std::size_t sum = 0;
  for (const Cores& cores : ranks) {
    if (cores.none()) return Placement::unknown;
    all |= cores;
    sum += cores.count();
  }
  if (ranks.size() > all.count()) return Placement::oversubscribed;
  if (sum > all.count()) return Placement::shared;
  return sum == ranks.size() ? Placement::bound : Placement::apart;
}

/// A core of its own for each rank, the lowest that is left; nothing where there are too few.
[[nodiscard]] inline std::vector<std::size_t> own_cores(const std::vector<Cores>& ranks) {
  std::vector<std::size_t> own;
  Cores taken;
  for (const Cores& cores : ranks) {
    std::size_t core = 0;
    while (core < cores.size() && (!cores[core] || taken[core])) ++core;
    if (core == cores.size()) return {};
    taken.set(core);
    own.push_back(core);
  }
  return own;
}

/// Says how the ranks of MPI_COMM_WORLD run. Collective.
/// @param bind  Where ranks share cores each gets one first, if there are enough.
[[nodiscard]] std::string place_ranks(bool bind);

}  // namespace valet::bench
