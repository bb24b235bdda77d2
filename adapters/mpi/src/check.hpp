// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>

namespace valet::preload {

/// An MPI call of ours that failed. It becomes the result of the program's call.
struct Failure {
  int code;      ///< of MPI
  bool is_told;  ///< MPI has told the error handler of the program's communicator already
};

/// For calls on our duplicate, which return their errors.
inline void check(int code) {
  if (code != MPI_SUCCESS) throw Failure{code, false};
}

/// For calls on what is the program's.
inline void check_told(int code) {
  if (code != MPI_SUCCESS) throw Failure{code, true};
}

}  // namespace valet::preload
