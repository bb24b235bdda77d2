// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "testing.hpp"

namespace valet::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Expects each of the words in a text.
inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_TRUE(contains(text, word)) << "no '" << word << "' in: " << text;
}

}  // namespace valet::test
