// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
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

/// How messages call one of several things, which may have a label.
[[nodiscard]] inline std::string named(const char* kind, const std::string& label,
                                       std::size_t number) {
  return label.empty() ? joined(kind, " ", number) : joined(kind, " '", label, "'");
}

/// The name of a value; "unknown" where the table does not have it.
template <class Value, std::size_t values>
const char* name_of(const std::array<Named<Value>, values>& table, Value value) noexcept {
  for (const Named<Value>& entry : table)
    if (entry.value == value) return entry.name;
  return "unknown";
}

/// The names of a table, as "a, b, c".
template <class Value, std::size_t values>
std::string names_of(const std::array<Named<Value>, values>& table) {
  std::string names;
  for (const Named<Value>& entry : table)
    names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

inline std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// What is wrong with an option whose value the table does not have.
/// @param option  Such as "option order".
template <class Value, std::size_t values>
std::optional<Diagnostic> unknown_choice(const std::array<Named<Value>, values>& table,
                                         const char* option, Value value) {
  if (std::ranges::find(table, value, &Named<Value>::value) != table.end()) return std::nullopt;
  return invalid(option, " is ", static_cast<int>(value), ", which is none of ", names_of(table),
                 "; start from the default options");
}

/// The value of a name, in upper or lower case; `what` names the enumeration in the error.
/// @throws Error invalid_argument that lists the known names.
template <class Value, std::size_t values>
Value value_of(const std::array<Named<Value>, values>& table, const char* what,
               std::string_view name) {
  const std::string upper = upper_case(std::string(name));
  for (const Named<Value>& entry : table) {
    if (upper == upper_case(entry.name)) return entry.value;
    if (!upper.empty() && upper == upper_case(entry.short_name)) return entry.value;
  }
  refuse("unknown ", what, " '", name, "'; known: ", names_of(table));
}

}  // namespace valet::detail
