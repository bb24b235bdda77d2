/* SPDX-License-Identifier: BSD-3-Clause */

/* An application in C: the snippets of docs/petsc.md, word for word. */

#include "require.h"
#include <valet/petsc.h>

static PetscErrorCode move(DM swarm) {
  PetscFunctionBegin;
  PetscCall(ValetDMSwarmMigrate(swarm, NULL, NULL));
  PetscFunctionReturn((PetscErrorCode)0);
}

static PetscErrorCode move_within(DM swarm, size_t megabytes) {
  PetscFunctionBegin;
  Valet_Options options = Valet_Options_default();
  Valet_Report report = Valet_Report_default();
  options.budget_bytes = megabytes << 20;
  options.order = VALET_ORDER_STABLE;
  PetscCall(ValetDMSwarmMigrate(swarm, &options, &report));
  require(report.peak_extra_bytes <= report.extra_bytes_bound, "memory");
  PetscFunctionReturn((PetscErrorCode)0);
}

/* All points go one rank on. */
static void shift(DM swarm, int to) {
  PetscInt count = 0;
  PetscInt* ranks = NULL;
  require(!DMSwarmGetLocalSize(swarm, &count), "a size");
  require(!DMSwarmGetField(swarm, DMSwarmField_rank, NULL, NULL, (void**)&ranks), "ranks");
  for (PetscInt k = 0; k < count; ++k) ranks[k] = to;
  require(!DMSwarmRestoreField(swarm, DMSwarmField_rank, NULL, NULL, (void**)&ranks), "restored");
}

int main(int argc, char** argv) {
  require(!PetscInitialize(&argc, &argv, NULL, NULL), "PETSc");
  int rank = 0, size = 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  DM swarm = NULL;
  require(!DMCreate(PETSC_COMM_WORLD, &swarm) && !DMSetType(swarm, DMSWARM) &&
              !DMSwarmSetType(swarm, DMSWARM_BASIC) && !DMSwarmInitializeFieldRegister(swarm) &&
              !DMSwarmRegisterPetscDatatypeField(swarm, "mass", 1, PETSC_DOUBLE) &&
              !DMSwarmFinalizeFieldRegister(swarm) && !DMSwarmSetLocalSizes(swarm, 3 + rank, 0),
          "a swarm");
  double* mass = NULL;
  require(!DMSwarmGetField(swarm, "mass", NULL, NULL, (void**)&mass), "a field");
  for (int k = 0; k < 3 + rank; ++k) mass[k] = 10 * rank + k;
  require(!DMSwarmRestoreField(swarm, "mass", NULL, NULL, (void**)&mass), "restored");
  shift(swarm, (rank + 1) % size);
  require(!move(swarm), "a move");
  shift(swarm, (rank + 1) % size);
  require(!move_within(swarm, 1), "another move");

  const int from = (rank + 2 * (size - 1)) % size;
  PetscInt count = 0;
  require(!DMSwarmGetLocalSize(swarm, &count) && count == 3 + from, "the points of that rank");
  require(!DMSwarmGetField(swarm, "mass", NULL, NULL, (void**)&mass), "a field");
  double sum = 0;
  for (int k = 0; k < count; ++k) sum += mass[k];
  require(sum == (3 + from) * (10 * from + 0.5 * (2 + from)), "their masses");
  require(!DMSwarmRestoreField(swarm, "mass", NULL, NULL, (void**)&mass), "restored");
  require(!DMDestroy(&swarm) && !PetscFinalize(), "the end");
  return failures == 0 ? 0 : 1;
}
