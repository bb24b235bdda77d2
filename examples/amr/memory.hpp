// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The memory of this process, as the operating system sees it.

#include "support/data_limit.hpp"
#include "support/failure.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>

namespace amr {

using example::data_bytes;
using example::limit_data;
using example::OutOfMemory;

/// Throws OutOfMemory on all ranks if `refused` on any. Collective.
/// @param bytes  What this rank asked for, named in the message. [local]
/// @param purpose  What for. The same on all ranks.
void agree_on_memory(MPI_Comm communicator, bool refused, std::uint64_t bytes,
                     const std::string& purpose);

/// Measures by how much the resident set of the process grows for a while. Linux keeps the highest
/// resident size of a process (VmHWM) and starts again from the present one when 5 is written
/// to /proc/self/clear_refs, so no peak between two samples is missed.
class ResidentPeak {
 public:
  /// Starts to measure.
  void start();
  /// Ends a measurement and keeps the largest growth.
  void stop();

  /// Resident size where the largest growth began, and its peak over that size; 0 where the system
  /// does not report it.
  [[nodiscard]] std::uint64_t before_bytes() const { return before_bytes_; }
  [[nodiscard]] double ratio() const { return ratio_; }

 private:
  std::uint64_t started_bytes_ = 0;
  std::uint64_t before_bytes_ = 0;
  double ratio_ = 0;
};

/// "12.3 MB".
[[nodiscard]] std::string in_megabytes(std::uint64_t bytes);

}  // namespace amr
