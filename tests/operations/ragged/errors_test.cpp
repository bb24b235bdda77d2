// SPDX-License-Identifier: BSD-3-Clause

// What is wrong is found before anything moves, and said alike on all ranks.

#include "outcome.hpp"
#include "ragged_case.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace valet::test {
namespace {

/// Ten blocks a rank, each rank sends them to the next one; the last rank may spoil its call.
struct Spoilt {
  std::vector<std::byte> memory = std::vector<std::byte>(4096 + 64);
  std::vector<std::uint64_t> lengths = std::vector<std::uint64_t>(20, 50);
  std::vector<double> column = std::vector<double>(20);
  std::vector<int> ranks = std::vector<int>(10, (rank() + 1) % size());
  std::uint64_t count = 10;
  Options options;
  RaggedField ragged;
  Field side;
  bool no_fields = false;

  Spoilt() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    ragged.data = memory.data() + (64 - address % 64) % 64;
    ragged.capacity_bytes = 4096;
    ragged.lengths = lengths.data();
    ragged.block_capacity = lengths.size();
    ragged.alignment_bytes = 8;
    side = field(column);
  }
  void call() {
    const std::vector<RaggedField> fields(no_fields ? 0 : 1, ragged);
    const std::vector<Field> columns{side};
    static_cast<void>(migrate(MPI_COMM_WORLD, RaggedStorage(fields, columns), count,
                              std::span<const int>(ranks), options));
  }
};

void expect_error(ErrorCode code, const std::string& words,
                  const std::function<void(Spoilt&)>& spoil, bool everywhere = false) {
  Spoilt call;
  for (std::size_t b = 0; b < call.memory.size(); ++b)
    call.memory[b] = static_cast<std::byte>(b * 31);
  const std::vector<std::byte> memory = call.memory;
  if (everywhere || rank() == size() - 1) spoil(call);
  const std::vector<std::uint64_t> lengths = call.lengths;
  const Outcome outcome = outcome_of([&] { call.call(); });
  EXPECT_TRUE(all_ranks(outcome.code == code)) << words << ": " << outcome.text;
  EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
  EXPECT_NE(outcome.text.find(words), std::string::npos) << outcome.text;
  EXPECT_TRUE(all_ranks(call.memory == memory && call.lengths == lengths)) << words;
}

TEST(RaggedErrors, NameFieldsThatCannotBeUsed) {
  using enum ErrorCode;
  expect_error(invalid_argument, "alignment of 3 bytes",
               [](Spoilt& s) { s.ragged.alignment_bytes = 3; });
  expect_error(invalid_argument, "alignment of 0 bytes",
               [](Spoilt& s) { s.ragged.alignment_bytes = 0; });
  expect_error(invalid_argument, "64 at most", [](Spoilt& s) { s.ragged.alignment_bytes = 128; });
  expect_error(inaccessible_memory, "no memory for its bytes",
               [](Spoilt& s) { s.ragged.data = nullptr; });
  expect_error(inaccessible_memory, "no memory for its lengths",
               [](Spoilt& s) { s.ragged.lengths = nullptr; });
  expect_error(invalid_argument, "more than 2^60", [](Spoilt& s) {
    s.ragged.capacity_bytes = std::numeric_limits<std::uint64_t>::max();
  });
  expect_error(invalid_argument, "more than 2^60",
               [](Spoilt& s) { s.ragged.block_capacity = std::uint64_t{1} << 63; });
  expect_error(invalid_argument, "not a multiple of its alignment", [](Spoilt& s) {
    s.ragged.data = static_cast<std::byte*>(s.ragged.data) + 1;
    s.ragged.capacity_bytes -= 8;
  });
  expect_error(
      invalid_argument, "share memory", [](Spoilt& s) { s.side = field(s.lengths); }, true);
  expect_error(field_mismatch, "has 5 rows for 10 blocks", [](Spoilt& s) { s.side.slots = 5; });
  expect_error(invalid_argument, "one after the other",
               [](Spoilt& s) { s.side.slot_stride_bytes = 16; });
  expect_error(
      invalid_argument, "no ragged field", [](Spoilt& s) { s.no_fields = true; }, true);
}

TEST(RaggedErrors, NameFieldsThatDifferBetweenRanks) {
  if (size() == 1) return;
  expect_error(ErrorCode::block_size_mismatch, "alignments of ragged fields",
               [](Spoilt& s) { s.ragged.alignment_bytes = 16; });
}

