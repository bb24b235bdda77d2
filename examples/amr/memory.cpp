// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <cstdio>
#include <fstream>

namespace amr {

using example::status_bytes;

void agree_on_memory(MPI_Comm communicator, bool refused, std::uint64_t bytes,
                     const std::string& purpose) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  int first = refused ? rank : size;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == size) return;
  std::uint64_t numbers[2] = {bytes, data_bytes()};
  MPI_Bcast(numbers, 2, MPI_UINT64_T, first, communicator);
  throw OutOfMemory("out of memory: the system refuses rank " + std::to_string(first) + " " +
                    in_megabytes(numbers[0]) + " for " + purpose + ", beyond the " +
                    in_megabytes(numbers[1]) + " of data that it has");
}

void ResidentPeak::start() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  started_bytes_ = file ? status_bytes("VmRSS:") : 0;
}

void ResidentPeak::stop() {
  if (started_bytes_ == 0) return;
  const double ratio =
      static_cast<double>(status_bytes("VmHWM:")) / static_cast<double>(started_bytes_);
  if (ratio <= ratio_) return;
  ratio_ = ratio;
  before_bytes_ = started_bytes_;
}

std::string in_megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace amr
