// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// redistribute() in steps, for what does something else meanwhile.

#include "call/frame.hpp"
#include <valet/redistribute.hpp>

#include <cstddef>
#include <memory>

namespace valet::layout {

/// Elements from an index to the next in the part of a rank of the grid: as given, or without gaps.
[[nodiscard]] BlockCyclic::Extents strides_of(const BlockCyclic& layout, int grid_rank,
                                              IndexOrder order, const BlockCyclic::Extents& given);

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
