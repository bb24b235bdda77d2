// SPDX-License-Identifier: BSD-3-Clause

// Mistakes made on the last rank only: all ranks throw the same error, whose text says what to fix,
// and the data is as it was.

#include "partitions.hpp"
#include <valet/p4est/transfer.hpp>

namespace valet::test {
namespace {

constexpr std::int64_t quadrants = 60;

/// A good call, which a test spoils on the odd rank: what is in equal parts all comes to that rank.
struct Call {
  void run_fixed() {
    p4est::transfer_fixed(no_dest ? nullptr : dest.data(), src.data(), MPI_COMM_WORLD,
                          no_data ? nullptr : data.data(), capacity_bytes, bytes_each, options);
  }
  void run_custom() {
    p4est::transfer_custom(no_dest ? nullptr : dest.data(), src.data(), MPI_COMM_WORLD,
                           no_data ? nullptr : data.data(), capacity_bytes,
                           no_sizes ? nullptr : src_sizes.data(), dest_sizes.data(), options);
  }
  /// The sizes in items of 4 bytes.
  void run_items() {
    std::vector<int> src_counts = src_sizes, dest_counts = dest_sizes;
    for (auto* const counts : {&src_counts, &dest_counts})
      for (int& count : *counts) count = count > 0 ? count / 4 : count;
    p4est::transfer_items(no_dest ? nullptr : dest.data(), src.data(), MPI_COMM_WORLD,
                          no_data ? nullptr : data.data(), capacity_bytes,
                          no_sizes ? nullptr : src_counts.data(), dest_counts.data(), item_bytes,
                          options);
  }
  void run_in_parts() {
    p4est::transfer_fixed_begin(no_dest ? nullptr : dest.data(), src.data(), MPI_COMM_WORLD,
                                no_data ? nullptr : data.data(), capacity_bytes, bytes_each,
                                options)
        .wait();
  }

  static Offsets all_to_odd() {
    Offsets gfq(static_cast<std::size_t>(size()) + 1, 0);
    gfq.back() = quadrants;
    return gfq;
  }