TEST(RaggedErrors, NameLengthsThatDoNotFit) {
  using enum ErrorCode;
  expect_error(invalid_argument, "block 9 of 4000 bytes would start at byte 504",
               [](Spoilt& s) { s.lengths[9] = 4000; });
  expect_error(invalid_argument, "block 1 of 9223372036854775808 bytes",
               [](Spoilt& s) { s.lengths[1] = std::uint64_t{1} << 63; });
  expect_error(invalid_argument, "block 0 of 18446744073709551615 bytes",
               [](Spoilt& s) { s.lengths[0] = std::numeric_limits<std::uint64_t>::max(); });
  expect_error(invalid_argument, "block 9 of 50 bytes",  // but not with what aligns the next
               [](Spoilt& s) { s.ragged.capacity_bytes = 9 * 56 + 50; });
  expect_error(invalid_argument, "lengths for 9 blocks",
               [](Spoilt& s) { s.ragged.block_capacity = 9; });
}

TEST(RaggedErrors, NameOffsetsThatAreNotInOrder) {
  using enum ErrorCode;
  const auto expect_bad = [](const std::string& words, std::size_t k, std::uint64_t offset) {
    expect_error(invalid_argument, words, [&](Spoilt& s) {
      for (std::size_t b = 0; b < s.lengths.size(); ++b) s.lengths[b] = 56 * b;
      s.ragged.are_offsets = true;
      --s.ragged.block_capacity;
      s.lengths[k] = offset;
    });
  };
  expect_bad("has 8 as its offset 0, but blocks start at byte 0", 0, 8);
  expect_bad("has 168 as its offset 3, below the 224 before it", 2, 224);
  expect_bad("offset 10, behind its 4096 bytes", 10, 4104);
  expect_bad("offset 4, no multiple of its alignment of 8", 4, 225);
  expect_bad("has 9223372036854775808 as its offset 10, behind", 10, std::uint64_t{1} << 63);
}

TEST(RaggedErrors, NameMapsAndChoicesThatAreWrong) {
  using enum ErrorCode;
  expect_error(rank_out_of_range, "is sent to rank 99", [](Spoilt& s) { s.ranks[3] = 99; });
  expect_error(rank_out_of_range, "is sent to rank -1", [](Spoilt& s) { s.ranks[3] = -1; });
  expect_error(invalid_argument, "the map has 9 entries", [](Spoilt& s) { s.ranks.pop_back(); });
  expect_error(
      invalid_argument, "order fill", [](Spoilt& s) { s.options.order = Order::fill; }, true);
}

TEST(RaggedErrors, SayWhatBudgetIsNeeded) {
  expect_error(ErrorCode::budget_too_small, "set budget_bytes to at least 2048",
               [](Spoilt& s) { s.options.budget_bytes = 2047; });
  Spoilt call;
  call.options.budget_bytes = 2048;
  EXPECT_EQ(outcome_of([&] { call.call(); }).text, "");
}

TEST(RaggedErrors, SayWhatARankWouldHaveToHold) {
  const std::string blocks = std::to_string(10 * size()), bytes = std::to_string(560 * size());
  // All go to rank 0.
  const auto to_first = [](Spoilt& s) { s.ranks.assign(10, 0); };
  if (size() > 2) {
    expect_error(ErrorCode::infeasible, "required blocks = " + blocks, to_first, true);
    expect_error(
        ErrorCode::infeasible, "(required_bytes = " + bytes + ", required blocks = " + blocks,
        [&](Spoilt& s) {
          to_first(s);
          s.ragged.capacity_bytes = 1000;
        },
        true);
  }
}

TEST(RaggedErrors, RefuseAMapThatIsNotTheOneThatWasPlanned) {
  Spoilt call;
  const RaggedStorage storage({call.ragged});
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, storage, call.count, call.ranks);
  const auto expect_changed = [&] {
    const std::vector<std::byte> memory = call.memory;
    const Outcome outcome = outcome_of([&] { execute(plan, storage, call.ranks); });
    EXPECT_TRUE(same_on_all_ranks(outcome));
    EXPECT_TRUE(size() == 1 || outcome.text.find("plan again") != std::string::npos)
        << outcome.text;
    EXPECT_TRUE(call.memory == memory || size() == 1);
  };
  call.lengths[4] += 8;
  expect_changed();
  call.lengths[4] -= 8;
  if (size() > 1) {
    call.ranks[2] = rank();
    expect_changed();
    call.ranks[2] = (rank() + 1) % size();
  }
  EXPECT_EQ(outcome_of([&] { execute(plan, storage, call.ranks); }).text, "");
}

}  // namespace
}  // namespace valet::test
