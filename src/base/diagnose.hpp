// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/error.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace valet {
namespace detail {

inline void append(std::string& text, std::string_view part) { text.append(part); }
template <std::integral Number>
void append(std::string& text, Number number) {
  text.append(std::to_string(number));
}

}  // namespace detail

/// A text made of its parts: texts, and integers in digits.
template <class... Parts>
[[nodiscard]] std::string joined(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

/// What a rank found wrong, in a text made of its parts.
template <class... Parts>
[[nodiscard]] Diagnostic diagnose(ErrorCode code, const Parts&... parts) {
  return {code, joined(parts...)};
}

/// The same of an argument.
template <class... Parts>
[[nodiscard]] Diagnostic invalid(const Parts&... parts) {
  return diagnose(ErrorCode::invalid_argument, parts...);
}

}  // namespace valet
