// SPDX-License-Identifier: BSD-3-Clause

#include "test_comm.hpp"

namespace valet::test {
namespace {

using layout::from_scalapack;
using layout::ScalapackDescriptor;
using layout::to_scalapack;

TEST(Scalapack, DescriptorsGoInAndOut) {
  const ScalapackDescriptor descriptor{1, 17, 100, 60, 8, 5, 1, 2, 56};
  const BlockCyclic layout = from_scalapack(descriptor, 2, 3, IndexOrder::column_major);
  EXPECT_EQ(layout, BlockCyclic({100, 60}, {8, 5}, {2, 3}, IndexOrder::column_major, {1, 2}));
  EXPECT_EQ(to_scalapack(layout, 17, 56), descriptor);
}

TEST(Scalapack, LocalRowsAreThoseOfNumroc) {
  // NUMROC(100, 8, row, 1, 2): 13 blocks, 6 on row 0, 6 and the ragged seventh on row 1.
  const BlockCyclic layout =
      from_scalapack(ScalapackDescriptor{1, 0, 100, 60, 8, 5, 1, 0, 100}, 2, 3);
  EXPECT_EQ(layout.local_extents(layout.rank({0, 0}))[0], 48);
  EXPECT_EQ(layout.local_extents(layout.rank({1, 0}))[0], 52);
}

TEST(Scalapack, RefusesBadDescriptorsAndSaysWhy) {
  const auto refused = [](ScalapackDescriptor descriptor, int rows, int columns,
                          const std::string& text) {
    const Outcome outcome = outcome_of([&] { (void)from_scalapack(descriptor, rows, columns); });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << text;
    expect_words(outcome.text, {text});
  };
  refused({501, 0, 100, 60, 8, 5, 0, 0, 56}, 2, 3, "DTYPE = 501 is not 1");
  refused({1, 0, 100, 60, 8, 5, 0, 0, 0}, 2, 3, "LLD = 0 must be at least 48, and at least the");
  refused({1, 0, 100, 60, 8, 5, 1, 0, 47}, 2, 3, "LLD = 47 must be at least 48");
  refused({1, 0, 3, 60, 8, 5, 1, 0, 0}, 2, 3, "LLD = 0 must be at least 1");
  refused({1, 0, 100, 60, 0, 5, 0, 0, 56}, 2, 3, "block size 0 in dimension 0");
  refused({1, 0, 100, 60, 8, -5, 0, 0, 56}, 2, 3, "block size -5 in dimension 1");
  refused({1, 0, 100, 60, 8, 5, 0, 3, 56}, 2, 3, "first rank 3 in dimension 1");
  refused({1, 0, 100, 60, 8, 5, 0, 0, 56}, 0, 3, "grid size 0 in dimension 0");
  const std::vector<int> eight(8, 1);
  const Outcome outcome = outcome_of([&] { (void)from_scalapack(eight, 1, 1); });
  expect_words(outcome.text, {"it has 8 integers"});
}

TEST(Scalapack, RefusesLayoutsThatADescriptorCannotHold) {
  const auto refused = [](const BlockCyclic& layout, int leading_dimension,
                          const std::string& text) {
    const Outcome outcome = outcome_of([&] { (void)to_scalapack(layout, 0, leading_dimension); });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << text;
    expect_words(outcome.text, {text});
  };
  refused(BlockCyclic({8}, {2}, {2}), 8, "two dimensions, the layout has 1");
  refused(BlockCyclic({8, 8}, {2, 2}, {2, 2}), -1, "LLD = -1 must be at least 4");
  refused(BlockCyclic({std::int64_t{1} << 31, 8}, {2, 2}, {2, 2}), 8,
          "M = 2147483648 does not fit");
  refused(BlockCyclic({8, 8}, {2, std::int64_t{1} << 31}, {2, 2}), 8,
          "NB = 2147483648 does not fit");
}

}  // namespace
}  // namespace valet::test
