// SPDX-License-Identifier: BSD-3-Clause

#include <valet/valet.hpp>
#include <valet/version.hpp>

#include <mpi.h>

#ifdef CONSUMER_USES_KOKKOS
#include <Kokkos_Core.hpp>
#endif
#ifdef CONSUMER_USES_ZOLTAN
#include <zoltan.h>
#endif

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

#ifdef CONSUMER_USES_KOKKOS
  Kokkos::initialize();
  Kokkos::finalize();
#endif
#ifdef CONSUMER_USES_ZOLTAN
  float zoltan_version = 0;
  Zoltan_Initialize(argc, argv, &zoltan_version);
#endif

  if (rank == 0)
    std::printf("Valet %d.%d.%d on %d ranks\n", VALET_VERSION_MAJOR, VALET_VERSION_MINOR,
                VALET_VERSION_PATCH, ranks);
  MPI_Finalize();
  return 0;
}
