// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace valet::test {

/// Expects each of the words in a text.
inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

}  // namespace valet::test
