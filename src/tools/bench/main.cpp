// SPDX-License-Identifier: BSD-3-Clause

// valet-bench: measures Valet beside MPI_Alltoallv in one process, alternating, and verifies what
// it measured. Exit code 0: done and verified, 1: a result was wrong, 2: bad command line.

#include "benchmark.hpp"
#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <array>
#include <cstdio>

namespace valet::bench {
namespace {

constexpr std::array all_benchmarks{
    make_alltoall_benchmark, make_auto_benchmark,     make_check_benchmark,
    make_exchange_benchmark, make_junction_benchmark, make_layout_benchmark,
    make_madre_benchmark,    make_ragged_benchmark,   make_restart_benchmark,
    make_sizes_benchmark,    make_trace_benchmark,
#ifdef VALET_BENCH_KOKKOS
    make_device_benchmark,   make_kokkos_benchmark,
#endif
#ifdef VALET_BENCH_ZOLTAN
    make_dropin_benchmark,   make_phases_benchmark,   make_rebalance_benchmark,
#endif
};

/// What the library calls budget_bytes is --memory here.
std::string in_words_of_options(std::string text) {
  const std::string there = "budget_bytes", here = "--memory";
  for (std::size_t at = 0; (at = text.find(there, at)) != std::string::npos; at += here.size())
    text.replace(at, there.size(), here);
  return text;
}

int run(int argc, char** argv) {
  bool verified = true;
  std::vector<std::unique_ptr<Benchmark>> benchmarks;
  std::vector<tools::Command> commands;
  for (const auto& make : all_benchmarks) {
    benchmarks.push_back(make());
    Benchmark& one = *benchmarks.back();
    commands.push_back(
        {one.name, one.description, one.options(), [&one, &verified] { verified = one.run(); }});
  }
  try {
    tools::run_command_line(
        {"valet-bench", "Benchmarks Valet against MPI_Alltoallv. Start it with mpirun", {}, {}},
        commands, argc, argv, world_rank() == 0);
  } catch (const Error& error) {
    if (world_rank() == 0)
      std::fprintf(stderr, "valet-bench: %s\n", in_words_of_options(error.what()).c_str());
    const bool bad_input =
        error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::budget_too_small;
    return bad_input ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "valet-bench: rank %d: %s\n", world_rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return verified ? 0 : 1;
}

}  // namespace
}  // namespace valet::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = valet::bench::run(argc, argv);
  } catch (...) {
    std::fputs("valet-bench: failed while reporting an error\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  // A rank that fails alone, such as rank 0 when it cannot write the JSON file, aborts the job.
  // mpirun of Open MPI 4.1 may then crash or hang if another rank is in MPI_Finalize, so nobody
  // enters it before all are done.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return code;
}
