// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/check.hpp"
#include <valet/mpi.hpp>

#include <cstdint>

namespace valet::mpi {

/// Bytes of the message that a completed request received. A copy of its status, since SimGrid's
/// MPI_Get_elements_x takes no pointer to a constant. MPI 4.1 deprecates that function for the one
/// that MPI 4.0 brought.
[[nodiscard]] inline std::uint64_t received_bytes(MPI_Status status) {
  MPI_Count bytes = 0;
#if MPI_VERSION >= 4
  check(MPI_Get_elements_c(&status, MPI_BYTE, &bytes), "MPI_Get_elements_c");
#else
  check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
#endif
  return static_cast<std::uint64_t>(bytes);
}

/// Called on events of a channel that is watched. Hooks are local.
struct Hooks {
  Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  virtual ~Hooks() = default;

  /// A blocking call that began at `start` (now()) has come back.
  virtual void waited(double start) = 0;
  /// A request of Requests has completed.
  virtual void completed(const void* request, const MPI_Status& status) const = 0;
};

/// Times a blocking call from its construction to the end of the scope.
class Waiting {
 public:
  explicit Waiting(Hooks* hooks) : hooks_(hooks), start_(hooks == nullptr ? 0 : now()) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (hooks_ != nullptr) hooks_->waited(start_);
  }

 private:
  Hooks* hooks_;
  double start_;
};

}  // namespace valet::mpi
