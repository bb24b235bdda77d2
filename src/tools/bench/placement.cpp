// SPDX-License-Identifier: BSD-3-Clause
#include "placement.hpp"

#include "base/machine_identity.hpp"
#include "measure.hpp"

#include <array>
#include <fstream>
#if defined(__linux__)
#include <sched.h>
#endif

namespace valet::bench {
namespace {

#if defined(__linux__)
/// The first of the processors that are threads of the same core.
std::size_t core_of(std::size_t processor) {
  std::size_t first = processor;
  std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                "/topology/thread_siblings_list") >>
      first;
  return first;
}

/// The cores that this rank may run on.
/// @param own  From now on only this one.
Cores allowed_cores(std::optional<std::size_t> own = {}) {
  Cores cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (std::size_t k = 0; k < cores.size(); ++k) {
    if (!CPU_ISSET(k, &allowed)) continue;
    if (own && core_of(k) != *own)
      CPU_CLR(k, &allowed);
    else
      cores.set(core_of(k));
  }
  if (own) static_cast<void>(sched_setaffinity(0, sizeof allowed, &allowed));
  return cores;
}
#else
Cores allowed_cores(std::optional<std::size_t> = {}) { return {}; }
#endif

/// Those of all ranks of a machine. Collective.
std::vector<Cores> cores_of_ranks(MPI_Comm machine) {
  int size = 0;
  MPI_Comm_size(machine, &size);
  std::vector<Cores> ranks(static_cast<std::size_t>(size));
  const Cores mine = allowed_cores();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, ranks.data(), sizeof mine, MPI_BYTE, machine);
  return ranks;
}

std::string counted(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

std::string place_ranks(bool bind) {
  // MPI takes containers for nodes, which may have the same cores.
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(boot_identity() >> 33U), 0, &machine);
  int rank = 0;
  MPI_Comm_rank(machine, &rank);
  std::vector<Cores> ranks = cores_of_ranks(machine);
  const std::vector<std::size_t> own = own_cores(ranks);
  if (bind && placement_of(ranks) == Placement::shared && !own.empty()) {
    allowed_cores(own[static_cast<std::size_t>(rank)]);
    ranks = cores_of_ranks(machine);
  }
  MPI_Comm_free(&machine);
  Cores all;
  for (const Cores& cores : ranks) all |= cores;
  constexpr std::array how{", bound", ", none shared", ", not bound", ": oversubscribed",
                           ", placement unknown"};
  const auto worst = largest_of_ranks(static_cast<std::uint64_t>(placement_of(ranks)));
  return counted(static_cast<std::uint64_t>(world_size()), "rank") + " on " +
         counted(sum_of_ranks(rank == 0 ? all.count() : 0), "core") + how[worst];
}

}  // namespace valet::bench
