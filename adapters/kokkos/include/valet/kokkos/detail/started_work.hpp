// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

namespace valet::kokkos::detail {

/// The packed memory that kernels may be working on.
class StartedWork {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool is_full() const { return count_ == packed_.size(); }
  void add(std::span<const std::byte> packed) { packed_[count_++] = packed; }
  void clear() { count_ = 0; }
  /// Whether some of it is part of `memory`.
  [[nodiscard]] bool touches(std::span<const std::byte> memory) const {
    const std::less<> before;
    for (std::size_t k = 0; k < count_; ++k)
      if (before(packed_[k].data(), memory.data() + memory.size()) &&
          before(memory.data(), packed_[k].data() + packed_[k].size()))
        return true;
    return false;
  }

 private:
  /// As many as messages that are on their way in both directions, by default.
  std::array<std::span<const std::byte>, 64> packed_{};
  std::size_t count_ = 0;
};

}  // namespace valet::kokkos::detail
