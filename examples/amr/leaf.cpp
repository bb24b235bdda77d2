// SPDX-License-Identifier: BSD-3-Clause
#include "leaf.hpp"

namespace amr {
namespace {

constexpr int level_bits = 5;

/// Puts two zero bits between the bits of a number of root_level bits.
std::uint64_t spread(std::uint64_t bits) {
  bits = (bits | bits << 32U) & 0x001F00000000FFFFU;
  bits = (bits | bits << 16U) & 0x001F0000FF0000FFU;
  bits = (bits | bits << 8U) & 0x100F00F00F00F00FU;
  bits = (bits | bits << 4U) & 0x10C30C30C30C30C3U;
  bits = (bits | bits << 2U) & 0x1249249249249249U;
  return bits;
}

std::uint32_t gather(std::uint64_t bits) {
  bits &= 0x1249249249249249U;
  bits = (bits | bits >> 2U) & 0x10C30C30C30C30C3U;
  bits = (bits | bits >> 4U) & 0x100F00F00F00F00FU;
  bits = (bits | bits >> 8U) & 0x001F0000FF0000FFU;
  bits = (bits | bits >> 16U) & 0x001F00000000FFFFU;
  bits = (bits | bits >> 32U) & 0x00000000001FFFFFU;
  return static_cast<std::uint32_t>(bits);
}

}  // namespace

Leaf Leaf::child(int number) const {
  Leaf child{corner, level + 1};
  for (std::size_t d = 0; d < 3; ++d)
    if ((number >> d & 1) != 0) child.corner[d] += child.length();
  return child;
}

Leaf Leaf::parent() const {
  Leaf parent{corner, level - 1};
  for (std::uint32_t& x : parent.corner) x &= ~(parent.length() - 1);
  return parent;
}

int Leaf::child_number() const {
  int number = 0;
  for (std::size_t d = 0; d < 3; ++d)
    if ((corner[d] & length()) != 0) number |= 1 << d;
  return number;
}

Leaf Leaf::neighbour(int axis, int direction) const {
  Leaf other = *this;
  std::uint32_t& x = other.corner[static_cast<std::size_t>(axis)];
  x = (direction > 0 ? x + length() : x - length()) & (root_length - 1);
  return other;
}

LeafKey key_of(const Leaf& leaf) {
  const std::uint64_t place =
      spread(leaf.corner[0]) | spread(leaf.corner[1]) << 1U | spread(leaf.corner[2]) << 2U;
  return place << level_bits | static_cast<std::uint64_t>(leaf.level);
}

Leaf leaf_of(LeafKey key) {
  const std::uint64_t place = key >> level_bits;
  return {{gather(place), gather(place >> 1U), gather(place >> 2U)},
          static_cast<int>(key & ((1U << level_bits) - 1))};
}

}  // namespace amr
