// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// redistribute() in steps, for what does something else meanwhile.

#include "call/frame.hpp"
#include <valet/redistribute.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace valet::layout {

class ArrayMove {
 public:
  ArrayMove() = default;
  ArrayMove(const ArrayMove&) = delete;
  ArrayMove& operator=(const ArrayMove&) = delete;
  virtual ~ArrayMove() = default;

  /// Goes on as far as that takes no waiting. @return Whether nothing is left to wait for. Local.
  virtual bool progress() = 0;
  /// Ends it. Collective.
  virtual Report finish() = 0;

  /// Hashes of the elements of this rank's part, before and afterwards. Their sum over all ranks
  /// says whether something is lost, whatever the layouts are. Local.
  [[nodiscard]] virtual std::uint64_t sum_of_source() const = 0;
  [[nodiscard]] virtual std::uint64_t sum_of_target() const = 0;
};

/// Checks, agrees, and begins to move. Collective. @throws Error as redistribute(), on all ranks
/// alike. What is given must live on.
[[nodiscard]] std::unique_ptr<ArrayMove> begin_move(const std::shared_ptr<call::Frame>& frame,
                                                    const GridLayout& from, const GridLayout& to,
                                                    std::size_t element_bytes,
                                                    const SourceArray& source,
                                                    const TargetArray& target,
                                                    const LayoutOptions& options);

}  // namespace valet::layout
