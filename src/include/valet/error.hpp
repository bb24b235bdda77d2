// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What goes wrong, and how it is reported: one exception with a code and a text.

#include <valet/export.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace valet {

/// What went wrong. The values are part of the C interface (valet.h) and do not change.
enum class ErrorCode : int {
  success = 0,                ///< nothing
  invalid_argument = 1,       ///< an argument that contradicts another or itself
  rank_out_of_range = 2,      ///< a block is sent to a rank that the communicator does not have
  slot_out_of_range = 3,      ///< a block is sent to a slot that its rank does not have
  slot_taken_twice = 4,       ///< two blocks are sent to the same slot
  infeasible = 5,             ///< a rank would hold more blocks than it has slots
  field_mismatch = 6,         ///< fields of one storage with different numbers of slots
  block_size_mismatch = 7,    ///< ranks disagree on the bytes of a block
  budget_too_small = 8,       ///< the method cannot work within the scratch that is allowed
  inaccessible_memory = 9,    ///< a field without memory, or in memory that cannot be reached
  not_initialized = 10,       ///< MPI or Kokkos is not initialised, or finalised already
  invalid_communicator = 11,  ///< MPI_COMM_NULL or an intercommunicator
  out_of_memory = 12,         ///< the operating system refused memory that the budget allows
  corrupted = 13,             ///< verification found a block that is not what was sent
  mpi_failure = 14,           ///< an MPI call returned an error
  internal = 15,              ///< a broken invariant: a bug in Valet
  callback_failed = 16,       ///< a storage or a callback of the application threw an exception
};

/// The name of a code as it stands in messages, for example "rank_out_of_range".
VALET_EXPORT const char* to_string(ErrorCode code) noexcept;

/// The one exception of Valet.
///
/// Errors of the input are agreed upon first: every rank of the communicator throws the same code
/// with the same text, and no block has moved. Only not_initialized and invalid_communicator are
/// found without communication. After mpi_failure and internal the content of the occupied slots
/// is unspecified, after corrupted that of the blocks that the text names. callback_failed is
/// agreed upon at the end, when all ranks have done what they could: its text says what threw, and
/// whether blocks are in their places. The text names the rank, the block and the remedy.
///
/// mpi_failure is local: the others may be waiting for this rank. A failed MPI call is therefore
/// first told to the error handler of the communicator that the application gave (MPI_COMM_WORLD's
/// where that is freed): by default MPI_ERRORS_ARE_FATAL, which ends the job. Whoever sets a
/// handler that returns must end the job, with MPI_Abort() for instance: no call of Valet may
/// follow on that communicator, and the memory of what was pending is given up, not freed, because
/// MPI may still write to it.
class VALET_EXPORT Error : public std::runtime_error {
 public:
  /// @param code     What went wrong.
  /// @param message  The text; what() has the library's and the code's name around it.
  Error(ErrorCode code, const std::string& message);
  /// What went wrong, for programs.
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// The text as it was given to the constructor. Valid as long as this.
  [[nodiscard]] std::string_view message() const noexcept;

 private:
  ErrorCode code_;
};

}  // namespace valet
