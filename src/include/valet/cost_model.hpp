// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What moving data costs on a machine, in four numbers, and their text form. No MPI in here.

#include <valet/export.hpp>

#include <string>
#include <string_view>

namespace valet::schedule {

/// The cost of elementary steps while all ranks do the same: cores and links that ranks share are
/// in the numbers.
struct CostModel {
  /// A message of no bytes, from its sender to its receiver.
  double latency_seconds = 2e-6;
  /// Bytes per second that a rank sends in long messages while it receives as many.
  double bandwidth = 4e9;
  /// Bytes per second that a rank copies from memory to memory.
  double copy_bandwidth = 5e9;
  /// Gathering or scattering a block of 64 bytes.
  double block_seconds = 8e-9;
};

/// Reads "latency=2e-6,bandwidth=4e9,copy=5e9,block=5e-9": seconds and bytes per second; what is
/// left out keeps its default. The form of the environment variable VALET_MODEL.
/// @throws Error invalid_argument that names the entry and shows the form. Local.
VALET_EXPORT CostModel parse_cost_model(std::string_view text);
/// The text of a model, as parse_cost_model() reads it.
VALET_EXPORT std::string to_string(const CostModel& model);

}  // namespace valet::schedule
