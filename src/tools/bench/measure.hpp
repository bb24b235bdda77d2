// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>
#include <valet/progress.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace valet::bench {

[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();
/// The same verdict on all ranks: whether it holds on each.
[[nodiscard]] bool on_all_ranks(bool condition);
[[nodiscard]] std::uint64_t sum_of_ranks(std::uint64_t value);
[[nodiscard]] std::uint64_t largest_of_ranks(std::uint64_t value);

/// Seconds that `action` takes on the slowest rank, started together.
[[nodiscard]] double slowest_seconds(const std::function<void()>& action);

[[nodiscard]] double median(std::vector<double> values);

/// Packed blocks exchanged by MPI_Alltoallv, the peer of every measurement. Counts in blocks.
class Alltoallv {
 public:
  /// @param send_blocks  For each rank, blocks that this rank sends to it, itself included.
  Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes);
  Alltoallv(const Alltoallv&) = delete;
  Alltoallv& operator=(const Alltoallv&) = delete;
  ~Alltoallv();

  [[nodiscard]] std::uint64_t blocks_received() const;
  void run(const void* packed, void* received) const;

 private:
  std::vector<int> send_counts_, receive_counts_, send_displs_, receive_displs_;
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

/// A bar of the steps of a measurement, on the terminal of rank 0.
class Progress {
 public:
  Progress(std::string title, std::size_t steps);
  void step() { bar_.advance(1); }

 private:
  ProgressBar bar_;
};

}  // namespace valet::bench
