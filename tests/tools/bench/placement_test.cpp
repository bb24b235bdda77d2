// SPDX-License-Identifier: BSD-3-Clause

// Which ranks share cores, and which core each gets.

#include "bench/placement.hpp"

#include "testing.hpp"

namespace valet::bench {
namespace {

TEST(Placement, IsThatOfTheCoresThatRanksMayRunOn) {
  EXPECT_EQ(placement_of({0b01, 0b10}), Placement::bound);
  EXPECT_EQ(placement_of({0b0011, 0b1100}), Placement::apart);
  EXPECT_EQ(placement_of({0b1111, 0b1111}), Placement::shared);
  EXPECT_EQ(placement_of({0b01, 0b11}), Placement::shared);
  EXPECT_EQ(placement_of({0b11, 0b11, 0b11}), Placement::oversubscribed);
  EXPECT_EQ(placement_of({0b01, 0b01}), Placement::oversubscribed);
  EXPECT_EQ(placement_of({0b01, 0}), Placement::unknown);
}

TEST(Placement, GivesEachRankACoreOfItsOwn) {
  using Own = std::vector<std::size_t>;
  EXPECT_EQ(own_cores({0b1111, 0b1111, 0b1111}), (Own{0, 1, 2}));
  EXPECT_EQ(own_cores({0b1100, 0b0011, 0b1100}), (Own{2, 0, 3})) << "of two sockets";
  EXPECT_EQ(own_cores({0b1100, 0b1100, 0b1100}), Own{}) << "one too few";
}

}  // namespace
}  // namespace valet::bench
