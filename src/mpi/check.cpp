// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check.hpp"

#include "base/diagnose.hpp"
#include <valet/mpi.hpp>

#include <array>
#include <limits>
#include <utility>

namespace valet::mpi {
namespace {

thread_local int handled_code = MPI_SUCCESS;

}  // namespace

void fail_next_check(int code) { handled_code = code; }

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return {text.data(), static_cast<std::size_t>(length)};
}

void check(int code, const char* call, int peer) {
  const int handled = std::exchange(handled_code, MPI_SUCCESS);
  if (code == MPI_SUCCESS) code = handled;
  if (code == MPI_SUCCESS) return;
  throw Error(ErrorCode::mpi_failure,
              joined(call, peer == no_peer ? "" : joined(" with rank ", peer), " failed: ",
                     text_of(code), "; the content of what was to be moved is unspecified"));
}

int checked_count(std::uint64_t count) {
  if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::internal, joined("a count of ", count, " does not fit an MPI int"));
  return static_cast<int>(count);
}

double now() { return MPI_Wtime(); }

}  // namespace valet::mpi
