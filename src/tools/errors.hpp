// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"

#include <string>
#include <vector>

namespace valet::tools {

/// Throws an error with a text made of its parts, as joined().
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, joined(parts...));
}

/// Throws invalid_argument.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  fail(ErrorCode::invalid_argument, parts...);
}

/// Names as "a, b, c".
[[nodiscard]] inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace valet::tools
