// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::zoltan {

/// Bookkeeping of an object that waits, and of a parcel of them, at most; part of what they cost.
constexpr std::uint64_t parked_object_bytes = 24;
constexpr std::uint64_t parcel_bytes = 128;

/// Packed objects of other ranks that wait on this one, in parcels: objects for one rank that came
/// from one other. They fill their memory from its end; what is in front is free for others.
class ParkedObjects {
 public:
  explicit ParkedObjects(Ledger& ledger) : parcels_(ledger), sizes_(ledger) {}

  /// The end of its memory.
  void use(std::byte* end) { end_ = end; }

  /// Packed objects consecutive.
  struct Piece {
    std::byte* data = nullptr;
    std::span<const int> sizes;
  };
  /// Before parcels with so many objects are added. Pieces from before are not valid any more.
  void reserve(std::size_t objects) { sizes_.reserve(sizes_.size() + objects); }
  /// Room for the objects of a parcel, whose sizes are kept. The parcels for a rank leave in the
  /// order in which they came.
  Piece add(int target, std::span<const std::uint64_t> sizes);
  /// Takes up to `most` objects of one parcel for a rank; none: nothing waits for it. Valid until
  /// compact() or reserve().
  Piece take(int target, std::uint64_t most);
  /// Gives the memory of what was taken back.
  void compact();

  [[nodiscard]] std::uint64_t waiting_for(int target) const;
  /// What they take of this rank's memory.
  [[nodiscard]] std::uint64_t cost() const;

 private:
  struct Parcel {
    int target = 0;
    std::uint32_t count = 0;  ///< objects that still wait
    std::size_t first = 0;    ///< first of their sizes
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::byte* lowest() const;

  std::byte* end_ = nullptr;
  Vector<Parcel> parcels_;
  Vector<int> sizes_;
};

}  // namespace valet::zoltan
