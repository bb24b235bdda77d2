// SPDX-License-Identifier: BSD-3-Clause

// The parts of the adapter that need neither MPI nor an initialised Kokkos.

#include "testing.hpp"
#include <valet/kokkos/blocks.hpp>

namespace {

using valet::detail::disjoint_copies;
using valet::detail::independent_copies;
using Slots = std::vector<std::uint32_t>;

std::size_t independent(const Slots& sources, const Slots& targets, std::size_t most = 1000) {
  return independent_copies(std::span<const std::uint32_t>(sources),
                            std::span<const std::uint32_t>(targets), most);
}

TEST(IndependentCopies, TakeAShiftChainWhole) {
  // 1 -> 0, 2 -> 1, 3 -> 2: every slot is read before it is written.
  EXPECT_EQ(independent({1, 2, 3}, {0, 1, 2}), 3U);
}

TEST(IndependentCopies, StopBeforeASlotThatWasWrittenIsRead) {
  EXPECT_EQ(independent({1, 0}, {0, 2}), 1U);
  EXPECT_EQ(independent({5, 6, 1, 0}, {0, 2, 3, 4}), 3U);
}

TEST(IndependentCopies, StopBeforeASlotIsWrittenTwice) {
  EXPECT_EQ(independent({1, 2}, {0, 0}), 1U);
}

TEST(IndependentCopies, NeverPassTheScratchAndNeverStall) {
  EXPECT_EQ(independent({1, 2, 3}, {0, 1, 2}, 2), 2U);
  EXPECT_EQ(independent({1, 2, 3}, {0, 1, 2}, 1), 1U);
  EXPECT_EQ(independent({7}, {7}), 1U);
  EXPECT_EQ(independent({}, {}), 0U);
}

TEST(IndependentCopies, TakeLongChainsInFewBatches) {
  Slots sources(256);
  Slots targets(256);
  std::iota(sources.begin(), sources.end(), 1000U);
  std::iota(targets.begin(), targets.end(), 999U);
  EXPECT_GE(independent(sources, targets), 64U);
}

std::size_t disjoint(const Slots& sources, const Slots& targets, std::size_t most = 1000) {
  return disjoint_copies(std::span<const std::uint32_t>(sources),
                         std::span<const std::uint32_t>(targets), most);
}

TEST(DisjointCopies, StopWhereASlotIsReadAndWritten) {
  EXPECT_EQ(disjoint({5, 6, 7}, {0, 1, 2}), 3U);
  EXPECT_EQ(disjoint({1, 2, 3}, {0, 1, 2}), 1U) << "2 -> 1 could come before 1 -> 0";
  EXPECT_EQ(disjoint({5, 0}, {0, 1}), 1U);
  EXPECT_EQ(disjoint({5, 6}, {0, 0}), 1U);
  EXPECT_EQ(disjoint({5, 6, 7}, {0, 1, 2}, 2), 2U);
  EXPECT_EQ(disjoint({}, {}), 0U);
}

TEST(WordOf, IsTheLargestPowerOfTwoThatDivides) {
  using valet::kokkos::detail::word_of;
  EXPECT_EQ(word_of(0), 16U);
  EXPECT_EQ(word_of(64), 16U);
  EXPECT_EQ(word_of(24), 8U);
  EXPECT_EQ(word_of(12), 4U);
  EXPECT_EQ(word_of(6), 2U);
  EXPECT_EQ(word_of(7), 1U);
}

/// What kernels see of the last one of these fields.
valet::kokkos::detail::RowLayout layout_of_last(const std::vector<valet::Field>& fields) {
  struct Rows : valet::HostFields {
    using HostFields::HostFields, HostFields::rows;
  };
  const Rows fields_of_block{std::span<const valet::Field>(fields)};
  return valet::kokkos::detail::row_layout(fields_of_block.rows().back(),
                                           fields_of_block.block_bytes());
}

TEST(RowLayout, MergesContiguousInnerDimensions) {
  valet::Field field;
  alignas(16) double memory = 0;
  field.data = &memory;
  field.element_bytes = 8;
  field.slot_stride_bytes = 96;
  field.dimension_count = 3;
  field.dimensions[0] = {2, 48};
  field.dimensions[1] = {3, 16};
  field.dimensions[2] = {2, 8};
  const auto row = layout_of_last({field});
  EXPECT_EQ(row.dimension_count, 0U);
  EXPECT_EQ(row.element_bytes, 96U);
  EXPECT_EQ(row.row_bytes, 96U);
  EXPECT_EQ(row.word_bytes, 16U);
}

TEST(RowLayout, TakesSmallWordsWhereABlockIsMisaligned) {
  valet::Field field;
  double memory = 0;
  field.data = &memory;
  field.element_bytes = 8;
  field.slot_stride_bytes = 8;
  valet::Field before = field;
  before.element_bytes = 1;
  EXPECT_EQ(layout_of_last({before, field}).word_bytes, 1U);
  before.element_bytes = 4;
  EXPECT_EQ(layout_of_last({before, field}).word_bytes, 4U);
}

/// An execution space whose queued work has failed.
struct FailedSpace {
  void fence() const { throw std::runtime_error("illegal address"); }
  void fence(const std::string&) const { fence(); }
};

TEST(FenceDefect, IsWhatTheFenceThrows) {
  const auto diagnostic = valet::kokkos::detail::fence_diagnostic(FailedSpace());
  ASSERT_TRUE(diagnostic);
  EXPECT_EQ(diagnostic->code, valet::ErrorCode::callback_failed);
  EXPECT_EQ(diagnostic->text,
            "waiting for the kernels that may still touch the Views failed: illegal address; "
            "nothing has been written; fix what they do");
}

}  // namespace
