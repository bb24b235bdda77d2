// SPDX-License-Identifier: BSD-3-Clause

// A broken invariant is thrown in a build with assertions, and costs nothing in one without.

#include "base/assert.hpp"
#include "storage/slot_set.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

#ifdef VALET_ASSERTIONS
constexpr bool with_assertions = true;
#else
constexpr bool with_assertions = false;
#endif

/// What `act` throws as Error internal; nothing where it does not throw.
std::optional<std::string> broken_invariant(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    return error.what();
  }
  return std::nullopt;
}

TEST(Assertions, SayConditionFileAndLineWhereTheyAreOn) {
  const int line = __LINE__ + 1;
  const auto text = broken_invariant([] { VALET_ASSERT(1 + 1 == 3); });
  ASSERT_EQ(text.has_value(), with_assertions);
  if (!text) return;
  EXPECT_NE(text->find("broken invariant '1 + 1 == 3'"), std::string::npos) << *text;
  EXPECT_NE(text->find("assertions_test.cpp:" + std::to_string(line)), std::string::npos) << *text;
}

TEST(Assertions, DoNotEvaluateTheConditionWhereTheyAreOff) {
  int evaluated = 0;
  VALET_ASSERT(++evaluated > 0);
  EXPECT_EQ(evaluated, with_assertions ? 1 : 0);
}

// Each of these would leave a set that miscounts its members.
TEST(Assertions, GuardTheSetOfSlots) {
  Ledger ledger;
  storage::SlotSet set(ledger, 100);
  set.insert(storage::SlotRun{10, 70});
  EXPECT_FALSE(broken_invariant([&] { set.erase(std::uint64_t{12}); }));
  EXPECT_EQ(broken_invariant([&] { set.insert(std::uint64_t{11}); }).has_value(), with_assertions);
  EXPECT_EQ(broken_invariant([&] { set.erase(std::uint64_t{12}); }).has_value(), with_assertions);
  EXPECT_EQ(broken_invariant([&] {
              set.insert(storage::SlotRun{79, 4});
            }).has_value(),
            with_assertions);
  EXPECT_EQ(broken_invariant([&] {
              set.erase(storage::SlotRun{5, 10});
            }).has_value(),
            with_assertions);
  const std::array<std::uint32_t, 2> members{9, 10};
  EXPECT_EQ(broken_invariant([&] {
              set.insert_ascending(std::span<const std::uint32_t>(members));
            }).has_value(),
            with_assertions);
}

}  // namespace
}  // namespace valet::test
