// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace valet::bench {

/// Data moved between two block-cyclic layouts.
struct LayoutDataSettings {
  std::string extent = "4096x4096";
  /// Block and grid of the source, block and grid of the target.
  std::vector<std::string> moves{"64x64:2x2:30x50:4x1", "256x256:2x2:100x100:2x2"};
  std::string memory = "4M";
  bool share_memory = true;
  int repeat = 11;
  std::string json;
};

/// Measures redistribute() and redistribute_in_place() beside pdgemr2d and MPI_Alltoallv.
/// @param failed  Set when a result was wrong.
void run_layout_data(const LayoutDataSettings& settings, bool& failed);

}  // namespace valet::bench
