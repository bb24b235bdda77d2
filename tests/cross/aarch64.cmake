# SPDX-License-Identifier: BSD-3-Clause

# Toolchain: aarch64 from another processor, with the packages of Debian's port arm64, whose programs
# run in QEMU. tests/cross/run.sh installs the packages and uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(valet_triplet aarch64-linux-gnu)
# Set in the environment to a suffix such as -11 for another GCC than the default.
set(CMAKE_C_COMPILER ${valet_triplet}-gcc$ENV{AARCH64_GCC})
set(CMAKE_CXX_COMPILER ${valet_triplet}-g++$ENV{AARCH64_GCC})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)

# Where Debian's Open MPI is. CMake would ask mpicc, which is an aarch64 program.
foreach(valet_language IN ITEMS C CXX)
  set(MPI_${valet_language}_HEADER_DIR /usr/lib/${valet_triplet}/openmpi/include CACHE PATH "")
  set(MPI_${valet_language}_LIB_NAMES mpi CACHE STRING "")
endforeach()
set(MPI_mpi_LIBRARY /usr/lib/${valet_triplet}/libmpi.so CACHE FILEPATH "")
set(MPI_CXX_SKIP_MPICXX ON CACHE BOOL "")
set(MPIEXEC_EXECUTABLE "${CMAKE_CURRENT_LIST_DIR}/mpiexec" CACHE FILEPATH "")
