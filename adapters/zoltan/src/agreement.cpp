// SPDX-License-Identifier: BSD-3-Clause
#include "agreement.hpp"

#include <array>
#include <string>
#include <utility>

namespace valet::zoltan {

bool mpi_is_usable() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(
      ErrorCode::mpi_failure,
      std::string(call) + " failed: " + std::string(text.data(), static_cast<std::size_t>(length)));
}

Communicator::Communicator(MPI_Comm user) {
  if (!mpi_is_usable())
    throw Error(ErrorCode::not_initialized,
                "MPI is not initialised or finalised already; use a Rebalancer between MPI_Init "
                "and MPI_Finalize");
  if (user == MPI_COMM_NULL)
    throw Error(ErrorCode::invalid_communicator,
                "the communicator is MPI_COMM_NULL; only its members may call");
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(user, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0)
    throw Error(ErrorCode::invalid_communicator,
                "the communicator is an intercommunicator; give an intracommunicator");
  check_mpi(MPI_Comm_dup(user, &communicator_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

Communicator::Communicator(Communicator&& other) noexcept
    : communicator_(std::exchange(other.communicator_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  Communicator moved(std::move(other));
  std::swap(communicator_, moved.communicator_);
  std::swap(rank_, moved.rank_);
  std::swap(size_, moved.size_);
  return *this;
}

Communicator::~Communicator() {
  if (communicator_ != MPI_COMM_NULL && mpi_is_usable()) MPI_Comm_free(&communicator_);
}

void agree(const Communicator& communicator, const std::optional<Defect>& mine) {
  int failed = mine ? communicator.rank() : communicator.size();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, communicator.get()),
            "MPI_Allreduce");
  if (failed == communicator.size()) return;
  std::array<int, 2> code_and_length{};
  std::string text;
  if (communicator.rank() == failed) {
    text = "rank " + std::to_string(failed) + ": " + mine->text;
    code_and_length = {static_cast<int>(mine->code), static_cast<int>(text.size())};
  }
  check_mpi(MPI_Bcast(code_and_length.data(), 2, MPI_INT, failed, communicator.get()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(code_and_length[1]));
  check_mpi(MPI_Bcast(text.data(), code_and_length[1], MPI_CHAR, failed, communicator.get()),
            "MPI_Bcast");
  throw Error(static_cast<ErrorCode>(code_and_length[0]), text);
}

}  // namespace valet::zoltan
