// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the program shows: the table on the screen and the CSV files. Rank 0 writes.

#include "mesh.hpp"
#include "migrate.hpp"
#include "options.hpp"
#include "support/csv_output.hpp"

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace amr {

/// One change of the mesh with its migration, all ranks together.
struct Regrid {
  int number = 0;
  int step = 0;
  std::string balanced_by;    ///< work, count or growth
  std::uint64_t patches = 0;  ///< when the patches moved
  double imbalance_before = 1;
  double imbalance_after = 1;  ///< largest over mean work of a rank
  double fullest_percent = 0;  ///< occupied slots of the fullest rank, at the fullest moment
  std::uint64_t moved_bytes = 0;
  double partition_seconds = 0;  ///< the slowest rank's, as all that follows is the largest
  double migration_seconds = 0;
  std::uint64_t extra_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t out_of_place_bytes = 0;
  double resident_ratio = 0;  ///< peak of the resident set over its size before
  Comparison comparison;
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
  std::uint64_t headroom_bytes = 0;  ///< that the memory limit left before it; 0 without a limit
  std::uint64_t resident_bytes = 0;  ///< before it
  double resident_ratio = 0;
  double share_without = 0;  ///< of the work on the next mesh, over the mean, had nothing moved
  double share_with = 0;     ///< of it that the rank has now
};

class Output : public example::CsvOutput {
 public:
  /// Collective. @throws example::OutputError on all ranks when a file cannot be written.
  Output(MPI_Comm communicator, const Options& options);

  void head(std::uint64_t leaves, std::uint64_t slots);
  void row(const Regrid& regrid);
  /// The leaves that a plane cuts, with their homes before and after a migration: the plane, across
  /// an axis, that shows most of what moves.
  void leaves(int number, const Mesh& before, std::span<const int> home_after,
              std::span<const std::uint8_t> has_front);
  /// Collective.
  void memory(const std::vector<Migration>& migrations,
              const std::vector<example::MemorySample>& samples);

  /// Base name of the files for ParaView at a step.
  [[nodiscard]] std::string vtk_base(int step) const;

 private:
  const Options& options_;
};

}  // namespace amr
