// SPDX-License-Identifier: BSD-3-Clause

// Replaces operator new of the whole process, shared libraries included, and posix_memalign, from
// which scratch comes, where Valet calls it.

#include "refused_new.hpp"

#include "calls_of_valet.hpp"
#include "replaced_new.hpp"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr std::size_t largest_small = std::size_t{16} << 10;
constexpr std::size_t held_back = std::size_t{24} << 10;  ///< what Valet's new-handler gives back

thread_local long long until_refusal = 0;  ///< 0: none is refused
thread_local bool refused = false;
thread_local bool for_good = false;
thread_local bool is_exhausted = false;
thread_local std::size_t given_back = 0;  ///< since then

/// @throws std::bad_alloc as the handler does, or where there is none.
void ask_handler() {
  const std::new_handler handler = std::get_new_handler();
  if (handler == nullptr) throw std::bad_alloc();
  handler();
}

/// Whether the next allocation of this thread is the one to be refused.
bool is_refused() {
  if (until_refusal == 0 || --until_refusal > 0) return false;
  is_exhausted = for_good;
  return refused = true;
}

/// Whether so many bytes were given back when there were none left.
bool take_back(std::size_t size) {
  if (size > given_back) return false;
  given_back -= size;
  return true;
}

}  // namespace

namespace valet::test {

void refuse_allocation(long long n, Refusal refusal) {
  refused = false;
  until_refusal = n;
  for_good = refusal == Refusal::for_good;
  given_back = 0;
}

bool end_refusal() {
  until_refusal = 0;
  is_exhausted = false;
  return refused;
}

RefusalPause::RefusalPause()
    : until_(std::exchange(until_refusal, 0)), is_exhausted_(std::exchange(is_exhausted, false)) {}

RefusalPause::~RefusalPause() {
  until_refusal = until_;
  is_exhausted = is_exhausted_;
}

}  // namespace valet::test

// Its caller asks the new-handler, and then again: one more that is refused.
extern "C" VALET_INTERPOSED int posix_memalign(void** memory, std::size_t alignment,
                                               std::size_t size) noexcept {
  static const auto next =
      valet::test::next_function<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  if (valet::test::is_valet(__builtin_return_address(0))) {
    if (is_refused() && !is_exhausted) {
      if (size > largest_small) until_refusal = 1;
      return ENOMEM;
    }
    if (is_exhausted && !take_back(size)) return ENOMEM;
  }
  return next(memory, alignment, size);
}

void* replaced::allocate(std::size_t size, std::size_t alignment) {
  if (is_refused() && !is_exhausted) {
    ask_handler();
    while (size > largest_small) ask_handler();
  }
  const std::size_t whole =
      (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  while (is_exhausted && !take_back(whole)) {
    ask_handler();
    given_back += held_back;
  }
  void* const memory = std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* replaced::allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return allocate(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void replaced::release(void* memory, std::size_t) noexcept {
  if (is_exhausted && memory != nullptr) given_back += malloc_usable_size(memory);
  std::free(memory);
}
