# SPDX-License-Identifier: BSD-3-Clause

# Sets how tests start MPI programs: VALET_MPIEXEC_FLAGS and VALET_MPIEXEC_ENVIRONMENT (NAME=value).
set(VALET_MPIEXEC_FLAGS ${MPIEXEC_PREFLAGS})
set(valet_mpi_options_script "${CMAKE_CURRENT_LIST_DIR}/mpi_options.sh")
valet_mpi_family(valet_mpi)

# valet_mpi_options(<variable> <wish>...): the environment in which MPI does what mpi_options.sh is
# asked for; empty for what it does anyway and for what it cannot do.
function(valet_mpi_options variable)
  execute_process(
    COMMAND sh "${valet_mpi_options_script}" "${MPIEXEC_EXECUTABLE}" ${ARGN}
    OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_VARIABLE refusals ERROR_STRIP_TRAILING_WHITESPACE)
  if(refusals)
    message(STATUS "Valet: ${refusals}")
  endif()
  string(REPLACE "\n" ";" options "${options}")
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()

# Containers usually run as root. Tests often have more ranks than cores, so waiting ranks must yield
# their core. Binding would put all jobs that ctest runs concurrently on the same cores.
valet_mpi_options(VALET_MPIEXEC_ENVIRONMENT root oversubscribe unbound yield)
if(valet_mpi STREQUAL "MPICH" AND VALET_MPIEXEC_ENVIRONMENT MATCHES "OMPI_")
  message(WARNING "Valet: MPICH is selected, but ${MPIEXEC_EXECUTABLE} is of Open MPI: tests start "
                  "every rank alone. Set MPIEXEC_EXECUTABLE (Debian and Ubuntu: mpiexec.mpich).")
endif()
