// SPDX-License-Identifier: BSD-3-Clause

// A code that calls Zoltan attaches its Views. From then on parameters of Zoltan say how particles
// are partitioned and moved, and Zoltan_LB_Partition does both. Valet has to be in front of Zoltan
// on the link line: valet_enable_zoltan() in CMake.
//
//   mpirun -n 4 05_zoltan_parameters
//   1000 particles are there, at most 250 on a rank

#include <valet/zoltan/attached.hpp>

#include <Kokkos_Core.hpp>
#include <zoltan.h>

#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  int rank = 0, right = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  // The points of a cube. Every rank has rows for all of them; those of rank 0 are in use.
  std::uint64_t count = rank == 0 ? 1000 : 0;
  const Kokkos::View<double* [3], Kokkos::HostSpace> position("position", 1000);
  const Kokkos::View<double*, Kokkos::HostSpace> id("id", 1000), work("work", 1000);
  for (int k = 0; k < static_cast<int>(count); ++k) {
    const int place[] = {k % 10, k / 10 % 10, k / 100};
    for (int d = 0; d < 3; ++d) position(k, d) = place[d];
    id(k) = k;
    work(k) = 1;
  }

  float version = 0;
  Zoltan_Initialize(argc, argv, &version);
  Zoltan_Struct* zz = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zz, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zz, "LB_METHOD", "HSFC");
  Zoltan_Set_Param(zz, "AUTO_MIGRATE", "TRUE");
  Zoltan_Set_Param(zz, "RETURN_LISTS", "NONE");
  Zoltan_Set_Param(zz, "MIGRATE_MEMORY", "256K");  // scratch of this rank

  valet::zoltan::Attached particles(zz, count, valet::ref(position), valet::ref(id),
                                    valet::ref(work));
  particles.coordinates(valet::ref(position)).weights(valet::ref(work));

  int changes, gid_entries, lid_entries, num_import, num_export;
  int *import_procs, *import_parts, *export_procs, *export_parts;
  ZOLTAN_ID_PTR import_gids, import_lids, export_gids, export_lids;
  Zoltan_LB_Partition(zz, &changes, &gid_entries, &lid_entries, &num_import, &import_gids,
                      &import_lids, &import_procs, &import_parts, &num_export, &export_gids,
                      &export_lids, &export_procs, &export_parts);
  count = particles.count();  // partitioned in cells, and moved in place

  // The same without a call of Zoltan, in any link order. Nothing changes this time.
  if (particles.partition()) count = particles.count();

  int most = static_cast<int>(count);
  for (std::size_t k = 0; k < count; ++k)
    if (id(k) == position(k, 0) + 10 * position(k, 1) + 100 * position(k, 2)) ++right;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d particles are there, at most %d on a rank\n", right, most);
  Zoltan_Destroy(&zz);
  MPI_Finalize();
  return right == 1000 ? 0 : 1;
}
