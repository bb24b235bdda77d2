// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <functional>

namespace valet::mpi {

/// Does something when it is destroyed, or when MPI_Finalize is called before that: until then
/// every process has to complete what it has begun.
///
/// MPI_Finalize frees MPI_COMM_SELF first, while MPI can still be used (MPI 4.1, section 11.2.4):
/// an attribute there calls us.
class VALET_EXPORT BeforeFinalize {
 public:
  /// @param action  What it throws is lost. @throws Error mpi_failure. Local.
  explicit BeforeFinalize(std::function<void()> action);
  BeforeFinalize(const BeforeFinalize&) = delete;
  BeforeFinalize& operator=(const BeforeFinalize&) = delete;
  ~BeforeFinalize();

  /// Does it, unless that was done. Local.
  void run() noexcept;

 private:
  /// Nobody else will. @return Whether it was still to be done.
  [[nodiscard]] bool leave();

  std::function<void()> action_;
  BeforeFinalize *older_ = nullptr, *newer_ = nullptr;
};

}  // namespace valet::mpi
