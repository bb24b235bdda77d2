// SPDX-License-Identifier: BSD-3-Clause

// Bad input of both functions: all ranks throw the same error, whose text says what is wrong, where
// and how to fix it, and the data is as it was. What is local is made on the last rank only.

#include "moved_arrays.hpp"
#include "named_budget.hpp"

namespace valet::test {
namespace {

/// A good call, which a test spoils: a matrix of 12 x 10 doubles.
struct Call {
  Call() : source(from, 8, IndexOrder::column_major), target(to, 8, IndexOrder::column_major) {
    source.fill();
    memory = source.bytes();
    memory.resize(std::max(memory.size(), target.bytes().size()), untouched);
    from_array = source.source();
    to_array = target.target();
    array = {.data = memory.data(), .bytes = memory.size(), .order = IndexOrder::column_major};
  }
  void run() const {
    redistribute(MPI_COMM_WORLD, from, to, element_bytes, from_array, to_array, options);
  }
  void run_in_place() const {
    redistribute_in_place(MPI_COMM_WORLD, from, to, element_bytes, array, options);
  }

  GridLayout from{BlockCyclic({12, 10}, {2, 3}, {size(), 1})};
  GridLayout to{BlockCyclic({12, 10}, {5, 2}, {1, size()})};
  Part source, target;
  std::vector<std::byte> memory;
  SourceArray from_array;
  TargetArray to_array, array;
  std::size_t element_bytes = 8;
  LayoutOptions options;
};

template <class Run>
void expect_refused_by(const Call& call, Run&& run, ErrorCode code,
                       const std::vector<std::string>& words) {
  const std::vector<std::byte> before = call.memory;
  const Outcome outcome = outcome_of(run);
  expect_error(outcome, code, {});
  EXPECT_TRUE(all_ranks(call.memory == before));
  EXPECT_EQ(sum_over_ranks(call.source.wrong_bytes()), 0);
  expect_words(outcome.text, words);
}

void expect_refused(Call& call, ErrorCode code, const std::vector<std::string>& words) {
  expect_refused_by(
      call, [&] { call.run(); }, code, words);
  std::vector<std::byte>& target = call.target.bytes();
  EXPECT_TRUE(all_ranks(target == std::vector<std::byte>(target.size(), untouched)));
}

void expect_refused_in_place(Call& call, ErrorCode code, const std::vector<std::string>& words) {
  expect_refused_by(
      call, [&] { call.run_in_place(); }, code, words);
}

void expect_both_refused(Call& call, ErrorCode code, const std::vector<std::string>& words) {
  expect_refused(call, code, words);
  expect_refused_in_place(call, code, words);
}

TEST(RedistributeErrors, BlockSizesThatAreNotPositive) {
  for (const std::int64_t size_of_block : {std::int64_t{0}, std::int64_t{-4}}) {
    const Outcome outcome = outcome_of([&] {
      static_cast<void>(BlockCyclic({12, 10}, {2, size_of_block}, {1, 1}));
    });
    expect_error(
        outcome, ErrorCode::invalid_argument,
        {"block size " + std::to_string(size_of_block) + " in dimension 1 must be at least 1"});
  }
}

TEST(RedistributeErrors, GridLargerThanTheCommunicator) {
  Call call;
  call.to = {BlockCyclic({12, 10}, {5, 2}, {2, size()})};
  expect_both_refused(call, ErrorCode::invalid_argument,
                      {"the target grid has " + std::to_string(2 * size()) + " ranks",
                       "the communicator " + std::to_string(size()), "take a smaller grid"});
}

TEST(RedistributeErrors, LayoutsOfDifferentExtents) {
  Call call;
  call.to = {BlockCyclic({12, 11}, {5, 2}, {1, size()})};
  expect_both_refused(call, ErrorCode::invalid_argument,
                      {"array of 12 x 10 elements", "one of 12 x 11", "the same extents"});
  call.to = {BlockCyclic({12, 10, 1}, {5, 2, 1}, {1, size(), 1})};
  expect_both_refused(call, ErrorCode::invalid_argument, {"one of 12 x 10 x 1"});
}

TEST(RedistributeErrors, LayoutsThatDifferBetweenRanks) {
  if (size() == 1) return;
  Call call;
  if (is_odd()) call.to = {BlockCyclic({12, 10}, {4, 2}, {1, size()})};  // a part of equal size
  expect_both_refused(call, ErrorCode::invalid_argument,
                      {"the target layout or its grid differs: one on ", ", another on ",
                       "rank " + std::to_string(size() - 1), "give the same on all"});
}

TEST(RedistributeErrors, BadListsOfRanks) {
  Call call;
  call.from.ranks.assign(static_cast<std::size_t>(size()) + 1, 0);
  expect_both_refused(call, ErrorCode::invalid_argument,
                      {"the source grid has", "its list names " + std::to_string(size() + 1)});
  call.from.ranks.assign(static_cast<std::size_t>(size()), size());
  expect_both_refused(call, ErrorCode::rank_out_of_range,
                      {"names rank " + std::to_string(size()) + " as its number 0",
                       "ranks 0 to " + std::to_string(size() - 1)});
  if (size() == 1) return;
  call.from.ranks.assign(static_cast<std::size_t>(size()), 0);
  expect_both_refused(call, ErrorCode::invalid_argument,
                      {"names rank 0 as its number 1", "twice", "one place"});
}

TEST(RedistributeErrors, ArraysThatAreTooSmall) {
  Call call;
  const auto part = static_cast<std::size_t>(call.to.layout.local_elements(size() - 1)) * 8;
  if (part == 0) return;
  if (is_odd()) call.to_array.bytes = part - 1;
  expect_refused(call, ErrorCode::infeasible,
                 {odd_name(), "target array has " + std::to_string(part - 1) + " bytes",
                  "need " + std::to_string(part)});
  if (is_odd()) call.array.bytes = part - 1;
  expect_refused_in_place(call, ErrorCode::infeasible, {odd_name(), "array has", "need "});
}

TEST(RedistributeErrors, LeadingDimensionTooSmall) {
  Call call;
  call.to = {BlockCyclic({12, 10}, {12, 10}, {1, 1}), {size() - 1}};
  if (is_odd()) call.to_array.strides = {1, 11};
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), "has 11 elements from an index to the next in dimension 1",
                  "leading dimension of at least 12"});
  if (is_odd()) call.to_array.bytes = ~std::size_t{0};
  if (is_odd()) call.to_array.strides = {1, 12};
  expect_refused(call, ErrorCode::invalid_argument, {odd_name(), "more than 2^60 bytes"});
  if (is_odd()) call.to_array.strides = {1};
  expect_refused(call, ErrorCode::invalid_argument, {"has 1 strides for 2 dimensions"});
  if (is_odd()) call.to_array.strides = {1, std::numeric_limits<std::int64_t>::max() / 16};
  expect_refused(call, ErrorCode::invalid_argument, {"more than 2^60 bytes", "in dimension 1"});
}

