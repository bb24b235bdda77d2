// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "test_comm.hpp"
#include <valet/junction.hpp>

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <unistd.h>

namespace valet::test {

/// A path that all ranks know, in a folder that is removed in the end. Collective.
class SharedPath {
 public:
  SharedPath() {
    static int count = 0;
    std::array<int, 2> name{static_cast<int>(getpid()), count++};
    MPI_Bcast(name.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
    folder_ = std::filesystem::temp_directory_path() /
              ("valet_file_" + std::to_string(name[0]) + "_" + std::to_string(name[1]));
    if (rank() == 0) std::filesystem::create_directory(folder_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  SharedPath(const SharedPath&) = delete;
  SharedPath& operator=(const SharedPath&) = delete;
  ~SharedPath() {
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (rank() == 0) std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path() const { return (folder_ / "state.valet").string(); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
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
