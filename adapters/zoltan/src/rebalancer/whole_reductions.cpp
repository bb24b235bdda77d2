// SPDX-License-Identifier: BSD-3-Clause
#include "whole_reductions.hpp"

#include "mpi/check.hpp"

#include <algorithm>
#include <array>

namespace valet::zoltan {
namespace {

constexpr int integers = 6;

/// Every integer becomes 1 of what some call was not given whole.
void note_pieces(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const int* const other = static_cast<int*>(in);
  int* const mine = static_cast<int*>(inout);
  for (int k = 0; k < *count; ++k)
    mine[k] = *count != integers || other[k] != 0 || mine[k] != 0 ? 1 : 0;
}

}  // namespace

std::optional<Diagnostic> check_whole_reductions(const mpi::Channel& communicator) {
  std::array<int, integers> in_pieces{};
  MPI_Op operation = MPI_OP_NULL;
  mpi::check(MPI_Op_create(note_pieces, 1, &operation), "MPI_Op_create");
  const int code = MPI_Allreduce(MPI_IN_PLACE, in_pieces.data(), integers, MPI_INT, operation,
                                 communicator.get());
  MPI_Op_free(&operation);
  mpi::check(code, "MPI_Allreduce");
  if (std::ranges::count(in_pieces, 0) == integers) return std::nullopt;
  return Diagnostic{
      ErrorCode::invalid_communicator,
      "MPI applies an operation of the application to less than the six integers of a "
      "reduction; Zoltan_LB_Partition needs all at once and would overwrite memory: "
      "use another MPI, or another algorithm for its MPI_Allreduce"};
}

}  // namespace valet::zoltan
