// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sys/resource.h>

namespace amr {
namespace {

/// A value of /proc/self/status, which are in KiB; 0 on systems that do not have it.
std::uint64_t status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == name) {
      std::uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

void limit_data(std::uint64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = bytes;
  if (setrlimit(RLIMIT_DATA, &limit) != 0)
    throw std::runtime_error("the system does not set a limit of " + in_megabytes(bytes) + ": " +
                             std::strerror(errno));
}

std::uint64_t data_bytes() { return status_bytes("VmData:"); }

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
