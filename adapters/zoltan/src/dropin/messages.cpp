// SPDX-License-Identifier: BSD-3-Clause
#include "messages.hpp"

#include <valet/mpi.hpp>

#include <cstdio>

namespace valet::zoltan {
namespace {

void print(int rank, const char* kind, const char* function, const std::string& text) {
  std::fprintf(stderr, "[%d] Zoltan %s in %s:  %s\n", rank, kind, function, text.c_str());
}

}  // namespace

void print_warning(const char* function, const std::string& text) {
  int rank = 0;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  print(rank, "WARNING", function, text);
}

void print_error(int rank, const char* function, const std::string& text) {
  print(rank, "ERROR", function, text);
}

}  // namespace valet::zoltan
