// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Callbacks of the application that throw at their n-th call on one rank, for every n, and what
/// must come of it: nobody waits, and all ranks get the same error.

#include "test_comm.hpp"

namespace valet::test {

/// Throws once, at the n-th call on one rank.
class Throwing {
 public:
  void start(int where, int call) {
    left_ = rank() == where ? call : 0;
    has_thrown_ = false;
  }
  void called() {
    EXPECT_FALSE(has_thrown_) << "called again after it threw";
    if (left_ == 0 || --left_ > 0) return;
    has_thrown_ = true;
    throw std::runtime_error("the window is gone");
  }
  [[nodiscard]] bool has_thrown() const { return has_thrown_; }

 private:
  int left_ = 0;
  bool has_thrown_ = false;
};

/// An operation whose callback calls Throwing::called().
struct Operation {
  std::string name;                    ///< of the callback, in the message
  std::string consequence;             ///< what the message says of the data
  std::function<void()> prepare;       ///< data as it is before
  std::function<void()> call;          ///< may throw Error
  std::function<bool(bool)> is_right;  ///< whether data is as promised after a failure or without
};

/// Runs the operation with a failure at the first call, then at later ones, until there are no
/// more. Which rank fails changes. Collective. @return How often it failed.
inline int fail_at_every_call(Throwing& throwing, const Operation& operation) {
  int failures = 0;
  for (int call = 1;; call += 1 + call / 3) {
    const int where = (call + failures) % size();
    SCOPED_TRACE("call " + std::to_string(call) + " on rank " + std::to_string(where));
    operation.prepare();
    throwing.start(where, call);
    const Outcome outcome = outcome_of(operation.call);
    EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
    const bool has_failed = max_over_ranks(throwing.has_thrown() ? 1 : 0) > 0;
    EXPECT_TRUE(all_ranks(operation.is_right(has_failed))) << outcome.text;
    if (!has_failed) {
      EXPECT_EQ(outcome.code, ErrorCode::success) << outcome.text;
      return failures;
    }
    ++failures;
    EXPECT_EQ(outcome.code, ErrorCode::callback_failed) << outcome.text;
    expect_words(outcome.text, {"valet: rank " + std::to_string(where) + ": " + operation.name +
                                    " failed: the window",
                                operation.consequence});
  }
}

}  // namespace valet::test
