// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the program shows: the table on the screen and the CSV files. Rank 0 writes.

#include "cells.hpp"
#include "options.hpp"
#include "support/csv_output.hpp"

#include <mpi.h>

#include <cstdint>
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

class Output : public example::CsvOutput {
 public:
  /// Collective. @throws example::OutputError on all ranks when a file cannot be written.
  Output(MPI_Comm communicator, const Options& options);

  void head(std::uint64_t records, const Cells& cells) const;
  void row(const Step& step);
  /// The lengths of all lists, and who has them. Collective.
  void lengths(int step, const Cells& cells);
  /// Collective.
  void memory(const std::vector<Migration>& migrations,
              const std::vector<example::MemorySample>& samples);

 private:
  const Options& options_;
};

}  // namespace species
