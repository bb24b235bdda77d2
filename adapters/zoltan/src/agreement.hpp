// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi/mpi.hpp>
#include <valet/storage/block_mover.hpp>

#include <optional>

namespace valet::zoltan {

/// Throws mpi_failure with the name of the call, unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// A duplicate of the user's communicator that returns errors instead of ending the program.
/// Move-only; freed with the object unless MPI is finalised by then.
class Communicator {
 public:
  /// Collective. @throws Error not_initialized, invalid_communicator.
  explicit Communicator(MPI_Comm user);
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  [[nodiscard]] MPI_Comm get() const { return communicator_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// Whether MPI functions may be called now.
[[nodiscard]] bool mpi_is_usable();

/// Either every rank comes back or every rank throws the finding of the lowest rank that has one.
/// Collective; one reduction when nobody has.
void agree(const Communicator& communicator, const std::optional<Defect>& mine);

}  // namespace valet::zoltan
