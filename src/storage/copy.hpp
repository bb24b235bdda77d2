// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The copies that the speed of an exchange depends on.

#include "base/sizes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define VALET_STREAMING_STORES 1
#include <immintrin.h>
#endif

namespace valet::detail {

/// Copies many bytes 2 KiB at a time: longer calls make glibc use `rep movsb`, which is slow for
/// some distances on AMD Zen 3 (see StorageBackend::allocate_scratch).
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t step = 2048;
  for (; bytes > step; bytes -= step, to += step, from += step) std::memcpy(to, from, step);
  std::memcpy(to, from, bytes);
}
template <std::size_t size>
void copy_bytes(std::byte* to, const std::byte* from, std::integral_constant<std::size_t, size>) {
  std::memcpy(to, from, size);
}

/// Calls `action` with a size, as a compile-time constant where it is one of `known`: a copy of
/// known size is a few instructions, a call to memcpy is not.
template <std::size_t... known, class Action>
void with_known_size(std::size_t bytes, Action&& action) {
  const auto is = [&](auto size) {
    if (bytes == size()) action(size);
    return bytes == size();
  };
  if (!(is(std::integral_constant<std::size_t, known>()) || ...)) action(bytes);
}

#if defined(VALET_STREAMING_STORES)

/// Copies whole lines past the cache; `to` is aligned to one.
inline void copy_lines_past_cache(std::byte* to, const std::byte* from, std::size_t lines) {
  for (std::size_t part = 0; part < 4 * lines; ++part)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + part,
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + part));
}
/// The same in wider words, a sixth faster where the processor has them.
__attribute__((target("avx2"))) inline void copy_lines_past_cache_avx2(std::byte* to,
                                                                       const std::byte* from,
                                                                       std::size_t lines) {
  for (std::size_t part = 0; part < 2 * lines; ++part)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + part,
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + part));
}
#endif

/// Copies to memory that another core reads next, past the cache of this one. Lines that are dirty
/// in the cache of a core that shares no cache with the reader are fetched at a quarter of the
/// speed of memory (measured on Zen 3: 256 MiB handed over in 128 KiB buffers took 110 to 170 ms
/// through caches of different core complexes, 30 ms inside one, and 40 ms this way in both).
/// finish_past_cache() ends a series of these.
inline void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(VALET_STREAMING_STORES)
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % cache_line_bytes;
  if (head + cache_line_bytes > bytes) return copy_bytes(to, from, bytes);
  std::memcpy(to, from, head);
  const std::size_t lines = (bytes - head) / cache_line_bytes;
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  (wide ? copy_lines_past_cache_avx2 : copy_lines_past_cache)(to + head, from + head, lines);
  const std::size_t done = head + lines * cache_line_bytes;
  std::memcpy(to + done, from + done, bytes - done);
#else
  copy_bytes(to, from, bytes);
#endif
}

inline void finish_past_cache() {
#if defined(VALET_STREAMING_STORES)
  _mm_sfence();
#endif
}

}  // namespace valet::detail
