// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::zoltan {

/// Tells standard error how much of what a rank expects has arrived, every tenth of it.
class Progress {
 public:
  Progress() = default;
  Progress(bool visible, std::uint64_t expected_bytes)
      : visible_(visible), expected_(expected_bytes) {}
  void advance(std::uint64_t bytes);

 private:
  bool visible_ = false;
  std::uint64_t expected_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t tenths_ = 0;
};

}  // namespace valet::zoltan
