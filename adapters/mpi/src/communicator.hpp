// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>

#include <cstddef>
#include <memory>

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

/// What hangs on a communicator of the program from its first all-to-all in place on.
struct Communicator {
  MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks; messages on it are ours; returns errors
  std::size_t budget = 0;        ///< the least of all ranks
  int rank = 0;
  int size = 1;
};

/// The ranks of a communicator on which an all-to-all in place may be served; 0 where it may not:
/// MPI does not run, or is another one than this library is built for, or there are two groups. The
/// same on all ranks. Local.
int ranks_served(MPI_Comm program);

/// Collective for the first time, then local. @throws Failure.
const Communicator& communicator_of(MPI_Comm program);

/// Memory for a call. One is kept for the next call, of whatever thread: the first touch of a page
/// costs more than a copy into it.
class Scratch {
 public:
  /// @throws std::bad_alloc
  explicit Scratch(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  void exchange_with_kept() noexcept;  ///< after the call

 private:
  std::shared_ptr<std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace valet::preload
