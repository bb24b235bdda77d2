// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Errors: one exception with a code and a text.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace valet {

/// Kinds of errors. The values are part of the C interface (valet.h) and do not change.
enum class ErrorCode : int {
  success = 0,                ///< no error
  invalid_argument = 1,       ///< an argument is invalid or contradicts another
  rank_out_of_range = 2,      ///< a destination rank is not in the communicator
  slot_out_of_range = 3,      ///< a destination slot does not exist on its rank
  slot_taken_twice = 4,       ///< two blocks have the same destination slot
  infeasible = 5,             ///< a rank would hold more blocks than it has slots
  field_mismatch = 6,         ///< the fields of a storage have different numbers of slots
  block_size_mismatch = 7,    ///< ranks disagree on the bytes of a block
  budget_too_small = 8,       ///< the method cannot work within the budget
  inaccessible_memory = 9,    ///< a field has no memory, or memory that cannot be accessed
  not_initialized = 10,       ///< MPI or Kokkos is not initialised, or already finalised
  invalid_communicator = 11,  ///< MPI_COMM_NULL, an intercommunicator, of another MPI
  out_of_memory = 12,         ///< the system refused memory within the budget
  corrupted = 13,             ///< verification found a block that differs from the one sent
  mpi_failure = 14,           ///< an MPI call returned an error
  internal = 15,              ///< a broken invariant: a bug in Valet
  callback_failed = 16,       ///< a storage or a callback of the application threw an exception
  file_failure = 17,          ///< a file cannot be written or read, or is none of Valet
};

/// The name of a code as used in messages, for example "rank_out_of_range".
VALET_EXPORT const char* to_string(ErrorCode code) noexcept;

/// The only exception type of Valet. Its text names the rank, the block and the remedy.
///
/// The ranks agree on input errors before any block moves: every rank of the communicator throws
/// the same code with the same text. Only not_initialized and invalid_communicator are detected
/// without communication. After mpi_failure and internal the content of the occupied slots is
/// unspecified; after corrupted, that of the blocks named in the text. Ranks agree on
/// callback_failed at the end, after completing as much as possible: its text says what threw and
/// whether all blocks are in place.
///
/// mpi_failure is local: other ranks may be waiting for this one. Valet therefore first passes a
/// failed MPI call to the error handler of the application's communicator (of MPI_COMM_WORLD if
/// that has been freed). The default, MPI_ERRORS_ARE_FATAL, ends the job. If you set a handler that
/// returns, end the job yourself, for example with MPI_Abort(): do not call Valet on that
/// communicator again. Memory of pending operations is leaked, because MPI may still write to it.
class VALET_EXPORT Error : public std::runtime_error {
 public:
  /// @param code     The kind of error.
  /// @param message  The text; what() adds the names of the library and the code.
  Error(ErrorCode code, const std::string& message);
  /// The kind of error, for programs.
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// The text passed to the constructor. Valid as long as this object.
  [[nodiscard]] std::string_view message() const noexcept;

 private:
  ErrorCode code_;
};

/// What a rank found wrong, until all ranks meet and throw it.
struct Diagnostic {
  ErrorCode code = ErrorCode::success;  ///< code of the exception
  std::string text;                     ///< what, where, and how to fix it
};

}  // namespace valet
