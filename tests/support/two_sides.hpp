// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The ranks of the world as two groups with an intercommunicator between them.

#include "test_comm.hpp"

namespace valet::test {

class TwoSides {
 public:
  /// The first so many ranks are one side. Collective.
  explicit TwoSides(int first_ranks) : is_first(rank() < first_ranks) {
    MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : 1, 0, &own_);
    MPI_Intercomm_create(own_, 0, MPI_COMM_WORLD, is_first ? first_ranks : 0, 7, &both_);
    MPI_Comm_rank(own_, &own_rank);
    MPI_Comm_size(own_, &own_ranks);
    MPI_Comm_remote_size(both_, &other_ranks);
  }
  TwoSides(const TwoSides&) = delete;
  TwoSides& operator=(const TwoSides&) = delete;
  ~TwoSides() {
    MPI_Comm_free(&both_);
    MPI_Comm_free(&own_);
  }

  [[nodiscard]] MPI_Comm between() const { return both_; }
  [[nodiscard]] MPI_Comm own() const { return own_; }

  const bool is_first;
  int own_rank = 0, own_ranks = 0, other_ranks = 0;

 private:
  MPI_Comm own_ = MPI_COMM_NULL, both_ = MPI_COMM_NULL;
};

}  // namespace valet::test
