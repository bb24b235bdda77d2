// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "shared_folder.hpp"
#include <valet/junction.hpp>

#include <string>

namespace valet::test {

/// A file that all ranks know, in a folder of its own.
class SharedPath : public SharedFolder {
 public:
  [[nodiscard]] std::string path() const { return SharedFolder::path("state.valet"); }
};

/// Some ranks of the world, as those that write or read: this one may not be among them.
class SomeRanks {
 public:
  /// So many ranks from `first` on, around the end. Collective over MPI_COMM_WORLD.
  SomeRanks(int first, int count) {
    const int place = (rank() - first + size()) % size();
    MPI_Comm_split(MPI_COMM_WORLD, place < count ? 0 : MPI_UNDEFINED, place, &comm_);
    if (comm_ == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm_, &own_rank);
    MPI_Comm_size(comm_, &ranks);
  }
  SomeRanks(const SomeRanks&) = delete;
  SomeRanks& operator=(const SomeRanks&) = delete;
  ~SomeRanks() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] bool are_here() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  int own_rank = 0, ranks = 0;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace valet::test
