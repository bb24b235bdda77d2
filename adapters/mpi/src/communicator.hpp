// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>

#include <cstddef>
#include <memory>

namespace valet::preload {

/// What hangs on a communicator of the program from its first all-to-all in place on.
struct Communicator {
  MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks; messages on it are ours; returns errors
  std::size_t budget = 0;        ///< the least of all ranks
  int rank = 0;
  int size = 1;
};

/// Whether an all-to-all in place may be served there: MPI runs, and is the one that this library
/// is built for, and there are two ranks or more of one group. The same on all ranks. Local.
bool is_served(MPI_Comm program);

/// Collective for the first time, then local. @throws Failure.
const Communicator& communicator_of(MPI_Comm program);

/// Memory for a call. One is kept for the next call, of whatever thread: the first touch of a page
/// costs more than a copy into it.
class Scratch {
 public:
  /// @throws std::bad_alloc
  explicit Scratch(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  void keep() noexcept;

 private:
  std::shared_ptr<std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace valet::preload
