// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitions of a forest that need no forest, and data that tell whose they are.

#include "test_comm.hpp"

namespace valet::test {

using Offsets = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

/// The same on all ranks that draw the same; ranks without quadrants among them.
inline Offsets random_offsets(std::mt19937_64& random, std::int64_t quadrants) {
  Offsets gfq(static_cast<std::size_t>(size()) + 1);
  for (std::int64_t& offset : gfq)
    offset = std::uniform_int_distribution<std::int64_t>(0, quadrants)(random);
  std::ranges::sort(gfq);
  gfq.front() = 0;
  gfq.back() = quadrants;
  return gfq;
}

/// Equal parts, as far as they go.
inline Offsets even_offsets(std::int64_t quadrants) {
  Offsets gfq;
  for (int r = 0; r <= size(); ++r) gfq.push_back(quadrants * r / size());
  return gfq;
}

/// Calls action(quadrant) for those of this rank.
template <class Action>
void for_each_own(const std::int64_t* gfq, Action&& action) {
  for (std::int64_t q = gfq[rank()]; q < gfq[rank() + 1]; ++q) action(q);
}

inline std::size_t own_count(const std::int64_t* gfq) {
  return static_cast<std::size_t>(gfq[rank() + 1] - gfq[rank()]);
}

inline std::uint64_t scrambled(std::uint64_t x) {
  x = (x + 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;
  return x ^ (x >> 29U);
}

/// Appends the data of a quadrant: bytes that no other quadrant has in this order.
inline void append_data(Bytes& to, std::int64_t quadrant, std::size_t bytes) {
  std::uint64_t value = scrambled(static_cast<std::uint64_t>(quadrant));
  for (std::size_t b = 0; b < bytes; ++b) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    to.push_back(static_cast<std::byte>(value >> 56U));
  }
}

inline Bytes data_of(const std::int64_t* gfq, std::size_t bytes_each) {
  Bytes data;
  for_each_own(gfq, [&](std::int64_t q) { append_data(data, q, bytes_each); });
  return data;
}

/// The size of a quadrant's data: mostly small, often none, now and then large.
inline std::size_t size_of_data(std::int64_t quadrant) {
  const std::uint64_t drawn = scrambled(static_cast<std::uint64_t>(quadrant) + 77) >> 11U;
  if (drawn % 4 == 0) return 0;
  return drawn % 97 == 1 ? 20'000 : drawn / 97 % 60;
}

template <class Size>
std::vector<Size> sizes_of(const std::int64_t* gfq) {
  std::vector<Size> sizes;
  for_each_own(gfq, [&](std::int64_t q) { sizes.push_back(static_cast<Size>(size_of_data(q))); });
  return sizes;
}

inline Bytes custom_data_of(const std::int64_t* gfq) {
  Bytes data;
  for_each_own(gfq, [&](std::int64_t q) { append_data(data, q, size_of_data(q)); });
  return data;
}

}  // namespace valet::test
