// SPDX-License-Identifier: BSD-3-Clause

// valet-bench: measures Valet beside MPI_Alltoallv in one process, alternating, and verifies what
// it measured. Exit code 0: done and verified, 1: a result was wrong, 2: bad command line.

#include "commands.hpp"
#include "measure.hpp"
#include <valet/error.hpp>

#include <cstdio>

namespace {

int run(int argc, char** argv) {
  CLI::App app("Measures Valet beside MPI_Alltoallv on the ranks of mpirun", "valet-bench");
  app.require_subcommand(1);
  bool failed = false;
  valet::bench::add_alltoall_command(app, failed);
  valet::bench::add_auto_command(app, failed);
  valet::bench::add_exchange_command(app, failed);
  valet::bench::add_layout_command(app, failed);
  valet::bench::add_madre_command(app, failed);
  valet::bench::add_trace_command(app, failed);
#ifdef VALET_BENCH_KOKKOS
  valet::bench::add_kokkos_command(app, failed);
#endif
#ifdef VALET_BENCH_ZOLTAN
  valet::bench::add_dropin_command(app, failed);
  valet::bench::add_phases_command(app, failed);
#endif
  const bool speaks = valet::bench::world_rank() == 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      if (speaks) app.exit(error);
      return 0;
    }
    if (speaks) std::fprintf(stderr, "valet-bench: %s\n", error.what());
    return 2;
  } catch (const valet::Error& error) {
    if (speaks) std::fprintf(stderr, "valet-bench: %s\n", error.what());
    return error.code() == valet::ErrorCode::invalid_argument ||
                   error.code() == valet::ErrorCode::budget_too_small
               ? 2
               : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "valet-bench: rank %d: %s\n", valet::bench::world_rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (...) {
    std::fputs("valet-bench: failed while reporting an error\n", stderr);
  }
  MPI_Finalize();
  return code;
}
