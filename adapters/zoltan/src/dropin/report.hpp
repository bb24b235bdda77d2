// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <string>

namespace valet::zoltan {

/// Sums the report over the ranks (times, peak and bound: their maxima), and appends it on rank 0
/// as one line of JSON to the file of that rank. Collective; a file that cannot be written is a
/// warning.
void append_report(const mpi::Channel& channel, const std::string& path,
                   const Valet_Migration_Report& report);

}  // namespace valet::zoltan
