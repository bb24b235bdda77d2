// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check.hpp"

#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <array>
#include <limits>
#include <string>
#include <utility>

namespace valet::mpi {
namespace {

thread_local int handled_code = MPI_SUCCESS;

}  // namespace

void fail_next_check(int code) { handled_code = code; }

void check(int code, const char* call, int peer) {
  const int handled = std::exchange(handled_code, MPI_SUCCESS);
  if (code == MPI_SUCCESS) code = handled;
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw Error(ErrorCode::mpi_failure,
              std::string(call) +
                  (peer == no_peer ? std::string() : " with rank " + std::to_string(peer)) +
                  " failed: " + std::string(text.data(), static_cast<std::size_t>(length)) +
                  "; the content of the occupied slots is unspecified");
}

int checked_count(std::uint64_t count) {
  if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::internal,
                "a count of " + std::to_string(count) + " does not fit an MPI int");
  return static_cast<int>(count);
}

double now() { return MPI_Wtime(); }

}  // namespace valet::mpi
