// SPDX-License-Identifier: BSD-3-Clause

// Particles in Views, attached to Zoltan. A file of its parameters says the rest: every LB_METHOD
// partitions the particles and moves them in place. It is read twice, then under a limit: the
// memory that there is, and the bound that Valet promises. one_door.c and one_door.f90 do the same.

#include "particles.hpp"
#include "support/data_limit.hpp"
#include "support/launch.hpp"
#include <valet/zoltan/attached.hpp>

#include <zoltan.h>

#include <iostream>

namespace {

/// Partitions, and tells what that took. @return The bytes that Valet promises; 0 after an error.
std::uint64_t step(Zoltan_Struct* zoltan, const valet::zoltan::Attached& attached, bool is_told) {
  int n[5], *lists[4];  // RETURN_LISTS NONE
  ZOLTAN_ID_PTR ids[4];
  const int code =
      Zoltan_LB_Partition(zoltan, &n[0], &n[1], &n[2], &n[3], &ids[0], &ids[1], &lists[0],
                          &lists[1], &n[4], &ids[2], &ids[3], &lists[2], &lists[3]);
  const valet::Report all = valet::summed_over_ranks(attached.result().report, MPI_COMM_WORLD);
  std::uint64_t peak = std::max(all.peak_extra_bytes, attached.result().partition_extra_bytes);
  MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  const auto neighbours = static_cast<std::uint64_t>(all.ranks - 1);
  const std::uint64_t promised = all.budget_bytes + 65536 + 256 * neighbours + 12 * slots;
  if (is_told)
    std::cout << "  by " << all.method << ": ASPEN's segments " << all.segments << ", peak "
              << peak / 1024 << " of " << promised / 1024 << " KiB. " << all.reason << '\n';
  return code == ZOLTAN_OK && peak <= promised ? promised : 0;
}

int run(int argc, char** argv, bool prints) {
  const char* const path = argc > 1 ? argv[1] : "one_door.txt";
  const int rank = example::rank_of(MPI_COMM_WORLD);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  float version = 0;
  Zoltan_Initialize(argc, argv, &version);
  const Particles particles(each * static_cast<std::uint64_t>(rank));
  const auto before = sums_of(particles, each);
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  valet::zoltan::Attached attached(zoltan, each, valet::ref(particles.position),
                                   valet::ref(particles.velocity), valet::ref(particles.work),
                                   valet::ref(particles.id));
  attached.coordinates(valet::ref(particles.position)).weights(valet::ref(particles.work));
  int wrong = 0;
  for (int pass = 0; pass < 2; ++pass) {
    std::uint64_t promised = 0;
    std::ifstream file(path);
    for (std::string name, value; file >> name >> value;) {
      wrong += Zoltan_Set_Param(zoltan, name.c_str(), value.c_str()) != ZOLTAN_OK;
      if (pass == 1 && prints) std::cout << name << ' ' << value << '\n';
      if (name != "LB_METHOD") continue;
      promised = step(zoltan, attached, pass == 1 && prints);
      wrong += sums_of(particles, attached.count()) != before || promised == 0;
    }
    wrong += promised == 0;  // no method in the file
    if (pass == 0) example::limit_data(example::data_bytes() + promised);
  }
  wrong += std::malloc(sizeof(double[6][slots])) != nullptr;  // a second copy does not fit
  Zoltan_Destroy(&zoltan);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (prints && wrong == 0) std::cout << "every particle is there once\n";
  return wrong;
}

}  // namespace

int main(int argc, char** argv) { return example::launch(argc, argv, "one_door", run); }
