// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The table on the screen and the CSV files of a run. Rank 0 writes.

#include "memory_log.hpp"
#include "table.hpp"

#include <mpi.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace example {

class CsvOutput {
 public:
  /// A file to be written, and the names of its columns.
  struct File {
    const char* name;
    const char* columns;
  };
  /// Makes the directory, and the files in it: those of `files`, and memory.csv. Collective.
  /// @throws OutputError on all ranks when a file cannot be written.
  CsvOutput(MPI_Comm communicator, std::string directory, bool quiet,
            std::initializer_list<File> files);

  /// A line on the screen. Local; only rank 0 prints.
  void note(const std::string& line) const;
  /// Says whether the system lets the ranks of a node share the arrays. Collective.
  void note_node_storage(bool is_shared) const;
  /// memory.csv: the samples of all ranks. Collective.
  void memory(const std::vector<MemorySample>& samples);
  /// Collective. @throws OutputError on all ranks when something was not written.
  void close();

 protected:
  /// A file, by its place among those of the constructor.
  [[nodiscard]] std::ostream& file(std::size_t place) { return files_[place]; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  void check() const;

  MPI_Comm communicator_;
  std::string directory_;
  bool quiet_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::ofstream> files_;  ///< memory.csv last
};

}  // namespace example
