// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "objects/sizes.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

namespace valet::objects {

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
    ObjectSizes sizes;
  };
  /// Before parcels with so many objects are added. Pieces from before are not valid any more.
  void reserve(std::size_t objects) { sizes_.reserve(sizes_.size() + objects); }
  /// Room for the objects of a parcel, whose sizes are kept. The parcels for a rank leave in the
  /// order in which they came.
  Piece add(int target, std::span<const std::uint64_t> sizes) {
    Parcel parcel{target, static_cast<std::uint32_t>(sizes.size()), sizes_.size(), nullptr,
                  std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0})};
    parcel.data = lowest() - parcel.bytes;
    sizes_.insert(sizes_.end(), sizes.begin(), sizes.end());
    parcels_.push_back(parcel);
    return {parcel.data, ObjectSizes(sizes_).subspan(parcel.first)};
  }

  /// Takes up to `most` objects of one parcel for a rank; none: nothing waits for it. Valid until
  /// compact() or reserve().
  Piece take(int target, std::uint64_t most) {
    const auto at = std::ranges::find_if(parcels_, [&](const Parcel& parcel) {
      return parcel.target == target && parcel.count > 0;
    });
    if (at == parcels_.end()) return {};
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, at->count));
    const Piece piece{at->data, ObjectSizes(sizes_).subspan(at->first, count)};
    const std::uint64_t bytes = sum_of(piece.sizes);
    at->count -= count;
    at->first += count;
    at->data += bytes;
    at->bytes -= bytes;
    return piece;
  }

  /// Gives the memory of what was taken back.
  void compact() {
    std::erase_if(parcels_, [](const Parcel& parcel) { return parcel.count == 0; });
    std::byte* lowest = end_;
    std::size_t kept = 0;
    for (Parcel& parcel : parcels_) {
      lowest -= parcel.bytes;
      if (parcel.bytes > 0) std::memmove(lowest, parcel.data, parcel.bytes);
      parcel.data = lowest;
      std::copy_n(sizes_.begin() + static_cast<std::ptrdiff_t>(parcel.first), parcel.count,
                  sizes_.begin() + static_cast<std::ptrdiff_t>(kept));
      parcel.first = kept;
      kept += parcel.count;
    }
    sizes_.resize(kept);
  }

  [[nodiscard]] std::uint64_t waiting_for(int target) const {
    std::uint64_t objects = 0;
    for (const Parcel& parcel : parcels_)
      if (parcel.target == target) objects += parcel.count;
    return objects;
  }

  /// What they take of this rank's memory.
  [[nodiscard]] std::uint64_t cost() const {
    std::uint64_t cost = 0;
    for (const Parcel& parcel : parcels_)
      if (parcel.count > 0)
        cost += parcel.bytes + parcel.count * parked_object_bytes + parcel_bytes;
    return cost;
  }

 private:
  struct Parcel {
    int target = 0;
    std::uint32_t count = 0;  ///< objects that still wait
    std::size_t first = 0;    ///< first of their sizes
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::byte* lowest() const { return parcels_.empty() ? end_ : parcels_.back().data; }

  std::byte* end_ = nullptr;
  Vector<Parcel> parcels_;
  Vector<std::uint64_t> sizes_;
};

}  // namespace valet::objects
