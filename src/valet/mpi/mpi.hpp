// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Without MPI's C++ bindings, which MPI removed in 2012 and which do not survive our warnings.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
