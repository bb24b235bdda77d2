// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "schedule/transfer_matrix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

/// A redistribution in numbers, and where it comes from.
struct Problem {
  std::string name;
  schedule::TransferMatrix matrix;
  std::vector<std::uint64_t> free;  ///< slots per rank, scratch included
};

}  // namespace valet::plan
