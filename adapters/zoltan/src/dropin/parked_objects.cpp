// SPDX-License-Identifier: BSD-3-Clause
#include "parked_objects.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace valet::zoltan {

std::byte* ParkedObjects::lowest() const { return parcels_.empty() ? end_ : parcels_.back().data; }

ParkedObjects::Piece ParkedObjects::add(int target, std::span<const std::uint64_t> sizes) {
  Parcel parcel{target, static_cast<std::uint32_t>(sizes.size()), sizes_.size(), nullptr,
                std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0})};
  parcel.data = lowest() - parcel.bytes;
  for (const std::uint64_t size : sizes) sizes_.push_back(static_cast<int>(size));
  parcels_.push_back(parcel);
  return {parcel.data, {sizes_.data() + parcel.first, sizes.size()}};
}

ParkedObjects::Piece ParkedObjects::take(int target, std::uint64_t most) {
  const auto at = std::ranges::find_if(
      parcels_, [&](const Parcel& parcel) { return parcel.target == target && parcel.count > 0; });
  if (at == parcels_.end()) return {};
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, at->count));
  const Piece piece{at->data, {sizes_.data() + at->first, count}};
  std::uint64_t bytes = 0;
  for (const int size : piece.sizes) bytes += static_cast<std::uint64_t>(size);
  at->count -= count;
  at->first += count;
  at->data += bytes;
  at->bytes -= bytes;
  return piece;
}

void ParkedObjects::compact() {
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

std::uint64_t ParkedObjects::waiting_for(int target) const {
  std::uint64_t objects = 0;
  for (const Parcel& parcel : parcels_)
    if (parcel.target == target) objects += parcel.count;
  return objects;
}

std::uint64_t ParkedObjects::cost() const {
  std::uint64_t cost = 0;
  for (const Parcel& parcel : parcels_)
    if (parcel.count > 0) cost += parcel.bytes + parcel.count * parked_object_bytes + parcel_bytes;
  return cost;
}

}  // namespace valet::zoltan
