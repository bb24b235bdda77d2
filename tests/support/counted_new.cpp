// SPDX-License-Identifier: BSD-3-Clause

// Replaces operator new of the whole process, shared libraries included. The size asked for stands
// in front of the memory handed out, so that exactly that is counted and not what malloc rounds to.
// Scratch comes from posix_memalign, memory that is shared from mmap: of those the calls of Valet
// are counted, not those of MPI.

#include "counted_new.hpp"

#include "calls_of_valet.hpp"
#include "replaced_new.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace {

std::atomic<long long> allocations{0};
std::atomic<std::ptrdiff_t> live_bytes{0};
std::atomic<std::ptrdiff_t> peak_bytes{0};
std::atomic<std::ptrdiff_t> mapped_bytes{0};
std::atomic<std::ptrdiff_t> asked_peak_bytes{0};  ///< of both

constexpr std::size_t least_header = 16;
static_assert(least_header >= alignof(std::max_align_t));

std::size_t header_of(std::size_t alignment) { return std::max(alignment, least_header); }

void raise(std::atomic<std::ptrdiff_t>& peak, std::ptrdiff_t value) {
  std::ptrdiff_t before = peak;
  while (value > before && !peak.compare_exchange_weak(before, value)) {
  }
}

void count(std::size_t size) {
  ++allocations;
  raise(peak_bytes, live_bytes += static_cast<std::ptrdiff_t>(size));
  raise(asked_peak_bytes, live_bytes + mapped_bytes);
}

/// What posix_memalign has given to Valet and is not free yet.
class AlignedMemory {
 public:
  void add(const void* memory, std::size_t size) noexcept {
    const std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_) {
      if (piece.memory != nullptr) continue;
      piece = {memory, size};
      ++live_;
      count(size);
      return;
    }
    std::abort();  // more pieces than any test needs
  }
  void remove(const void* memory) noexcept {
    if (live_ == 0) return;
    const std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_) {
      if (piece.memory != memory) continue;
      live_bytes -= static_cast<std::ptrdiff_t>(piece.size);
      piece = {};
      --live_;
    }
  }

 private:
  struct Piece {
    const void* memory = nullptr;
    std::size_t size = 0;
  };
  std::array<Piece, 64> pieces_{};
  std::atomic<int> live_{0};
  std::mutex mutex_;
};
constinit AlignedMemory aligned_memory;
bool has_aligned_memory = false;  ///< from the first piece on

}  // namespace

namespace valet::test {

NewCounters new_counters() {
  return {allocations, live_bytes, peak_bytes, mapped_bytes, asked_peak_bytes};
}
void restart_peak() {
  peak_bytes = live_bytes.load();
  asked_peak_bytes = live_bytes + mapped_bytes;
}

}  // namespace valet::test

extern "C" VALET_INTERPOSED int posix_memalign(void** memory, std::size_t alignment,
                                               std::size_t size) noexcept {
  static const auto next =
      valet::test::next_function<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  const int error = next(memory, alignment, size);
  if (error == 0 && valet::test::is_valet(__builtin_return_address(0))) {
    has_aligned_memory = true;
    aligned_memory.add(*memory, size);
  }
  return error;
}

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer frees memory while it starts: before code that it checks can run, and inside the
// search for the next function.
extern "C" void __interceptor_free(void* memory);
extern "C" VALET_INTERPOSED __attribute__((no_sanitize("address", "undefined"))) void free(
    void* memory) noexcept {
  if (has_aligned_memory && memory != nullptr) aligned_memory.remove(memory);
  __interceptor_free(memory);
}
#else
extern "C" VALET_INTERPOSED void free(void* memory) noexcept {
  static const auto next = valet::test::next_function<void (*)(void*)>("free");
  if (has_aligned_memory && memory != nullptr) aligned_memory.remove(memory);
  next(memory);
}
#endif

extern "C" VALET_INTERPOSED void* mmap(void* wish, std::size_t size, int protection, int flags,
                                       int file, off_t offset) noexcept {
  static const auto next =
      valet::test::next_function<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  void* const memory = next(wish, size, protection, flags, file, offset);
  if (memory != MAP_FAILED && valet::test::is_valet(__builtin_return_address(0))) {
    mapped_bytes += static_cast<std::ptrdiff_t>(size);
    raise(asked_peak_bytes, live_bytes + mapped_bytes);
  }
  return memory;
}

extern "C" VALET_INTERPOSED int munmap(void* memory, std::size_t size) noexcept {
  static const auto next = valet::test::next_function<int (*)(void*, std::size_t)>("munmap");
  const int error = next(memory, size);
  if (error == 0 && valet::test::is_valet(__builtin_return_address(0)))
    mapped_bytes -= static_cast<std::ptrdiff_t>(size);
  return error;
}

void* replaced::allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t header = header_of(alignment);
  const std::size_t whole = (size + 2 * header - 1) / header * header;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(header, whole));
  if (memory == nullptr) return nullptr;
  std::byte* const result = memory + header;
  *reinterpret_cast<std::size_t*>(result - least_header) = size;
  count(size);
  return result;
}

void* replaced::allocate(std::size_t size, std::size_t alignment) {
  void* const memory = allocate_or_null(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void replaced::release(void* memory, std::size_t alignment) noexcept {
  if (memory == nullptr) return;
  auto* const bytes = static_cast<std::byte*>(memory);
  live_bytes -= static_cast<std::ptrdiff_t>(*reinterpret_cast<std::size_t*>(bytes - least_header));
  std::free(bytes - header_of(alignment));
}
