// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace valet::scale {

/// Where the block in a slot goes.
struct Destination {
  int rank = 0;
  std::uint64_t slot = 0;  ///< for maps to slots
};

/// One rank's part of a pattern, computed without any other rank.
struct Part {
  int rank = 0, ranks = 1;
  std::uint64_t slots = 0;   ///< of each rank
  std::uint64_t blocks = 0;  ///< of this one, in its first slots
};

/// The transfer patterns that are simulated, as `valet-bench` names them.
class Pattern {
 public:
  /// @throws std::invalid_argument that lists the known names.
  explicit Pattern(std::string_view name);
  [[nodiscard]] const std::string& name() const { return name_; }

  /// @param free  Slots of a rank without a block; "one-free" has all of them on rank 0.
  [[nodiscard]] Part part(int rank, int ranks, std::uint64_t slots, std::uint64_t free) const;
  /// Injective over all ranks and slots.
  [[nodiscard]] Destination destination(const Part& part, std::uint64_t slot) const;

 private:
  std::string name_;
  int number_ = 0;
};

}  // namespace valet::scale
