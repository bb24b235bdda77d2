// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "test_comm.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace valet::test {

/// A directory that rank 0 makes, gone with it; the same name on all ranks. Collective.
class SharedFolder {
 public:
  /// @param parent  Where it is made.
  explicit SharedFolder(const std::string& parent = testing::TempDir()) {
    folder_ = parent + "/valet_test_XXXXXX";
    if (rank() == 0 && mkdtemp(folder_.data()) == nullptr) folder_ += " cannot be made";
    MPI_Bcast(folder_.data(), static_cast<int>(folder_.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() {
    std::error_code ignored;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace valet::test
