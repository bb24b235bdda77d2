# SPDX-License-Identifier: BSD-3-Clause

# Sets how tests start MPI programs: VALET_MPIEXEC_FLAGS and VALET_MPIEXEC_ENVIRONMENT (NAME=value).
set(VALET_MPIEXEC_FLAGS ${MPIEXEC_PREFLAGS})
set(VALET_MPIEXEC_ENVIRONMENT "")
valet_mpi_family(valet_mpi)

execute_process(
  COMMAND "${MPIEXEC_EXECUTABLE}" --version
  OUTPUT_VARIABLE valet_mpiexec_version
  ERROR_VARIABLE valet_mpiexec_version)
if(valet_mpiexec_version MATCHES "OpenRTE|Open MPI")
  # Tests often have more ranks than cores, so waiting ranks must yield their core. Binding would put
  # all jobs that ctest runs concurrently on the same cores.
  list(APPEND VALET_MPIEXEC_FLAGS --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  # Containers usually run as root, which Open MPI refuses unless both variables are set.
  list(APPEND VALET_MPIEXEC_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  if(valet_mpi STREQUAL "MPICH")
    message(WARNING "Valet: MPICH is selected, but ${MPIEXEC_EXECUTABLE} is of Open MPI: tests start "
                    "every rank alone. Set MPIEXEC_EXECUTABLE (Debian and Ubuntu: mpiexec.mpich).")
  endif()
endif()
