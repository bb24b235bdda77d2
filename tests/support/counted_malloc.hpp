// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the process asks malloc and its like for, by the library that asks. A test that uses it
/// lists counted_malloc.cpp as a source.

#include <array>
#include <cstddef>

namespace valet::test {

enum class Asker {
  zoltan,  ///< Zoltan, a library of its own
  valet,   ///< Valet, operator new and the test program
  others,  ///< MPI and the system
};

/// The most bytes that were asked for at a time, beyond what was there at the beginning.
struct AskedFor {
  std::array<std::ptrdiff_t, 3> live{}, peak{};
  std::ptrdiff_t peak_of_both = 0;

  [[nodiscard]] std::size_t of(Asker asker) const {
    return static_cast<std::size_t>(peak[static_cast<std::size_t>(asker)]);
  }
  [[nodiscard]] std::size_t without_others() const {
    return static_cast<std::size_t>(peak_of_both);
  }
};

/// Whether calls can be counted: malloc is not a sanitizer's, and Zoltan a library of its own.
[[nodiscard]] bool malloc_is_counted();
/// Forgets all counts, and counts from now on.
void count_malloc();
[[nodiscard]] AskedFor asked_for();

}  // namespace valet::test
