// SPDX-License-Identifier: BSD-3-Clause
#include <valet/storage_backend.hpp>

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace valet {

/// Two things decide how fast MPI moves what is in here inside a node, where the kernel copies it.
/// Huge pages: the kernel pins the pages of the sender one by one, which takes as long as copying
/// them, but whole huge pages at once. And the distance to slot 0, which is a multiple of a cache
/// line: target - source between 1 and 31 modulo 4096 makes `rep movsb` run at a fifth of its speed
/// on AMD Zen 3 (measured: 3 in place of 16 GB/s).
std::shared_ptr<std::byte> StorageBackend::allocate_scratch(std::size_t bytes) const {
  constexpr std::size_t line = 64;
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  constexpr std::size_t page = 4096;
  const auto alignment = static_cast<std::align_val_t>(bytes >= huge_page ? huge_page : page);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(contiguous_data()) % line;
  auto* const memory = static_cast<std::byte*>(::operator new(bytes + offset, alignment));
#if defined(__linux__)
  // A hint: without huge pages everything works, only slower.
  if (bytes >= huge_page) madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return {memory + offset,
          [memory, alignment](std::byte*) { ::operator delete(memory, alignment); }};
}

}  // namespace valet
