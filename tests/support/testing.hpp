// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What nearly every test includes: GoogleTest, the core of Valet and the usual headers of the
/// standard library. They are parsed once for all tests (cmake/ValetAddTest.cmake), so a test lists
/// only what it needs beyond them.

#include <valet/valet.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace valet::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Expects each of the words in a text.
inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_TRUE(contains(text, word)) << "no '" << word << "' in: " << text;
}

/// The error a call threw; success when it returned.
struct Outcome {
  ErrorCode code = ErrorCode::success;
  std::string text;
};

template <class Call>
Outcome outcome_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {ErrorCode::internal, std::string("not a valet::Error: ") + error.what()};
  }
  return {};
}

/// Expects that a call throws an error with these words. @return Its text.
template <class Call>
std::string expect_thrown(ErrorCode code, const std::vector<std::string>& words, Call&& call) {
  const Outcome outcome = outcome_of(std::forward<Call>(call));
  EXPECT_EQ(outcome.code, code) << outcome.text;
  expect_words(outcome.text, words);
  return outcome.text;
}

/// For INSTANTIATE_TEST_SUITE_P: tests are called as their parameter says, or its member `name`.
struct ParameterName {
  template <class Parameter>
  std::string operator()(const testing::TestParamInfo<Parameter>& test) const {
    using std::to_string;
    if constexpr (requires { test.param.name; })
      return test.param.name;
    else if constexpr (std::is_convertible_v<Parameter, std::string>)
      return test.param;
    else
      return to_string(test.param);
  }
};

}  // namespace valet::test
