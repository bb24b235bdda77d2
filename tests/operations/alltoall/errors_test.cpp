// SPDX-License-Identifier: BSD-3-Clause

// Mistakes in the counts, made on the last rank only, for each method: all ranks throw the same
// error, whose text says what to fix, and the data is as it was.

#include "named_budget.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::array known_methods{AlltoallMethod::automatic, AlltoallMethod::stream,
                                   AlltoallMethod::swaps,     AlltoallMethod::bitonic,
                                   AlltoallMethod::pairwise,  AlltoallMethod::direct};

/// A good call, which a test spoils on the odd rank: ten elements to each rank.
struct Call {
  explicit Call(AlltoallMethod method) {
    options.method = method;
    good_method = method;
  }
  void run() {
    alltoallv_in_place(MPI_COMM_WORLD,
                       {memory.data(), buffer_bytes.value_or(memory.size() * sizeof(std::uint64_t)),
                        element_bytes},
                       send, recv, options);
  }

  std::vector<std::int64_t> send = std::vector<std::int64_t>(static_cast<std::size_t>(size()), 10);
  std::vector<std::int64_t> recv = send;
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(10 * send.size(), 42);
  std::optional<std::size_t> buffer_bytes;  ///< if not those of `memory`
  std::size_t element_bytes = sizeof(std::uint64_t);
  AlltoallOptions options;
  AlltoallMethod good_method = AlltoallMethod::automatic;
};

class AlltoallErrors : public ::testing::TestWithParam<AlltoallMethod> {};

void expect_refused(Call& call, ErrorCode code, const std::vector<std::string>& words) {
  const std::vector<std::uint64_t> before = call.memory;
  const Outcome outcome = outcome_of([&] { call.run(); });
  expect_error(outcome, code, {});
  EXPECT_TRUE(all_ranks(call.memory == before));
  expect_words(outcome.text, words);
  Call good(call.good_method);
  EXPECT_EQ(outcome_of([&] { good.run(); }).code, ErrorCode::success) << "after the error";
}

TEST_P(AlltoallErrors, NegativeCount) {
  Call call(GetParam());
  if (is_odd()) call.send[0] = -3;
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), "send_counts[0] is -3", "zero or"});
}

TEST_P(AlltoallErrors, WrongNumberOfCounts) {
  Call call(GetParam());
  if (is_odd()) call.send.push_back(0);
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), std::to_string(size() + 1) + " entries", "one for each"});
}

TEST_P(AlltoallErrors, CountsThatDoNotMatch) {
  Call call(GetParam());
  if (is_odd()) call.recv[0] = 9;
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), "recv_counts[0] is 9", "rank 0 has send_counts[", "] = 10"});
}

TEST_P(AlltoallErrors, NegativeReceiveCount) {
  Call call(GetParam());
  if (is_odd()) call.recv[0] = -1;
  expect_refused(call, ErrorCode::invalid_argument, {odd_name(), "recv_counts[0] is -1"});
}

