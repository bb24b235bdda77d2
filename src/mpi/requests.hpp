// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/hooks.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/mpi.hpp>

#include <cstddef>
#include <optional>

namespace valet::mpi {

/// What completed, and the status of it.
struct Completion {
  std::size_t index = 0;
  MPI_Status status{};
};

/// A fixed number of requests, waited for together.
class VALET_EXPORT Requests {
 public:
  /// @param hooks  Called when wait_any() has blocked and when a request completes; or nullptr.
  Requests(Ledger& ledger, std::size_t count, Hooks* hooks = nullptr);

  /// The request to post into; must be idle.
  [[nodiscard]] MPI_Request& operator[](std::size_t index) { return requests_[index]; }
  [[nodiscard]] bool idle(std::size_t index) const { return requests_[index] == MPI_REQUEST_NULL; }

  /// Blocks until one request completes; nothing when none is outstanding. Never a polling loop of
  /// our own: that would take the core from an oversubscribed neighbour.
  std::optional<Completion> wait_any();
  /// Blocks until one request completes, whatever becomes of the others.
  void wait(std::size_t index);
  /// A request that has completed already; nothing when there is none.
  std::optional<Completion> test_any();
  /// Withdraws a pending receive. False when a message had been matched: it has then arrived.
  bool withdraw(std::size_t index, MPI_Status& status);

 private:
  std::optional<Completion> completed(Completion completion, int index) const;

  Array<MPI_Request> requests_;
  Hooks* hooks_;
};

}  // namespace valet::mpi
