// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the program shows: the table on the screen and the CSV files. Rank 0 writes.

#include "cells.hpp"
#include "options.hpp"
#include "support/memory_log.hpp"
#include "support/table.hpp"

#include <mpi.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace species {

/// One step, all ranks together.
struct Step {
  int step = 0;
  double imbalance_before = 1;  ///< largest over mean number of records of a rank
  double imbalance_after = 1;
  double fullest_percent = 0;  ///< of the arena of the fullest rank, before or after
  std::uint64_t moved_bytes = 0;
  double partition_seconds = 0;
  double migration_seconds = 0;
  std::uint64_t extra_bytes = 0;  ///< of the rank with the most
  std::uint64_t bound_bytes = 0;
};

/// One migration on one rank.
struct Migration {
  int rank = 0;
  int step = 0;
  double start_seconds = 0;
  double end_seconds = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t extra_bytes = 0;
  std::uint64_t limit_bytes = 0;  ///< of data, for the process; 0 without a limit
};

class Output {
 public:
  /// Collective. @throws example::OutputError on all ranks when a file cannot be written.
  Output(MPI_Comm communicator, const Options& options);

  void head(std::uint64_t records, const Cells& cells) const;
  void row(const Step& step);
  void note(const std::string& line) const;
  /// The lengths of all lists, and who has them. Collective.
  void lengths(int step, const Cells& cells);
  /// Collective.
  void memory(const std::vector<Migration>& migrations,
              const std::vector<example::MemorySample>& samples);
  /// Collective. @throws example::OutputError on all ranks when something was not written.
  void close();

 private:
  void check_files();

  MPI_Comm communicator_;
  const Options& options_;
  int rank_ = 0;
  int size_ = 1;
  std::ofstream steps_;
  std::ofstream migrations_;
  std::ofstream memory_;
  std::ofstream lengths_;
};

}  // namespace species
