// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Copies between a local array and packed memory, straight from an intersection: the families of
/// the fastest dimension are the table of what to copy in every row.

#include "geometry/intersection.hpp"

#include <cstddef>
#include <cstdint>

namespace valet::layout {

/// How a local array lies in memory.
struct ArrayShape {
  BlockCyclic::Extents strides;  ///< elements from an index to the next, per dimension
  std::size_t element_bytes = 1;
};

/// Any run of the sequences that a rank shares with its peers. It refers to the intersection, which
/// must outlive it. O(1) memory.
class SequenceCopy {
 public:
  /// @param order  The order of the sequence; both sides must choose alike. Fastest where the
  ///               dimension that is adjacent in memory is its fastest one.
  SequenceCopy(const Intersection& intersection, const ArrayShape& shape, IndexOrder order)
      : intersection_(&intersection), shape_(shape), order_(order) {}

  /// A run of the sequence shared with a peer, a rank of theirs.
  struct Elements {
    int peer = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;  ///< 1 or more
  };

  void pack(const std::byte* array, const Elements& elements, std::byte* packed) const;
  void unpack(const std::byte* packed, const Elements& elements, std::byte* array) const;

 private:
  const Intersection* intersection_;
  ArrayShape shape_;
  IndexOrder order_;
};

}  // namespace valet::layout
