// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace valet::schedule::detail {

inline bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// The value of a name. @throws Error invalid_argument that lists the known names.
template <class Value, std::size_t extent>
Value parse_name(std::string_view name, const char* what, std::span<const Value, extent> values) {
  std::string known;
  for (const Value value : values) {
    if (same_name(name, to_string(value))) return value;
    known += (known.empty() ? "" : ", ") + std::string(to_string(value));
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown " + std::string(what) + " '" + std::string(name) + "'; known: " + known);
}

}  // namespace valet::schedule::detail
