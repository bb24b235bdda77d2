// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace valet::detail {

/// A value of an enumeration and its name in options, texts and tables.
template <class Value>
struct Named {
  Value value;
  const char* name;
  const char* short_name = "";  ///< read as well
};

template <class Value, class... Names>
Named(Value, Names...) -> Named<Value>;

/// The name of a value; "unknown" where the table does not have it.
template <class Value, std::size_t values>
const char* name_of(const std::array<Named<Value>, values>& table, Value value) noexcept {
  for (const Named<Value>& entry : table)
    if (entry.value == value) return entry.name;
  return "unknown";
}

inline bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

inline std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The value of a name, in upper or lower case; `what` names the enumeration in the error.
/// @throws Error invalid_argument that lists the known names.
template <class Value, std::size_t values>
Value value_of(const std::array<Named<Value>, values>& table, const char* what,
               std::string_view name) {
  std::string known;
  for (const Named<Value>& entry : table) {
    if (same_name(name, entry.name)) return entry.value;
    if (!name.empty() && same_name(name, entry.short_name)) return entry.value;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown " + std::string(what) + " '" + std::string(name) + "'; known: " + known);
}

}  // namespace valet::detail
