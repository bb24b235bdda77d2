// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cctype>
#include <cstdlib>
#include <string>

namespace valet::test {

/// The budget that the text of budget_too_small says is enough: its first number behind "needs" or
/// "at least"; 0 where there is none.
inline std::size_t named_budget(const std::string& text) {
  std::size_t at = text.find("needs ");
  if (at == std::string::npos) at = text.find("at least ");
  if (at == std::string::npos) return 0;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) == 0) ++at;
  return std::strtoull(text.c_str() + at, nullptr, 10);
}

}  // namespace valet::test
