// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The hash of a block, which many threads can compute in place: the sum of a hash of each of its
/// 8-byte pieces.

#include <valet/detail/cxx20.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define VALET_HOST_AND_DEVICE __host__ __device__
#else
#define VALET_HOST_AND_DEVICE
#endif

namespace valet::detail {

constexpr std::size_t piece_bytes = 8;

/// A bijection of 64-bit words in which every bit depends on every other. Source: the output
/// function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, Figure 17).
[[nodiscard]] VALET_HOST_AND_DEVICE constexpr std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
  word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
  return word ^ (word >> 31U);
}

/// Contribution of a piece to the sum.
/// @param piece  Bytes [8 * number, 8 * number + 8) of the packed block as an integer of this
///               machine, zeros after its end.
/// @param seed   Another one for each block, so that exchanged blocks are noticed.
[[nodiscard]] VALET_HOST_AND_DEVICE constexpr std::uint64_t piece_hash(std::uint64_t piece,
                                                                       std::uint64_t number,
                                                                       std::uint64_t seed) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
  return mixed(piece ^ mixed(mixed(seed + golden) + (number + 1) * golden));
}

/// The sum over all pieces of a packed block in host memory.
[[nodiscard]] inline std::uint64_t block_hash(const std::byte* block, std::size_t bytes,
                                              std::uint64_t seed) {
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < bytes; first += piece_bytes) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, block + first, std::min(piece_bytes, bytes - first));
    sum += piece_hash(piece, first / piece_bytes, seed);
  }
  return sum;
}

}  // namespace valet::detail
