// SPDX-License-Identifier: BSD-3-Clause

// A block-structured AMR code that fits into its memory only because it migrates in place.
//
// p4est keeps an octree whose leaves each carry a patch of 8 x 8 x 8 cells in Kokkos Views. Fronts
// move and the octree follows them; the patches are partitioned again by work, and Valet moves them
// inside Views that are hardly larger than the patches. With --memory-limit the operating system
// allows no more, and packed buffers for the same migration are refused.

#include "simulation.hpp"
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

/// @return The exit code of the program: 0, 1 for a wrong result or a failure such as no memory, 2
///         for bad input. The same on all ranks.
int run(int argc, char** argv, bool prints) {
  amr::Options options;
  if (const auto exit_code = amr::read_options(argc, argv, prints, options)) return *exit_code;
  const Kokkos::ScopeGuard kokkos;
  const auto says = [prints](const char* kind, const std::exception& error) {
    if (prints) std::fprintf(stderr, "amr: %s%s\n", kind, error.what());
  };
  try {
    amr::limit_memory(MPI_COMM_WORLD, options);
    amr::Simulation(MPI_COMM_WORLD, options).run();
  } catch (const amr::Lost& lost) {
    says("WRONG RESULT: ", lost);
    return EXIT_FAILURE;
  } catch (const amr::BadInput& error) {
    says("", error);
    return amr::exit_bad_input;
  } catch (const amr::OutputError& error) {
    says("", error);
    return amr::exit_bad_input;
  } catch (const amr::OutOfMemory& error) {
    says("", error);
    return EXIT_FAILURE;
  } catch (const valet::Error& error) {
    says("", error);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  particles::return_freed_memory();
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int exit_code = EXIT_FAILURE;
  try {
    exit_code = run(argc, argv, rank == 0);
  } catch (const std::exception& error) {
    // Perhaps on this rank alone: the others must not wait for it.
    std::fprintf(stderr, "amr: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return exit_code;
}
