// SPDX-License-Identifier: BSD-3-Clause

// Replaces malloc and its like for the whole process. Each piece of memory is noted with its size
// and with the library that asked for it, in a map whose own memory is not counted.

#include "counted_malloc.hpp"

#include "calls_of_valet.hpp"

#include <zoltan_mem.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <unordered_map>

#if defined(__SANITIZE_ADDRESS__)

namespace valet::test {
bool malloc_is_counted() { return false; }
void count_malloc() {}
AskedFor asked_for() { return {}; }
}  // namespace valet::test

#else

namespace {

using valet::test::AskedFor;
using valet::test::Asker;
using valet::test::next_function;

struct Piece {
  std::size_t size;
  Asker asker;
};

std::mutex mutex;  ///< of all below
std::atomic<bool> is_counting{false};
AskedFor counts;
thread_local bool is_own = false;  ///< memory of the map

std::unordered_map<const void*, Piece>& pieces() {
  static auto& map = *new std::unordered_map<const void*, Piece>;  // used to the very end
  return map;
}

const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}
const void* zoltan_library() { return library_of(reinterpret_cast<const void*>(Zoltan_Malloc)); }

Asker asker_at(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) != 0 && info.dli_fbase == zoltan_library()) return Asker::zoltan;
  const bool is_new =
      std::string_view(info.dli_fname != nullptr ? info.dli_fname : "").find("libstdc++") !=
      std::string_view::npos;
  return is_new || valet::test::is_valet(address) ? Asker::valet : Asker::others;
}

template <class Action>
void in_the_map(Action&& action) {
  if (!is_counting || is_own) return;
  is_own = true;
  {
    const std::lock_guard lock(mutex);
    action(pieces());
  }
  is_own = false;
}

void* noted(void* memory, std::size_t size, const void* caller) {
  if (memory == nullptr || !is_counting || is_own) return memory;
  // Not under the mutex: another thread may free memory while the dynamic linker has its lock.
  const Asker asker = asker_at(caller);
  in_the_map([&](auto& map) {
    map[memory] = {size, asker};
    const auto a = static_cast<std::size_t>(asker);
    counts.live[a] += static_cast<std::ptrdiff_t>(size);
    counts.peak[a] = std::max(counts.peak[a], counts.live[a]);
    counts.peak_of_both = std::max(counts.peak_of_both, counts.live[0] + counts.live[1]);
  });
  return memory;
}

void forget(const void* memory) {
  if (memory != nullptr)
    in_the_map([&](auto& map) {
      const auto found = map.find(memory);
      if (found == map.end()) return;
      counts.live[static_cast<std::size_t>(found->second.asker)] -=
          static_cast<std::ptrdiff_t>(found->second.size);
      map.erase(found);
    });
}

}  // namespace

namespace valet::test {

bool malloc_is_counted() {
  static const int here = 0;
  return zoltan_library() != library_of(&here);
}

void count_malloc() {
  is_counting = true;
  in_the_map([](auto& map) {
    map.clear();
    counts = {};
  });
}

AskedFor asked_for() {
  const std::lock_guard lock(mutex);
  return counts;
}

}  // namespace valet::test

extern "C" {

VALET_INTERPOSED void* malloc(std::size_t size) noexcept {
  static const auto next = next_function<void* (*)(std::size_t)>("malloc");
  return noted(next(size), size, __builtin_return_address(0));
}

VALET_INTERPOSED void* calloc(std::size_t count, std::size_t size) noexcept {
  static const auto next = next_function<void* (*)(std::size_t, std::size_t)>("calloc");
  return noted(next(count, size), count * size, __builtin_return_address(0));
}

VALET_INTERPOSED void* realloc(void* memory, std::size_t size) noexcept {
  static const auto next = next_function<void* (*)(void*, std::size_t)>("realloc");
  forget(memory);  // another thread may be given it before we know of it again
  return noted(next(memory, size), size, __builtin_return_address(0));
}

VALET_INTERPOSED int posix_memalign(void** memory, std::size_t alignment,
                                    std::size_t size) noexcept {
  static const auto next =
      next_function<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  const int error = next(memory, alignment, size);
  if (error == 0) noted(*memory, size, __builtin_return_address(0));
  return error;
}

VALET_INTERPOSED void free(void* memory) noexcept {
  static const auto next = next_function<void (*)(void*)>("free");
  forget(memory);
  next(memory);
}
}

#endif
