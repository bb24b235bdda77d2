// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/methods.hpp"

#include "testing.hpp"
#include <valet/valet.h>

#include <cctype>

namespace valet::schedule {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return text;
}

TEST(Methods, EveryRowIsFoundByItsMethodAndByItsName) {
  ASSERT_FALSE(methods().empty());
  for (const MethodTraits& row : methods()) {
    EXPECT_EQ(find_traits(row.method), &row);
    EXPECT_EQ(&traits_of(row.method), &row);
    EXPECT_STREQ(to_string(row.method), row.name);
    EXPECT_EQ(parse_method(row.name), row.method);
    EXPECT_EQ(parse_method(row.upper_name), row.method);
    EXPECT_EQ(row.upper_name, upper(row.name));
  }
}

TEST(Methods, TheListNamesTheRowsInTheirOrderWithTheirValuesInC) {
  std::size_t k = 0;
#define VALET_CHECK_ROW(C, value)                               \
  ASSERT_LT(k, methods().size());                               \
  EXPECT_EQ(methods()[k].method, Method::value);                \
  EXPECT_STREQ(methods()[k].name, #value);                      \
  EXPECT_STREQ(methods()[k].upper_name, #C);                    \
  EXPECT_EQ(static_cast<int>(Method::value), VALET_METHOD_##C); \
  ++k;
  VALET_METHODS(VALET_CHECK_ROW)
#undef VALET_CHECK_ROW
  EXPECT_EQ(k, methods().size());
}

TEST(Methods, TheChoiceAmongThemIsNoneOfThem) {
  EXPECT_EQ(find_traits(Method::automatic), nullptr);
  EXPECT_STREQ(to_string(static_cast<Method>(77)), "unknown");
  valet::test::expect_thrown(ErrorCode::invalid_argument, {"method 77 moves no blocks"},
                             [] { static_cast<void>(traits_of(static_cast<Method>(77))); });
}

TEST(Methods, KnowWhatTheyNeed) {
  const Options options;
  for (const MethodTraits& row : methods()) {
    const bool has_root = row.has_root && row.has_root(options);
    EXPECT_EQ(has_root, row.method == Method::cyclic) << row.name;
    EXPECT_EQ(row.budget == BudgetRule::everything, row.method == Method::direct) << row.name;
    EXPECT_EQ(row.messages == MessageRule::phased, row.method == Method::phased) << row.name;
  }
  const Options parking{.phased = {.parking = 1}};
  EXPECT_TRUE(traits_of(Method::phased).has_root(parking));
  EXPECT_FALSE(traits_of(Method::phased).has_root(options));
}

}  // namespace
}  // namespace valet::schedule
