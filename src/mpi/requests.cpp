// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/requests.hpp"

#include "mpi/check.hpp"

#include <algorithm>

namespace valet::mpi {

Requests::Requests(Ledger& ledger, std::size_t count, Hooks* hooks)
    : requests_(ledger, count), hooks_(hooks) {
  std::fill(requests_.begin(), requests_.end(), MPI_REQUEST_NULL);
}

std::optional<Completion> Requests::wait_any() {
  Completion completion;
  int index = MPI_UNDEFINED;
  {
    const Waiting waiting(hooks_);
    check(
        MPI_Waitany(checked_count(requests_.size()), requests_.data(), &index, &completion.status),
        "MPI_Waitany");
  }
  return completed(completion, index);
}

void Requests::wait(std::size_t index) {
  if (idle(index)) return;
  const Waiting waiting(hooks_);
  MPI_Status status;
  check(MPI_Wait(&requests_[index], &status), "MPI_Wait");
  if (hooks_ != nullptr) hooks_->completed(&requests_[index], status);
}

std::optional<Completion> Requests::test_any() {
  Completion completion;
  int index = MPI_UNDEFINED, flag = 0;
  check(MPI_Testany(checked_count(requests_.size()), requests_.data(), &index, &flag,
                    &completion.status),
        "MPI_Testany");
  return completed(completion, flag == 0 ? MPI_UNDEFINED : index);
}

/// The completion of the request at `index`; nothing where MPI names none.
std::optional<Completion> Requests::completed(Completion completion, int index) const {
  if (index == MPI_UNDEFINED) return std::nullopt;
  completion.index = static_cast<std::size_t>(index);
  if (hooks_ != nullptr) hooks_->completed(&requests_[completion.index], completion.status);
  return completion;
}

bool Requests::withdraw(std::size_t index, MPI_Status& status) {
  check(MPI_Cancel(&requests_[index]), "MPI_Cancel");
  check(MPI_Wait(&requests_[index], &status), "MPI_Wait");
  int cancelled = 0;
  check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
  return cancelled != 0;
}

}  // namespace valet::mpi
