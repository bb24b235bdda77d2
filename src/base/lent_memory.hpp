// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is made again and again, one after the other, in memory that was allocated once: where the
/// system may refuse memory no more, and where only the largest is to be counted.

#include <valet/ledger.hpp>

#include <cstddef>
#include <span>

namespace valet::detail {

/// While it lives, allocations by a ledger on this thread are served from `memory`, uncounted, as
/// long as it lasts; then from the system again. What was served must be freed before this is.
class LentMemory {
 public:
  LentMemory(const Ledger& ledger, std::span<std::byte> memory) noexcept;
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory();

  /// What `bytes` of allocations may take more here, for their alignment.
  static constexpr std::size_t margin = 1024;

  /// Memory for an allocation by the ledger; null where the system is to be asked. Local.
  [[nodiscard]] static void* serve(const Ledger& ledger, std::size_t bytes) noexcept;
  /// Whether memory is such. Local.
  [[nodiscard]] static bool has_served(const void* memory) noexcept;

 private:
  const Ledger* ledger_;
  LentMemory* outer_;
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

}  // namespace valet::detail
