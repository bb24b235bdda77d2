// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The frame of an example's main function.

#include "ranks.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace example {

/// Exit code for options that cannot be obeyed, and for files that cannot be written.
constexpr int exit_bad_input = 2;

/// A result that is wrong: the one thing that must never happen. The same on all ranks.
class Lost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Calls run(prints) between MPI_Init and MPI_Finalize; `prints` is true on rank 0. What it throws
/// ends all ranks: perhaps it was thrown on this rank alone, and the others must not wait for it.
template <class Run>
int launch(int argc, char** argv, const char* program, Run&& run) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int rank = rank_of(MPI_COMM_WORLD);
  int exit_code = EXIT_FAILURE;
  try {
    exit_code = run(argc, argv, rank == 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", program, rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  // mpirun of Open MPI 4.1 may crash or hang if a rank aborts while another is in MPI_Finalize, so
  // nobody enters it before all are done.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return exit_code;
}

}  // namespace example