TEST_P(AlltoallErrors, MoreSentThanTheBufferHolds) {
  Call call(GetParam());
  if (is_odd()) call.send[0] = 1'000;
  const auto bytes = 8 * (1'000 + 10 * (size() - 1));
  expect_refused(call, ErrorCode::infeasible,
                 {odd_name(), "send_counts adds up", "it needs " + std::to_string(bytes)});
}

TEST_P(AlltoallErrors, MoreReceivedThanTheBufferHolds) {
  Call call(GetParam());
  call.recv.clear();
  call.memory.resize(call.memory.size() + 100, 42);
  // Everybody sends the odd rank more, which has no room for it.
  call.send.back() = 90;
  if (is_odd()) {
    call.send.back() = 10;
    call.memory.resize(10 * call.send.size());
  }
  const int received = 90 * (size() - 1) + 10;
  if (size() == 1) return;
  expect_refused(call, ErrorCode::infeasible,
                 {odd_name(), "it gets " + std::to_string(received), "room for"});
}

TEST_P(AlltoallErrors, CountsThatOverflow) {
  Call call(GetParam());
  if (is_odd()) call.send[0] = std::numeric_limits<std::int64_t>::max() / 2;
  expect_refused(call, ErrorCode::invalid_argument, {odd_name(), "more than 2^60 bytes"});
}

/// Nothing is to be moved, but nothing overflows either.
TEST_P(AlltoallErrors, ElementsThatNoMemoryHolds) {
  for (const std::size_t bytes : {std::size_t{1} << 61, std::size_t{1} << 63, ~std::size_t{0}}) {
    Call call(GetParam());
    std::ranges::fill(call.send, 0);
    call.element_bytes = bytes;
    expect_refused(call, ErrorCode::invalid_argument,
                   {"rank 0: elements of " + std::to_string(bytes), "more than 2^60 bytes"});
  }
}

TEST_P(AlltoallErrors, ABufferThatNoMemoryHolds) {
  Call call(GetParam());
  if (is_odd()) call.buffer_bytes = ~std::size_t{0};
  expect_refused(call, ErrorCode::invalid_argument, {odd_name(), "more than 2^60 bytes"});
}

TEST_P(AlltoallErrors, ElementsOfDifferentSizes) {
  if (size() == 1) return;
  Call call(GetParam());
  if (is_odd()) call.element_bytes = 4;
  expect_refused(
      call, ErrorCode::block_size_mismatch,
      {"element_bytes differs: 4 on rank " + std::to_string(size() - 1), ", 8 on ", "the same"});
}

TEST_P(AlltoallErrors, ElementsOfNoSize) {
  Call call(GetParam());
  if (is_odd()) call.element_bytes = 0;
  expect_refused(call, ErrorCode::invalid_argument, {odd_name(), "zero bytes"});
}

TEST_P(AlltoallErrors, OrderThatDiffers) {
  if (size() == 1) return;
  Call call(GetParam());
  if (is_odd()) call.options.any_order = true;
  expect_refused(call, ErrorCode::invalid_argument,
                 {"option any_order differs: no on ", ", yes on rank " + std::to_string(size() - 1),
                  "the same"});
}

TEST_P(AlltoallErrors, BudgetTooSmall) {
  const bool is_direct =
      GetParam() == AlltoallMethod::direct || GetParam() == AlltoallMethod::automatic;
  if (size() == 1 && is_direct) return;  // nothing leaves, and nothing else takes scratch
  Call call(GetParam());
  if (is_odd()) call.options.budget_bytes = 16;
  expect_refused(call, ErrorCode::budget_too_small, {odd_name(), "budget of 16 bytes", "at least"});
}

TEST_P(AlltoallErrors, MethodThatDiffers) {
  if (size() == 1) return;
  Call call(GetParam());
  if (is_odd())
    call.options.method =
        GetParam() == AlltoallMethod::stream ? AlltoallMethod::bitonic : AlltoallMethod::stream;
  expect_refused(call, ErrorCode::invalid_argument,
                 {"option method differs: ", std::string(to_string(GetParam())) + " on ",
                  to_string(call.options.method), " on rank " + std::to_string(size() - 1)});
}

TEST_P(AlltoallErrors, UnknownMethod) {
  Call call(GetParam());
  if (is_odd()) call.options.method = static_cast<AlltoallMethod>(17);
  expect_refused(call, ErrorCode::invalid_argument,
                 {odd_name(), "unknown all-to-all method 17", "default options"});
}

TEST_P(AlltoallErrors, NoBuffer) {
  Call call(GetParam());
  if (is_odd()) {
    const Outcome outcome = outcome_of([&] {
      alltoallv_in_place(MPI_COMM_WORLD, {nullptr, 800, 8}, call.send, {}, call.options);
    });
    EXPECT_EQ(outcome.code, ErrorCode::inaccessible_memory) << outcome.text;
  } else {
    call.recv.clear();
    const Outcome outcome = outcome_of([&] { call.run(); });
    EXPECT_EQ(outcome.code, ErrorCode::inaccessible_memory) << outcome.text;
    expect_words(outcome.text, {"null pointer"});
  }
}

// The last rank keeps all of its elements but one, and no other rank has room for more than that.
// The sort brings them to other ranks for a time; with two ranks it is done before.
TEST(AlltoallBitonicErrors, NoRoomForATime) {
  if (size() < 3) return;
  Call call(AlltoallMethod::bitonic);
  call.recv.clear();
  call.send.assign(call.send.size(), 0);
  call.memory.assign(is_odd() ? 1000 : rank() == 0 ? 1 : 0, 42);
  if (is_odd()) {
    call.send[0] = 1;
    call.send.back() = 999;
  }
  const std::vector<std::uint64_t> before = call.memory;
  const Outcome outcome = outcome_of([&] { call.run(); });
  expect_error(outcome, ErrorCode::infeasible, {});
  EXPECT_TRUE(all_ranks(call.memory == before));
  expect_words(outcome.text, {"for a time", "enlarge it", "take stream or pairwise"});
  call.options.method = AlltoallMethod::swaps;  // finds out that pairwise can
  EXPECT_EQ(outcome_of([&] { call.run(); }).code, ErrorCode::success);
}

/// Counts of every kind, budgets that are too small and differ: the number in the error is enough,
/// set on all ranks, or there is no number because none would do.
TEST(AlltoallBudgets, TheOneThatIsNamedSuffices) {
  SCOPED_TRACE("seed " + std::to_string(seed()));
  for (unsigned k = 0; k < 12; ++k) {
    std::mt19937_64 random(seed() + k);  // the same on all ranks
    std::vector<std::vector<std::int64_t>> sent(static_cast<std::size_t>(size()));
    for (auto& counts : sent)
      for (int j = 0; j < size(); ++j)
        counts.push_back(static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 9000 : 500)));
    if (k % 3 == 1)
      for (auto& counts : sent) counts[0] *= 8;
    if (k % 3 == 2) sent[random() % sent.size()].back() *= 20;
    for (const AlltoallMethod method : known_methods) {
      Call call(method);
      call.recv.clear();
      call.send = sent[static_cast<std::size_t>(rank())];
      std::int64_t before = 0, after = 0;
      for (std::size_t j = 0; j < sent.size(); ++j) {
        before += call.send[j];
        after += sent[j][static_cast<std::size_t>(rank())];
      }
      call.memory.assign(static_cast<std::size_t>(std::max(before, after)), 42);
      call.options.budget_bytes =
          64 + static_cast<std::size_t>(random() % 300) + (rank() % 2 == 0 ? random() % 2000 : 0);
      const Outcome refused = outcome_of([&] { call.run(); });
      EXPECT_TRUE(same_on_all_ranks(refused)) << refused.text;
      if (refused.code != ErrorCode::budget_too_small) continue;
      call.options.budget_bytes = named_budget(refused.text);
      if (call.options.budget_bytes == 0) {
        const std::string of_stream = "take stream, for which a budget of ";
        const std::size_t found = refused.text.find(of_stream);
        ASSERT_NE(found, std::string::npos) << refused.text;
        call.options.budget_bytes =
            std::strtoull(refused.text.c_str() + found + of_stream.size(), nullptr, 10);
        call.options.method = AlltoallMethod::stream;
      }
      EXPECT_EQ(outcome_of([&] { call.run(); }).text, "")
          << to_string(method) << ", " << k << ": " << refused.text;
    }
  }
}

TEST(AlltoallMethodNames, AreParsedInAnyCaseAndOthersRefused) {
  for (const AlltoallMethod method : known_methods)
    EXPECT_EQ(parse_alltoall_method(to_string(method)), method);
  EXPECT_EQ(parse_alltoall_method("BITONIC"), AlltoallMethod::bitonic);
  for (const char* name : {"", "bitoni", "bitonics", "phased"}) {
    const Outcome outcome = outcome_of([&] { static_cast<void>(parse_alltoall_method(name)); });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
    expect_words(outcome.text, {"automatic, stream, swaps, bitonic, pairwise, direct"});
  }
}

INSTANTIATE_TEST_SUITE_P(EachMethod, AlltoallErrors, ::testing::ValuesIn(known_methods),
                         ParameterName());

}  // namespace
}  // namespace valet::test
