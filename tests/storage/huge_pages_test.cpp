// SPDX-License-Identifier: BSD-3-Clause

// What is asked of the system for scratch, below operator new: no more than is counted.

#include "storage/huge_pages.hpp"

#include "calls_of_valet.hpp"
#include "testing.hpp"

#include <cerrno>
#include <new>

namespace {
std::size_t asked_bytes = 0, asked_alignment = 0;
bool is_refused = false;
}  // namespace

extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  static const auto next =
      valet::test::next_function<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  asked_alignment = alignment;
  asked_bytes += bytes;
  return is_refused ? ENOMEM : next(memory, alignment, bytes);
}

// Where operator new of the standard library goes.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  static const auto next =
      valet::test::next_function<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  asked_alignment = alignment;
  asked_bytes += bytes;
  return next(alignment, bytes);
}

namespace valet::test {
namespace {

TEST(Pages, AreNoMoreThanWasAskedFor) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{5000}, huge_page, huge_page + 1, std::size_t{4'500'044}}) {
    asked_bytes = 0;
    const auto memory = storage::allocate_with_huge_pages(bytes);
    EXPECT_EQ(asked_bytes, bytes);
    EXPECT_EQ(asked_alignment, bytes < huge_page ? 4096 : huge_page);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % asked_alignment, 0U);
    memory.get()[0] = memory.get()[bytes - 1] = std::byte{1};
  }
}

// As of operator new: the application may free something.
TEST(Pages, AreAskedForAgainWhenTheNewHandlerReturns) {
  is_refused = true;
  EXPECT_THROW(static_cast<void>(storage::allocate_with_huge_pages(5000)), std::bad_alloc);
  const std::new_handler before = std::set_new_handler([] { is_refused = false; });
  EXPECT_NE(storage::allocate_with_huge_pages(5000), nullptr);
  std::set_new_handler(before);
}

}  // namespace
}  // namespace valet::test
