// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"

#include <string>

namespace valet::tools {

/// A text made of its parts: texts, and integers in digits.
template <class... Parts>
[[nodiscard]] std::string text_of(const Parts&... parts) {
  return invalid(parts...).text;
}

/// Throws an error with such a text.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, text_of(parts...));
}

/// Throws invalid_argument.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  fail(ErrorCode::invalid_argument, parts...);
}

}  // namespace valet::tools
