// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A replaced operator new that refuses one allocation. A test that uses it lists refused_new.cpp
/// as a source.

namespace valet::test {

enum class Refusal { once, for_good };

/// Refuses the n-th allocation of this thread from now on, as the system would: the new-handler is
/// asked, and a small allocation is then granted, a large one only by a handler that never comes to
/// an end. For good: and all that follow, until they fit what was given back.
void refuse_allocation(long long n, Refusal refusal = Refusal::once);
/// Refuses none any more. @return Whether one was refused.
bool end_refusal();

/// As long as it lives nothing is refused and nothing is counted: the application's own functions
/// run.
class RefusalPause {
 public:
  RefusalPause();
  RefusalPause(const RefusalPause&) = delete;
  RefusalPause& operator=(const RefusalPause&) = delete;
  ~RefusalPause();

 private:
  long long until_;
  bool is_exhausted_;
};

}  // namespace valet::test
