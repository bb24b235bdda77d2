// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The cost of moving data on a machine, as four numbers, and its text form. Independent of MPI.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <string>
#include <string_view>

namespace valet::schedule {

/// The cost of elementary steps while all ranks perform them at the same time, so that sharing of
/// cores and links is included.
struct CostModel {
  /// Time of an empty message from its sender to its receiver.
  double latency_seconds = 2e-6;
  /// Bytes per second that a rank sends in long messages while receiving as much.
  double bandwidth = 4e9;
  /// Bytes per second that a rank copies from memory to memory.
  double copy_bandwidth = 5e9;
  /// Time to gather or scatter a block of 64 bytes.
  double block_seconds = 8e-9;
};

/// Parses "latency=2e-6,bandwidth=4e9,copy=5e9,block=5e-9", in seconds and bytes per second;
/// omitted entries keep their defaults. The environment variable VALET_MODEL has this form. Local.
/// @throws Error invalid_argument naming the entry and showing the form.
VALET_EXPORT CostModel parse_cost_model(std::string_view text);
/// The text of a model, in the form that parse_cost_model() reads.
VALET_EXPORT std::string to_string(const CostModel& model);

}  // namespace valet::schedule
