/* SPDX-License-Identifier: BSD-3-Clause */

/* Stock Zoltan does not know the parameter; the front of Valet does. */

#include <valet/valet.h>

#include <mpi.h>
#include <stdio.h>
#include <zoltan.h>

int main(int argc, char** argv) {
  float version = 0;
  struct Zoltan_Struct* zz = NULL;
  int rank = 0;
  int code = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Zoltan_Initialize(argc, argv, &version);
  zz = Zoltan_Create(MPI_COMM_WORLD);
  code = Zoltan_Set_Param(zz, "MIGRATE_METHOD", "STREAM");
  Zoltan_Destroy(&zz);
  if (rank == 0)
    printf("Valet %d.%d.%d is %s Zoltan\n", VALET_VERSION_MAJOR, VALET_VERSION_MINOR,
           VALET_VERSION_PATCH, code == ZOLTAN_OK ? "in front of" : "behind");
  MPI_Finalize();
  return code == ZOLTAN_OK ? 0 : 1;
}
