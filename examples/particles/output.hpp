// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the program shows: the table on the screen and the CSV files. Rank 0 writes.

#include "options.hpp"
#include "support/csv_output.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace particles {

/// One rebalance, all ranks together.
struct Rebalance {
  int number = 0;
  int step = 0;
  std::string balanced_by;      ///< work, work+count or count
  double imbalance_before = 1;  ///< largest over mean work of a rank
  double imbalance_after = 1;
  double count_imbalance_after = 1;
  double fullest_percent = 0;  ///< occupied slots of the fullest rank
  std::uint64_t moved_bytes = 0;
  double partition_seconds = 0;
  double migration_seconds = 0;
  std::uint64_t extra_bytes = 0;         ///< most that Valet allocated on a rank
  std::uint64_t limit_bytes = 0;         ///< what it promised not to pass there
  std::uint64_t out_of_place_bytes = 0;  ///< send and receive buffers of the busiest rank
};

/// One migration on one rank.
struct Migration {
  int rank = 0;
  int number = 0;
  int step = 0;
  double start_seconds = 0;
  double end_seconds = 0;
  std::uint64_t extra_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t out_of_place_bytes = 0;
  std::uint64_t blocks_before = 0;
  std::uint64_t blocks_after = 0;
  std::uint64_t headroom_bytes = 0;  ///< that the memory limit left before; 0 without a limit
};

class Output : public example::CsvOutput {
 public:
  /// Collective. @throws example::OutputError on all ranks when a file cannot be written.
  Output(MPI_Comm communicator, const Options& options);

  void head(std::uint64_t slots);
  void row(const Rebalance& rebalance);
  /// Collective.
  void memory(const std::vector<Migration>& migrations,
              const std::vector<example::MemorySample>& samples);

 private:
  const Options& options_;
};

}  // namespace particles
