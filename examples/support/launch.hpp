// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The frame of an example's main function.

#include "failure.hpp"
#include "ranks.hpp"
#include <valet/error.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace example {

/// Exit code for options that cannot be obeyed, and for files that cannot be written.
constexpr int exit_bad_input = 2;

/// Calls simulate(), and prints on rank 0 what fails on all ranks alike; other exceptions end the
/// job in launch(). @return The exit code of the program: 0, 1 for a wrong result or a failure, 2
/// for bad input. The same on all ranks.
template <class Simulate>
int exit_code_of(const char* program, bool prints, Simulate&& simulate) {
  const auto fail = [&](const char* what, const std::exception& error, int exit_code) {
    if (prints) std::fprintf(stderr, "%s: %s%s\n", program, what, error.what());
    return exit_code;
  };
  try {
    simulate();
  } catch (const Lost& lost) {
    return fail("WRONG RESULT: ", lost, EXIT_FAILURE);
  } catch (const BadInput& error) {
    return fail("", error, exit_bad_input);
  } catch (const Failure& error) {
    return fail("", error, EXIT_FAILURE);
  } catch (const valet::Error& error) {
    return fail("", error, EXIT_FAILURE);
  }
  return EXIT_SUCCESS;
}

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
