// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::bench {

/// What this process grows by at its peak, by the system's own count. Memory that was freed before
/// is given back first, and the system's peak is set to what is resident then: what earlier calls
/// took does not hide what the next one takes.
class PeakMemory {
 public:
  PeakMemory();
  /// Bytes beyond what was resident when this was made; 0 where the system does not say.
  [[nodiscard]] std::uint64_t grown() const;

 private:
  std::uint64_t before_;
};

/// While it lives, malloc gives freed memory back at once, so that a peak is what is in use. By
/// itself malloc keeps more and more the longer a program runs, which would make a growth depend on
/// what ran before; so it does again afterwards.
class FreedAtOnce {
 public:
  FreedAtOnce();
  FreedAtOnce(const FreedAtOnce&) = delete;
  FreedAtOnce& operator=(const FreedAtOnce&) = delete;
  ~FreedAtOnce() { keep_freed_memory(); }

  /// Lets malloc keep as much as it may come to by itself: for times that do not depend on what
  /// ran before.
  static void keep_freed_memory();
};

}  // namespace valet::bench
