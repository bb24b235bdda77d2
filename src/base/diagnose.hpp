// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/error.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace valet {
namespace detail {

inline void append(std::string& text, std::string_view part) { text.append(part); }
/// Names what was negative before it became unsigned, somewhere in the application: to 2^40 below
/// 0.
template <std::integral Number>
void append(std::string& text, Number number) {
  text.append(std::to_string(number));
  if constexpr (std::is_same_v<Number, std::uint64_t>)
    if (const auto given = static_cast<std::int64_t>(number); given < 0 && given >> 40 == -1)
      text.append(" (negative: ").append(std::to_string(given)).append(")");
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
/// @throws Error with that.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, joined(parts...));
}

}  // namespace valet
