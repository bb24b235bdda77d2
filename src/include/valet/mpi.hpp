// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Includes mpi.h without the C++ bindings that MPI removed in 2012.

/// @cond
// The bindings do not compile with our warning flags.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
/// @endcond
#include <mpi.h>