TEST(RedistributeErrors, StridesInPlace) {
  Call call;
  if (is_odd()) call.array.strides = {1, 12};
  expect_refused_in_place(call, ErrorCode::invalid_argument, {odd_name(), "give none"});
}

TEST(RedistributeErrors, ElementSizes) {
  Call call;
  if (is_odd()) call.element_bytes = 0;
  expect_both_refused(call, ErrorCode::invalid_argument, {odd_name(), "zero bytes"});
  if (size() == 1) return;
  if (is_odd()) call.element_bytes = 4;
  expect_both_refused(
      call, ErrorCode::block_size_mismatch,
      {"element_bytes differs: 4 on rank " + std::to_string(size() - 1), ", 8 on ", "the same"});
}

TEST(RedistributeErrors, NoMemory) {
  Call call;
  if (call.from.layout.local_elements(size() - 1) == 0) return;
  if (is_odd()) call.from_array.data = nullptr, call.array.data = nullptr;
  expect_both_refused(call, ErrorCode::inaccessible_memory,
                      {odd_name(), "source array is a null pointer", "allocate it"});
}

TEST(RedistributeErrors, BudgetTooSmall) {
  Call call;
  if (is_odd()) call.options.budget_bytes = 17;
  expect_both_refused(call, ErrorCode::budget_too_small,
                      {odd_name(), "budget of 17 bytes", "set budget_bytes to at least"});
}

