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
