// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include <valet/detail/first_failure.hpp>

namespace valet::detail {
namespace {

std::string text_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

void FirstFailure::keep(const char* activity) noexcept {
  if (exception_ != nullptr) return;
  exception_ = std::current_exception();
  activity_ = activity;
}

std::optional<Diagnostic> FirstFailure::diagnostic(const char* consequence) const {
  if (exception_ == nullptr) return std::nullopt;
  return diagnose(ErrorCode::callback_failed, activity_, " failed: ", text_of(exception_), "; ",
                  consequence);
}

}  // namespace valet::detail