// What the text says is enough is enough on all ranks, whichever of them have less.
TEST(RedistributeErrors, NamesABudgetThatDoes) {
  for (const bool in_place : {false, true})
    for (const int poor : {-1, 0, size() - 1}) {  // -1: all
      Call call;
      const auto run = [&] { in_place ? call.run_in_place() : call.run(); };
      call.options.budget_bytes = poor == -1 || poor == rank() ? 1 : 4 << 20;
      const Outcome outcome = outcome_of(run);
      ASSERT_EQ(outcome.code, ErrorCode::budget_too_small) << outcome.text;
      call.options.budget_bytes = named_budget(outcome.text);
      EXPECT_EQ(outcome_of(run).text, "") << "after " << outcome.text;
      if (!in_place) {
        EXPECT_EQ(sum_over_ranks(call.target.wrong_bytes()), 0);
      }
      EXPECT_LT(call.options.budget_bytes, 20'000U);
    }
}

TEST(RedistributeErrors, ArraysThatOverlap) {
  Call call;
  if (call.from.layout.local_elements(size() - 1) == 0 ||
      call.to.layout.local_elements(size() - 1) == 0)
    return;
  if (is_odd()) {
    call.from_array = {
        .data = call.memory.data(), .bytes = call.memory.size(), .order = IndexOrder::column_major};
    call.to_array = call.array;
  }
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), "overlap", "redistribute in place"});
}

TEST(RedistributeErrors, OrdersThatDiffer) {
  if (size() > 1) {
    Call call;
    if (rank() == 0) call.from_array.order = IndexOrder::row_major, call.from_array.strides = {};
    expect_refused(call, ErrorCode::invalid_argument,
                   {"the order of the source array differs: ", "row-major on rank 0",
                    "column-major on ", "the same order"});
    if (rank() == 0) call.array.order = IndexOrder::row_major;
    expect_refused_in_place(call, ErrorCode::invalid_argument,
                            {"array differs: ", "row-major on rank 0", "column-major on "});
  }
  if (size() < 2) return;
  Call call;  // one rank hands to another, in another order
  call.from = {BlockCyclic({12, 10}, {12, 10}, {1, 1}), {0}};
  call.to = {BlockCyclic({12, 10}, {12, 10}, {1, 1}), {1}};
  std::vector<std::byte> part(960, untouched);
  call.array = {.data = part.data(),
                .bytes = part.size(),
                .order = rank() == 0 ? IndexOrder::row_major : IndexOrder::column_major};
  expect_refused_in_place(call, ErrorCode::invalid_argument, {"in place it keeps its order"});
}

TEST(RedistributeErrors, BadCommunicators) {
  const Call call;
  const Outcome outcome = outcome_of(
      [&] { redistribute(MPI_COMM_NULL, call.from, call.to, 8, call.from_array, call.to_array); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_communicator) << outcome.text;
}

TEST(RedistributeErrors, ValuesThatNoEnumerationHasAreRefused) {
  Call method;
  method.options.method = static_cast<Method>(77);
  expect_both_refused(method, ErrorCode::invalid_argument, {"rank 0: ", "option method is 77"});
  Call order;
  if (is_odd())
    order.from_array.order = order.to_array.order = order.array.order = static_cast<IndexOrder>(77);
  expect_both_refused(order, ErrorCode::invalid_argument, {odd_name(), "index order 77"});
}

TEST(RedistributeErrors, ElementsBeyondAnyMemoryAreRefused) {
  for (const std::size_t bytes : {~std::size_t{0}, (std::size_t{1} << 60) + 1}) {
    Call call;
    call.element_bytes = bytes;
    expect_refused(call, ErrorCode::invalid_argument,
                   {"rank 0: ", std::to_string(bytes), " bytes", "2^60 bytes"});
  }
}

}  // namespace
}  // namespace valet::test
