// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/error.hpp>

#include <memory>
#include <utility>

namespace valet::detail {

/// What a movable handle owns. To use a handle that was moved from is an error of the caller, and
/// not a fault of memory. Local.
template <class State>
class Owned {
 public:
  Owned() = default;
  Owned(std::unique_ptr<State> state) : state_(std::move(state)) {}

  /// @throws Error invalid_argument.
  [[nodiscard]] State* operator->() const {
    if (state_) return state_.get();
    throw Error(
        ErrorCode::invalid_argument,
        "a plan, partition, rebalancer or attached storage that was moved from was used; use "
        "the one that it was moved to");
  }
  [[nodiscard]] State& operator*() const { return *operator->(); }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace valet::detail