  Offsets src = even_offsets(quadrants), dest = all_to_odd();
  std::vector<int> src_sizes = std::vector<int>(own_count(src.data()), 8);
  std::vector<int> dest_sizes = std::vector<int>(own_count(dest.data()), 8);
  Bytes data = Bytes(quadrants * 8, std::byte{42});
  std::size_t capacity_bytes = data.size();
  std::size_t bytes_each = 8, item_bytes = 4;
  AlltoallOptions options;
  bool no_dest = false, no_data = false, no_sizes = false;
};

template <class Run>
void expect_refused(Call& call, Run&& run, ErrorCode code, const std::vector<std::string>& words) {
  for_each_own(call.src.data(), [&](std::int64_t q) {
    const auto begin = static_cast<std::size_t>(q - call.src[static_cast<std::size_t>(rank())]) * 8;
    for (std::size_t b = begin; b < begin + 8 && b < call.data.size(); ++b)
      call.data[b] = static_cast<std::byte>(q);
  });
  const Bytes before = call.data;
  const Outcome outcome = outcome_of([&] { run(call); });
  expect_error(outcome, code, {});
  EXPECT_TRUE(all_ranks(call.data == before));
  expect_words(outcome.text, words);
  Call good;
  EXPECT_EQ(outcome_of([&] { run(good); }).code, ErrorCode::success) << "after the error";
}

void run_fixed(Call& call) { call.run_fixed(); }
void run_custom(Call& call) { call.run_custom(); }
void run_items(Call& call) { call.run_items(); }
void run_in_parts(Call& call) { call.run_in_parts(); }

/// The same for all transfers: `spoil` makes the mistake on the odd rank.
template <class Spoil>
void expect_all_refused(Spoil&& spoil, ErrorCode code, const std::vector<std::string>& words) {
  for (const auto run : {run_fixed, run_custom, run_items, run_in_parts}) {
    Call call;
    if (is_odd()) spoil(call);
    expect_refused(call, run, code, words);
  }
}

TEST(P4estErrors, OffsetsThatDoNotBeginWithZero) {
  expect_all_refused([](Call& call) { call.src[0] = 2; }, ErrorCode::invalid_argument,
                     {odd_name(), "src_gfq[0] is 2", "begin with 0", "global_first_quadrant"});
}

TEST(P4estErrors, OffsetsThatDescend) {
  const std::string last = std::to_string(size());
  expect_all_refused([](Call& call) { call.dest.back() = -1; }, ErrorCode::invalid_argument,
                     {odd_name(), "dest_gfq[" + last + "] is -1", "less than the 0"});
}

TEST(P4estErrors, ForestsOfDifferentSizes) {
  expect_all_refused([](Call& call) { call.dest.back() = 61; }, ErrorCode::invalid_argument,
                     {odd_name(), "dest_gfq has 61 quadrants, but src_gfq has 60", "refined"});
}

TEST(P4estErrors, NoOffsets) {
  expect_all_refused([](Call& call) { call.no_dest = true; }, ErrorCode::invalid_argument,
                     {odd_name(), "dest_gfq is a null pointer", "global_first_quadrant"});
}

TEST(P4estErrors, OffsetsThatDifferBetweenRanks) {
  if (size() == 1) return;
  Call call;
  // Good by themselves, and of one forest: all quadrants stay on the odd rank alone.
  if (is_odd()) call.dest = call.src;
  expect_refused(call, run_fixed, ErrorCode::invalid_argument,
                 {"dest_gfq or src_gfq differs: one on ", ", another on ", "the same on all"});
}

TEST(P4estErrors, CapacityTooSmallForWhatComes) {
  expect_all_refused(
      [](Call& call) { call.capacity_bytes = 479; }, ErrorCode::infeasible,
      {odd_name(), "60 quadrants", "take 480 bytes", "capacity_bytes is 479", "at least 480"});
}

TEST(P4estErrors, CapacityTooSmallForWhatIsThere) {
  const std::size_t before = own_count(even_offsets(quadrants).data()) * 8;
  for (const auto run : {run_fixed, run_custom, run_items, run_in_parts}) {
    Call call;
    // Nothing comes to rank 0, but on one rank, where what comes is what is there.
    if (rank() == 0) call.capacity_bytes = before - 1;
    expect_refused(call, run, ErrorCode::infeasible,
                   {"rank 0: the data of its", "quadrants before the partition", "give at least"});
  }
}

TEST(P4estErrors, NoData) {
  expect_all_refused([](Call& call) { call.no_data = true; }, ErrorCode::inaccessible_memory,
                     {odd_name(), "null pointer for 480 bytes"});
}

TEST(P4estErrors, BytesThatDiffer) {
  if (size() == 1) return;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    Call call;
    if (is_odd()) call.bytes_each = bytes;
    expect_refused(
        call, run_fixed, ErrorCode::block_size_mismatch,
        {"bytes_each differs: " + std::to_string(bytes) + " on rank " + std::to_string(size() - 1),
         ", 8 on "});
  }
  // Elements of one byte and of none move by the same machinery, but not together.
  Call call;
  call.bytes_each = is_odd() ? 0 : 1;
  expect_refused(call, run_fixed, ErrorCode::block_size_mismatch, {"bytes_each differs: 0 on "});
}

TEST(P4estErrors, BytesThatNoMemoryHolds) {
  for (const std::size_t bytes : {std::size_t{1} << 61, ~std::size_t{0}}) {
    Call call;
    call.bytes_each = bytes;
    expect_refused(call, run_fixed, ErrorCode::invalid_argument, {"rank 0: ", "2^60 bytes"});
  }
}

TEST(P4estErrors, AnyOrder) {
  expect_all_refused([](Call& call) { call.options.any_order = true; }, ErrorCode::invalid_argument,
                     {odd_name(), "any_order", "leave it off"});
}

TEST(P4estErrors, NegativeSizes) {
  Call call;
  if (is_odd()) call.src_sizes[0] = -4;
  expect_refused(call, run_custom, ErrorCode::invalid_argument,
                 {odd_name(), "src_sizes[0] is -4", "zero or more"});
  Call dest;
  if (is_odd()) dest.dest_sizes[59] = std::numeric_limits<int>::min();
  expect_refused(dest, run_custom, ErrorCode::invalid_argument,
                 {odd_name(), "dest_sizes[59] is -2147483648", "zero or more"});
}

TEST(P4estErrors, NoSizes) {
  Call call;
  if (is_odd()) call.no_sizes = true;
  expect_refused(call, run_custom, ErrorCode::inaccessible_memory,
                 {odd_name(), "src_sizes is a null pointer for its", "quadrants before"});
}

TEST(P4estErrors, SizesThatDoNotMatchThoseOfTheSource) {
  Call call;
  if (is_odd()) call.dest_sizes[1] = 5;
  const auto of_rank_0 = static_cast<std::int64_t>(quadrants / size());
  expect_refused(
      call, run_custom, ErrorCode::invalid_argument,
      {odd_name() + "rank 0 has " + std::to_string(8 * of_rank_0) + " bytes for it by src_sizes",
       "dest_sizes[0] to [" + std::to_string(of_rank_0 - 1) + "] add up to " +
           std::to_string(8 * of_rank_0 - 3),
       "transfer_fixed first"});
}

TEST(P4estErrors, SizesThatDoNotMatchInOffsetsThatDiffer) {
  if (size() == 1) return;
  Call call;
  if (is_odd()) {
    call.dest = call.src;
    call.dest_sizes = call.src_sizes;
  }
  expect_refused(call, run_custom, ErrorCode::invalid_argument,
                 {"which are none, add up to 0", "the same offsets on all ranks"});
}

TEST(P4estErrors, CountsOfItems) {
  Call negative;
  if (is_odd()) negative.src_sizes[0] = -4;
  expect_refused(negative, run_items, ErrorCode::invalid_argument,
                 {odd_name(), "src_counts[0] is -4", "counts are zero or more"});
  Call none;
  if (is_odd()) none.no_sizes = true;
  expect_refused(none, run_items, ErrorCode::inaccessible_memory,
                 {odd_name(), "src_counts is a null pointer for its", "quadrants before"});
  Call other;
  if (is_odd()) other.dest_sizes[59] = 4;
  expect_refused(other, run_items, ErrorCode::invalid_argument,
                 {odd_name(), "rank " + std::to_string(size() - 1) + " has ",
                  " items for it by src_counts, but dest_counts[", " add up to ",
                  "move the counts with transfer_fixed first"});
}

TEST(P4estErrors, ItemsThatDiffer) {
  if (size() == 1) return;
  Call call;
  if (is_odd()) call.item_bytes = 2;
  expect_refused(call, run_items, ErrorCode::block_size_mismatch,
                 {"item_bytes differs: 2 on rank ", ", 4 on "});
  Call none;
  if (is_odd()) none.item_bytes = 0;
  expect_refused(none, run_items, ErrorCode::invalid_argument,
                 {"counts", "give the same offsets and item_bytes on all ranks"});
}

TEST(P4estErrors, NullCommunicator) {
  Call call;
  const Outcome outcome = outcome_of([&] {
    p4est::transfer_fixed(call.dest.data(), call.src.data(), MPI_COMM_NULL, call.data.data(),
                          call.capacity_bytes, 8);
  });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_communicator) << outcome.text;
}

}  // namespace
}  // namespace valet::test
