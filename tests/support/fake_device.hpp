// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A device without a device: memory that the host must not touch. It is protected outside of what
/// stands for kernels, so that an access by the host, or by MPI, ends the test.

#include <valet/custom_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace valet::test {

/// Pages that can be protected.
class DevicePages {
 public:
  explicit DevicePages(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(memory);
  }
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;
  ~DevicePages() { munmap(data_, bytes_); }

  [[nodiscard]] std::byte* data() const { return data_; }
  void protect(int rights) const {
    if (mprotect(data_, bytes_, rights) != 0) throw std::runtime_error("mprotect failed");
  }

  /// While it lives a kernel runs, and the memory is open.
  class Kernel {
   public:
    explicit Kernel(const DevicePages& pages) : pages_(pages) {
      pages_.protect(PROT_READ | PROT_WRITE);
    }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    ~Kernel() { pages_.protect(PROT_NONE); }

   private:
    const DevicePages& pages_;
  };

 private:
  std::size_t bytes_;
  std::byte* data_;
};

/// Blocks on such a device, two fields of a structure of arrays where a block has 16 bytes or more,
/// and the functions that move them. Packed blocks and lists of slots must be in memory that
/// allocate_scratch gave, as pinned memory has to be.
class FakeDevice {
 public:
  FakeDevice(std::uint64_t slots, std::size_t block_bytes)
      : slots_(slots),
        block_bytes_(block_bytes),
        first_bytes_(block_bytes < 16 ? block_bytes : 8),
        pages_(slots * block_bytes) {}

  /// What was called, and what is to fail.
  struct Counts {
    std::uint64_t packs = 0, unpacks = 0, copies = 0, fences = 0;
    std::size_t scratch_bytes = 0, scratch_peak_bytes = 0, allocations = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  void count_peak_anew() { counts_.scratch_peak_bytes = counts_.scratch_bytes; }
  /// Scratch that it has at most: allocate_scratch gives a null pointer beyond.
  void limit_scratch(std::size_t bytes) { scratch_limit_ = bytes; }
  /// Takes packed blocks from any memory of the host: where the application lends some.
  void take_any_memory() { takes_any_memory_ = true; }

  /// A storage of its blocks; it must not outlive this.
  [[nodiscard]] BlockStorage storage(bool copies_slots = true) {
    return custom_storage(slots_, block_bytes_, functions(copies_slots));
  }
  [[nodiscard]] CustomFunctions functions(bool copies_slots = true) {
    CustomFunctions functions;
    functions.pack = [this](SlotSpan slots, std::byte* packed) {
      ++counts_.packs;
      check(slots, packed);
      move(slots, [&](std::byte* part, std::size_t at, std::size_t bytes) {
        std::memcpy(packed + at, part, bytes);
      });
    };
    functions.unpack = [this](const std::byte* packed, SlotSpan slots) {
      ++counts_.unpacks;
      check(slots, packed);
      move(slots, [&](std::byte* part, std::size_t at, std::size_t bytes) {
        std::memcpy(part, packed + at, bytes);
      });
    };
    if (copies_slots) functions.copy = [this](SlotSpan from, SlotSpan to) { copy(from, to); };
    functions.allocate_scratch = [this](std::size_t bytes) { return allocate(bytes); };
    functions.free_scratch = [this](void* memory) { free(memory); };
    functions.synchronize = [this] { ++counts_.fences; };
    return functions;
  }

  /// For tests: a block from and to the host.
  void write(std::uint64_t slot, const std::byte* block) {
    move(SlotSpan(&slot, 1), [&](std::byte* part, std::size_t at, std::size_t bytes) {
      std::memcpy(part, block + at, bytes);
    });
  }
  void read(std::uint64_t slot, std::byte* block) {
    move(SlotSpan(&slot, 1), [&](std::byte* part, std::size_t at, std::size_t bytes) {
      std::memcpy(block + at, part, bytes);
    });
  }
  [[nodiscard]] const DevicePages& pages() const { return pages_; }

 private:
  /// A kernel: calls action(field's row, place in packed memory, bytes) for all rows.
  template <class Action>
  void move(SlotSpan slots, Action&& action) {
    const DevicePages::Kernel kernel(pages_);
    const std::size_t rest = block_bytes_ - first_bytes_;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      if (slots[k] >= slots_) throw std::out_of_range("slot " + std::to_string(slots[k]));
      action(pages_.data() + slots[k] * first_bytes_, k * block_bytes_, first_bytes_);
      if (rest > 0)
        action(pages_.data() + slots_ * first_bytes_ + slots[k] * rest,
               k * block_bytes_ + first_bytes_, rest);
    }
  }

  /// The worst order that the promise to the function allows: all at a time.
  void copy(SlotSpan from, SlotSpan to) {
    ++counts_.copies;
    check_pinned(from.data(), from.size_bytes());
    check_pinned(to.data(), to.size_bytes());
    for (const std::uint64_t slot : to)
      if (std::ranges::count(from, slot) > 0 || std::ranges::count(to, slot) > 1)
        throw std::logic_error("slot " + std::to_string(slot) + " is read and written");
    const DevicePages::Kernel kernel(pages_);
    const std::size_t rest = block_bytes_ - first_bytes_;
    std::byte* const second = pages_.data() + slots_ * first_bytes_;
    for (std::size_t k = from.size(); k-- > 0;) {
      std::memcpy(pages_.data() + to[k] * first_bytes_, pages_.data() + from[k] * first_bytes_,
                  first_bytes_);
      if (rest > 0) std::memcpy(second + to[k] * rest, second + from[k] * rest, rest);
    }
  }

  void check(SlotSpan slots, const std::byte* packed) {
    check_pinned(slots.data(), slots.size_bytes());
    if (!takes_any_memory_) check_pinned(packed, slots.size() * block_bytes_);
    if (slots.size() > custom_most_slots) throw std::logic_error("too many slots at a time");
  }
  void check_pinned(const void* memory, std::size_t bytes) const {
    const auto* const begin = static_cast<const std::byte*>(memory);
    const auto found = std::ranges::find_if(pinned_, [&](const auto& piece) {
      return begin >= piece.first && begin + bytes <= piece.first + piece.second;
    });
    if (found == pinned_.end()) throw std::logic_error("the device does not reach that memory");
  }

  void* allocate(std::size_t bytes) {
    if (counts_.scratch_bytes + bytes > scratch_limit_) return nullptr;
    auto* const memory = static_cast<std::byte*>(std::malloc(bytes));
    if (memory == nullptr) return nullptr;
    pinned_.emplace(memory, bytes);
    ++counts_.allocations;
    counts_.scratch_bytes += bytes;
    counts_.scratch_peak_bytes = std::max(counts_.scratch_peak_bytes, counts_.scratch_bytes);
    return memory;
  }
  void free(void* memory) {
    const auto found = pinned_.find(static_cast<std::byte*>(memory));
    if (found == pinned_.end()) std::abort();  // not of here, or freed twice
    counts_.scratch_bytes -= found->second;
    std::free(found->first);
    pinned_.erase(found);
  }

  std::uint64_t slots_;
  std::size_t block_bytes_, first_bytes_;
  DevicePages pages_;
  std::map<std::byte*, std::size_t> pinned_;
  std::size_t scratch_limit_ = ~std::size_t{0};
  bool takes_any_memory_ = false;
  Counts counts_;
};

}  // namespace valet::test
