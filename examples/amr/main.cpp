// SPDX-License-Identifier: BSD-3-Clause

// A block-structured AMR code that fits into its memory only because it migrates in place.
//
// p4est keeps an octree whose leaves each carry a patch of 8 x 8 x 8 cells in Kokkos Views. Fronts
// move and the octree follows them; the patches are partitioned again by work, and Valet moves them
// inside Views that are hardly larger than the patches. With --headroom the operating system allows
// hardly more, and packed buffers for the same migration are refused.

#include "simulation.hpp"
#include "support/launch.hpp"
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>

namespace {

/// @return The exit code of the program: 0, 1 for a wrong result or a failure such as no memory, 2
///         for bad input. The same on all ranks.
int run(int argc, char** argv, bool prints) {
  amr::Options options;
  if (const auto exit_code = amr::read_options(argc, argv, prints, options)) return *exit_code;
  const Kokkos::ScopeGuard kokkos;
  return example::exit_code_of("amr", prints,
                               [&] { amr::Simulation(MPI_COMM_WORLD, options).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  example::return_freed_memory();
  return example::launch(argc, argv, "amr", run);
}
